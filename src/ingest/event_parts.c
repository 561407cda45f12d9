/* SPDX-License-Identifier: MIT */
#include "ingest/event_parts.h"

void lbr_event_parts_begin(struct lbr_event_parts *parts, lbr_event_sink *sink,
                           void *context, double timestamp)
{
    parts->sink = sink;
    parts->context = context;
    parts->result = 0;
    parts->used = 0;
    lbroute_kv_batch_init(&parts->part, sizeof parts->part);
    parts->part.timestamp = timestamp;
    parts->part.events = parts->events;
}

static void hand_over(struct lbr_event_parts *parts, int more)
{
    if (!parts->result) {
        parts->part.more = more;
        parts->result = parts->sink(parts->context, &parts->part);
    }
    parts->part.continued = 1;
    parts->part.event_count = 0;
    parts->used = 0;
}

void lbr_event_parts_fail(struct lbr_event_parts *parts, int result)
{
    if (!parts->result)
        parts->result = result;
}

int lbr_event_parts_end(struct lbr_event_parts *parts)
{
    hand_over(parts, 0);
    return parts->result;
}

static size_t room(const struct lbr_event_parts *parts)
{
    return LBR_PART_BLOCKS - parts->used;
}

/* A number in decimal stands where the caller decoded the event. */
static void keep_adapter(struct lbr_event_parts *parts, lbroute_kv_event *event)
{
    char *kept = parts->adapters[event - parts->events];

    if (!event->adapter_len || event->adapter_len > LBR_EVENT_DIGITS)
        return;
    memcpy(kept, event->adapter, event->adapter_len);
    event->adapter = kept;
}

/* Begins a copy of |event| with room for at least one block. */
static lbroute_kv_event *open_piece(struct lbr_event_parts *parts,
                                    const lbroute_kv_event *event)
{
    lbroute_kv_event *piece;

    if (parts->part.event_count == LBR_PART_EVENTS || !room(parts))
        hand_over(parts, 1);
    piece = &parts->events[parts->part.event_count++];
    *piece = *event;
    keep_adapter(parts, piece);
    piece->hashes = parts->hashes + parts->used;
    return piece;
}

static void read_hashes(struct lbr_event_parts *parts,
                        struct lbr_event_blocks *blocks, size_t count)
{
    uint64_t *hashes = parts->hashes + parts->used;
    size_t i;

    for (i = 0; i < count; i++)
        (void)lbr_event_hash(&blocks->hashes, &hashes[i]);
    blocks->hash_count -= count;
}

static size_t at_most(size_t count, size_t limit)
{
    return count < limit ? count : limit;
}

/* Blocks that are known already: only their names are told. */
static void add_names(struct lbr_event_parts *parts,
                      const lbroute_kv_event *event,
                      struct lbr_event_blocks *blocks)
{
    lbroute_kv_event *piece;

    while (blocks->hash_count) {
        piece = open_piece(parts, event);
        piece->hash_count = at_most(blocks->hash_count, room(parts));
        read_hashes(parts, blocks, piece->hash_count);
        parts->used += piece->hash_count;
    }
}

/* Hashes without the tokens of a block, for the count of what could not be
 * used. One token, less than a block, tells them from blocks that are known. */
static void add_unfilled(struct lbr_event_parts *parts,
                         const lbroute_kv_event *event,
                         struct lbr_event_blocks *blocks)
{
    static const uint32_t token = 0;
    lbroute_kv_event unfilled = *event;

    unfilled.tokens = &token;
    unfilled.token_count = 1;
    if (unfilled.block_size < 2)
        unfilled.block_size = 2;
    add_names(parts, &unfilled, blocks);
}

/* Fills in contents and extra keys of the first |count| blocks of a piece. */
static void fill(struct lbr_event_parts *parts, lbroute_kv_event *piece,
                 struct lbr_event_blocks *blocks, size_t count)
{
    uint64_t *keys = parts->keys + parts->used;
    size_t i;

    piece->blocks = parts->blocks + parts->used;
    piece->block_count = count;
    lbr_event_tokens_hash(blocks->tokens, piece->block_size, count,
                          parts->blocks + parts->used);
    if (!blocks->keys.left)
        return;
    piece->extra_keys = keys;
    piece->extra_key_count = count;
    for (i = 0; i < count; i++)
        keys[i] = lbr_event_keys_next(&blocks->keys);
}

/* Blocks with their tokens, as many as have both. Returns how many. */
static size_t add_filled(struct lbr_event_parts *parts, lbroute_kv_event *next,
                         struct lbr_event_blocks *blocks)
{
    size_t most = blocks->tokens->total / next->block_size;
    size_t count = at_most(blocks->hash_count, most);
    size_t left = count, part;
    lbroute_kv_event *piece;

    for (; left; left -= part) {
        piece = open_piece(parts, next);
        part = at_most(left, room(parts));
        piece->hash_count = part;
        read_hashes(parts, blocks, part);
        fill(parts, piece, blocks, part);
        next->parent = piece->hashes[part - 1];
        next->has_parent = 1;
        parts->used += part;
    }
    return count;
}

/* Blocks of tokens without a hash, for the same count; what they hold is no
 * matter. */
static void add_unnamed(struct lbr_event_parts *parts,
                        const lbroute_kv_event *event, size_t count)
{
    lbroute_kv_event *piece;
    size_t part;

    for (; count; count -= part) {
        piece = open_piece(parts, event);
        part = at_most(count, room(parts));
        piece->blocks = parts->blocks + parts->used;
        piece->block_count = part;
        memset(parts->blocks + parts->used, 0, part * sizeof *parts->blocks);
        parts->used += part;
    }
}

void lbr_event_parts_store(struct lbr_event_parts *parts,
                           const lbroute_kv_event *event,
                           struct lbr_event_blocks *blocks)
{
    lbroute_kv_event next = *event;
    size_t begun;

    if (!blocks->tokens) {
        add_names(parts, event, blocks);
        return;
    }
    begun = blocks->tokens->total / event->block_size +
            (blocks->tokens->total % event->block_size != 0);
    begun -= add_filled(parts, &next, blocks);
    if (blocks->hash_count)
        add_unfilled(parts, &next, blocks);
    else
        add_unnamed(parts, &next, begun);
}

/* Whether an event can be joined to the latest one: engines tell of each block
 * that is gone in an event of its own. */
static lbroute_kv_event *latest_like(struct lbr_event_parts *parts,
                                     const lbroute_kv_event *event)
{
    lbroute_kv_event *latest;

    if (!parts->part.event_count)
        return NULL;
    latest = &parts->events[parts->part.event_count - 1];
    return latest->kind == event->kind && latest->medium == event->medium &&
                   latest->group == event->group
               ? latest
               : NULL;
}

void lbr_event_parts_remove(struct lbr_event_parts *parts,
                            const lbroute_kv_event *event,
                            struct lbr_event_blocks *blocks)
{
    lbroute_kv_event *latest = latest_like(parts, event);
    size_t count = at_most(blocks->hash_count, room(parts));

    if (latest && count) {
        read_hashes(parts, blocks, count);
        latest->hash_count += count;
        parts->used += count;
    }
    add_names(parts, event, blocks);
}

void lbr_event_parts_clear(struct lbr_event_parts *parts,
                           const lbroute_kv_event *event)
{
    (void)open_piece(parts, event);
}
