/* SPDX-License-Identifier: MIT */
#include "ingest/event_fields.h"

struct name {
    const char *bytes;
    int value;
};

static int find(const struct name *names, size_t count, struct lbr_text text,
                int otherwise)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (memcmp(names[i].bytes, text.bytes, text.length) == 0)
            return names[i].value;
    return otherwise;
}

/* Keys by their length, since most maps hold most of them. */
#define FIND(names) find(names, sizeof(names) / sizeof *(names), key, -1)

static int find_key(struct lbr_text key)
{
    static const struct name of_4[] = {{"type", LBR_EVENT_TYPE}};
    static const struct name of_6[] = {{"medium", LBR_EVENT_MEDIUM}};
    static const struct name of_7[] = {{"lora_id", LBR_EVENT_LORA_ID}};
    static const struct name of_8[] = {{"locality", LBR_EVENT_LOCALITY},
                                       {"metadata", LBR_EVENT_METADATA}};
    static const struct name of_9[] = {{"token_ids", LBR_EVENT_TOKEN_IDS},
                                       {"lora_name", LBR_EVENT_LORA_NAME},
                                       {"group_idx", LBR_EVENT_GROUP}};
    static const struct name of_10[] = {{"block_size", LBR_EVENT_BLOCK_SIZE},
                                        {"extra_keys", LBR_EVENT_EXTRA_KEYS},
                                        {"cache_salt", LBR_EVENT_SALT}};
    static const struct name of_12[] = {{"block_hashes", LBR_EVENT_HASHES}};
    static const struct name of_17[] = {
        {"parent_block_hash", LBR_EVENT_PARENT}};
    static const struct name of_18[] = {{"kv_cache_spec_kind", LBR_EVENT_SPEC}};

    switch (key.length) {
    case 4:
        return FIND(of_4);
    case 6:
        return FIND(of_6);
    case 7:
        return FIND(of_7);
    case 8:
        return FIND(of_8);
    case 9:
        return FIND(of_9);
    case 10:
        return FIND(of_10);
    case 12:
        return FIND(of_12);
    case 17:
        return FIND(of_17);
    case 18:
        return FIND(of_18);
    default:
        return -1;
    }
}

/* The kind that a type names; 0: none. */
static int find_kind(struct lbr_text type)
{
    static const struct name of_11[] = {{"BlockStored", LBROUTE_KV_STORED}};
    static const struct name of_12[] = {{"BlockRemoved", LBROUTE_KV_REMOVED}};
    static const struct name of_16[] = {
        {"AllBlocksCleared", LBROUTE_KV_CLEARED}};

    if (type.length == 11)
        return find(of_11, 1, type, 0);
    if (type.length == 12)
        return find(of_12, 1, type, 0);
    return type.length == 16 ? find(of_16, 1, type, 0) : 0;
}

/* Notes a field and passes over it. */
static int note(struct lbr_event_fields *fields,
                struct lbr_event_tokens *tokens, enum lbr_event_field field,
                struct lbr_msgpack *in)
{
    fields->named |= UINT32_C(1) << field;
    if (field == LBR_EVENT_TOKEN_IDS) {
        fields->tokens_fit = lbr_event_tokens_take(tokens, in);
        return fields->tokens_fit || lbr_msgpack_skip(in, LBR_EVENT_DEPTH);
    }
    if (lbr_msgpack_nil(in))
        return 1;
    fields->given |= UINT32_C(1) << field;
    fields->at[field] = *in;
    return lbr_msgpack_skip(in, LBR_EVENT_DEPTH);
}

/* Looks at the type, and passes over it. */
static int note_type(struct lbr_event_fields *fields, struct lbr_msgpack *in)
{
    struct lbr_text type;

    if (!lbr_msgpack_bytes(in, &type))
        return lbr_msgpack_skip(in, LBR_EVENT_DEPTH);
    fields->is_event = 1;
    fields->kind = find_kind(type);
    return 1;
}

/* What stands in a place of an array; -1: nothing that is known. The place of
 * the adapter's name, and the next one, are shared by several fields, which
 * their types tell apart. */
static int find_place(int kind, size_t place, const struct lbr_msgpack *in)
{
    static const int removed[] = {LBR_EVENT_HASHES, LBR_EVENT_MEDIUM,
                                  LBR_EVENT_GROUP};
    enum lbr_msgpack_kind type;

    if (kind == LBROUTE_KV_REMOVED)
        return place <= 3 ? removed[place - 1] : -1;
    if (kind != LBROUTE_KV_STORED || place > LBR_EVENT_SPEC)
        return -1;
    if (place != LBR_EVENT_LORA_NAME && place != LBR_EVENT_EXTRA_KEYS)
        return (int)place;
    type = lbr_msgpack_peek(in);
    if (type == LBR_MSGPACK_MAP)
        return LBR_EVENT_METADATA;
    return type == LBR_MSGPACK_ARRAY ? LBR_EVENT_EXTRA_KEYS : (int)place;
}

static int read_array(struct lbr_event_fields *fields,
                      struct lbr_event_tokens *tokens, struct lbr_msgpack *in,
                      size_t count)
{
    size_t place;
    int field;

    if (count && !note_type(fields, in))
        return 0;
    for (place = 1; place < count; place++) {
        field = find_place(fields->kind, place, in);
        if (field < 0 ? !lbr_msgpack_skip(in, LBR_EVENT_DEPTH)
                      : !note(fields, tokens, (enum lbr_event_field)field, in))
            return 0;
    }
    return 1;
}

static int read_map(struct lbr_event_fields *fields,
                    struct lbr_event_tokens *tokens, struct lbr_msgpack *in,
                    size_t count)
{
    struct lbr_text key;
    int field, fits;

    for (; count; count--) {
        field = -1;
        if (lbr_msgpack_bytes(in, &key))
            field = find_key(key);
        else if (!lbr_msgpack_skip(in, LBR_EVENT_DEPTH))
            return 0;
        if (field < 0)
            fits = lbr_msgpack_skip(in, LBR_EVENT_DEPTH);
        else if (field == LBR_EVENT_TYPE)
            fits = note_type(fields, in);
        else
            fits = note(fields, tokens, (enum lbr_event_field)field, in);
        if (!fits)
            return 0;
    }
    return 1;
}

int lbr_event_fields_read(struct lbr_event_fields *fields,
                          struct lbr_event_tokens *tokens,
                          struct lbr_msgpack *in)
{
    size_t count;

    fields->kind = fields->is_event = fields->tokens_fit = 0;
    fields->given = fields->named = 0;
    if (lbr_msgpack_array(in, &count))
        return read_array(fields, tokens, in, count);
    if (lbr_msgpack_map(in, &count))
        return read_map(fields, tokens, in, count);
    return lbr_msgpack_skip(in, LBR_EVENT_DEPTH - 1);
}
