/* SPDX-License-Identifier: MIT */
#include "ingest/event_tokens.h"

#include "base/blocks.h"
#include "base/hash.h"

/* A token that is an array: its first element. */
static int take_first(struct lbr_msgpack *in, uint32_t *id)
{
    struct lbr_msgpack rest = *in;
    size_t left;

    if (!lbr_msgpack_array(&rest, &left) || !left ||
        !lbr_msgpack_u32(&rest, id))
        return 0;
    while (--left)
        if (!lbr_msgpack_skip(&rest, LBR_EVENT_DEPTH + 2))
            return 0;
    *in = rest;
    return 1;
}

/* Takes up to |count| token ids, until something else stands there. */
static size_t take_ids(struct lbr_msgpack *in, uint32_t *ids, size_t count)
{
    size_t taken = 0;

    do {
        taken += lbr_msgpack_u32s(in, ids + taken, count - taken);
    } while (taken < count && take_first(in, &ids[taken]) && ++taken);
    return taken;
}

/* Takes |count| ids; the last ones stay in |ids|. */
static int check_ids(struct lbr_event_tokens *tokens, struct lbr_msgpack *in,
                     size_t count)
{
    size_t part;

    for (; count; count -= part) {
        part = count < LBR_EVENT_TOKENS ? count : LBR_EVENT_TOKENS;
        if (take_ids(in, tokens->ids, part) < part)
            return 0;
    }
    return 1;
}

int lbr_event_tokens_take(struct lbr_event_tokens *tokens,
                          struct lbr_msgpack *in)
{
    struct lbr_msgpack after = *in;

    tokens->total = tokens->used = tokens->ready = tokens->unread = 0;
    if (lbr_msgpack_nil(in))
        return 1;
    if (!lbr_msgpack_array(&after, &tokens->total))
        return 0;
    tokens->rest = after;
    if (!check_ids(tokens, &after, tokens->total))
        return 0;
    if (tokens->total <= LBR_EVENT_TOKENS)
        tokens->ready = tokens->total;
    else
        tokens->unread = tokens->total;
    *in = after;
    return 1;
}

/* Fills |ids| up. They were checked before. */
static void read_on(struct lbr_event_tokens *tokens)
{
    size_t kept = tokens->ready - tokens->used;
    size_t part = LBR_EVENT_TOKENS - kept;

    if (part > tokens->unread)
        part = tokens->unread;
    memmove(tokens->ids, tokens->ids + tokens->used,
            kept * sizeof *tokens->ids);
    part = take_ids(&tokens->rest, tokens->ids + kept, part);
    tokens->used = 0;
    tokens->ready = kept + part;
    tokens->unread -= part;
}

/* Hashes a block that does not fit in |ids|, piece by piece. */
static uint64_t hash_long(struct lbr_event_tokens *tokens, size_t block_size)
{
    struct lbr_hash_stream stream;
    size_t part;

    lbr_hash_begin(&stream);
    for (; block_size; block_size -= part) {
        if (tokens->used == tokens->ready)
            read_on(tokens);
        part = tokens->ready - tokens->used;
        if (part > block_size)
            part = block_size;
        lbr_hash_add(&stream, tokens->ids + tokens->used,
                     part * sizeof *tokens->ids);
        tokens->used += part;
    }
    return lbr_hash_end(&stream);
}

/* Hashes whole blocks that are in |ids|, at least one. Returns how many. */
static size_t hash_ready(struct lbr_event_tokens *tokens, size_t block_size,
                         size_t count, uint64_t *blocks)
{
    size_t there = (tokens->ready - tokens->used) / block_size;

    if (!there) {
        read_on(tokens);
        there = (tokens->ready - tokens->used) / block_size;
    }
    if (there > count)
        there = count;
    lbr_blocks_hash(tokens->ids + tokens->used,
                    block_size * sizeof *tokens->ids, there, blocks);
    tokens->used += there * block_size;
    return there;
}

void lbr_event_tokens_hash(struct lbr_event_tokens *tokens, size_t block_size,
                           size_t count, uint64_t *blocks)
{
    size_t part;

    for (; count; count -= part, blocks += part) {
        part = 1;
        if (block_size > LBR_EVENT_TOKENS)
            *blocks = hash_long(tokens, block_size);
        else
            part = hash_ready(tokens, block_size, count, blocks);
    }
}
