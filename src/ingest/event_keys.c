/* SPDX-License-Identifier: MIT */
#include "ingest/event_keys.h"

#include "ingest/event_values.h"

static uint64_t fold(uint64_t key, struct lbr_text text)
{
    return lbroute_kv_fold_key(key, text.bytes, text.length);
}

/* The first of the elements of a tuple, which are all passed over. */
static int fold_tuple(struct lbr_msgpack *in, size_t count, uint64_t *key)
{
    struct lbr_msgpack first = *in;
    char digits[LBR_EVENT_DIGITS];
    struct lbr_text text;
    uint64_t bits;
    int negative;

    if (count && lbr_msgpack_bytes(&first, &text))
        *key = fold(*key, text);
    else if (count && lbr_msgpack_int(&first, &bits, &negative))
        *key = lbroute_kv_fold_key(*key, digits,
                                   lbr_event_decimal(bits, negative, digits));
    for (; count; count--)
        if (!lbr_msgpack_skip(in, LBR_EVENT_DEPTH))
            return 0;
    return 1;
}

/* One of the keys of a block. The adapter's name is passed over once. */
static int fold_one(struct lbr_msgpack *in, struct lbr_text *adapter,
                    uint64_t *key)
{
    struct lbr_text text;
    size_t count;

    if (lbr_msgpack_array(in, &count))
        return fold_tuple(in, count, key);
    if (!lbr_msgpack_bytes(in, &text))
        return lbr_msgpack_skip(in, LBR_EVENT_DEPTH);
    if (adapter->length && lbr_text_equal(text, *adapter))
        *adapter = lbr_text(NULL, 0);
    else
        *key = fold(*key, text);
    return 1;
}

/* The keys of a block. Returns 0 if they are no keys. */
static int fold_block(struct lbr_msgpack *in, struct lbr_text adapter,
                      uint64_t *key)
{
    size_t count;

    *key = 0;
    if (lbr_msgpack_nil(in))
        return 1;
    if (lbr_msgpack_peek(in) == LBR_MSGPACK_BYTES)
        return fold_one(in, &adapter, key);
    if (!lbr_msgpack_array(in, &count))
        return 0;
    for (; count; count--)
        if (!fold_one(in, &adapter, key))
            return 0;
    return 1;
}

int lbr_event_keys_begin(struct lbr_event_keys *keys, struct lbr_msgpack in,
                         struct lbr_text adapter)
{
    uint64_t key;
    size_t i;

    if (!lbr_msgpack_array(&in, &keys->left))
        return 0;
    keys->in = in;
    keys->adapter = adapter;
    for (i = 0; i < keys->left; i++)
        if (!fold_block(&in, adapter, &key))
            return 0;
    return 1;
}

uint64_t lbr_event_keys_next(struct lbr_event_keys *keys)
{
    uint64_t key = 0;

    if (keys->left) {
        keys->left--;
        (void)fold_block(&keys->in, keys->adapter, &key);
    }
    return key;
}
