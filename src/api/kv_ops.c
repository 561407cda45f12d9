/* SPDX-License-Identifier: MIT */
#include "api/kv_ops.h"

#include "base/abi.h"
#include "base/blocks.h"
#include "base/hash.h"
#include "base/text.h"

/* ---- checks ---- */

static int check_event(const lbroute_kv_event *event)
{
    if (lbr_text_broken(event->hashes, event->hash_count) ||
        lbr_text_broken(event->tokens, event->token_count) ||
        lbr_text_broken(event->blocks, event->block_count) ||
        lbr_text_broken(event->adapter, event->adapter_len) ||
        lbr_text_broken(event->salt, event->salt_len) ||
        lbr_text_broken(event->extra_keys, event->extra_key_count))
        return LBROUTE_ERR_INVALID;
    if (event->has_parent < 0 || event->has_parent > 1 || event->reserved0 ||
        event->extra_key_count > event->hash_count)
        return LBROUTE_ERR_INVALID;
    return LBROUTE_OK;
}

/* A complete one needs no defaults. */
static int read_event(lbroute_kv_event *event, const void *row)
{
    if (lbr_abi_size(row) < sizeof *event)
        lbroute_kv_event_init(event, sizeof *event);
    return lbr_abi_read(event, sizeof *event, row);
}

int lbr_kv_events_check(const lbroute_kv_batch *batch)
{
    const unsigned char *row = (const unsigned char *)batch->events;
    size_t i;

    if (lbr_text_broken(batch->events, batch->event_count) ||
        !lbr_abi_rows_valid(batch->events, batch->event_count))
        return LBROUTE_ERR_INVALID;
    for (i = 0; i < batch->event_count; i++) {
        lbroute_kv_event event;
        int result = read_event(&event, row + i * lbr_abi_size(batch->events));

        if (!result)
            result = check_event(&event);
        if (result)
            return result;
    }
    return LBROUTE_OK;
}

/* ---- reading ---- */

void lbr_kv_reader_init(struct lbr_kv_reader *reader,
                        const lbroute_kv_batch *batch, uint64_t secret)
{
    memset(reader, 0, sizeof *reader);
    reader->row = (const unsigned char *)batch->events;
    reader->rows = batch->event_count;
    reader->row_size = batch->event_count ? lbr_abi_size(batch->events) : 0;
    reader->secret = secret;
}

/* Complete blocks that the content of a store makes, and begun ones. */
static size_t blocks_told(const lbroute_kv_event *event, size_t *begun)
{
    if (event->block_count || !event->token_count) {
        *begun = event->block_count;
        return event->block_count;
    }
    *begun = event->token_count / event->block_size +
             (event->token_count % event->block_size != 0);
    return event->token_count / event->block_size;
}

static int is_store(const lbroute_kv_event *event)
{
    return event->kind == LBROUTE_KV_STORED &&
           (event->token_count || event->block_count);
}

/* How many operations a store makes: one for each block that both has a name
 * and is complete. */
static size_t plan_store(struct lbr_kv_reader *reader)
{
    const lbroute_kv_event *event = &reader->event;
    size_t begun;
    size_t complete = blocks_told(event, &begun);
    size_t count = event->hash_count < complete ? event->hash_count : complete;
    size_t most = event->hash_count > begun ? event->hash_count : begun;

    reader->reasons[LBROUTE_KV_REASON_TOKENS] += most - count;
    return count;
}

static int is_sound(const lbroute_kv_event *event)
{
    if (event->kind < LBROUTE_KV_STORED || event->kind >= LBROUTE_KV_KIND_COUNT)
        return 0;
    if (event->medium < LBROUTE_MEDIUM_ANY ||
        event->medium >= LBROUTE_MEDIUM_COUNT)
        return 0;
    return !is_store(event) || event->block_count || event->block_size;
}

static void plan(struct lbr_kv_reader *reader)
{
    const lbroute_kv_event *event = &reader->event;

    reader->block = 0;
    reader->blocks = 0;
    if (!is_sound(event))
        reader->reasons[LBROUTE_KV_REASON_EVENT]++;
    else if (event->kind == LBROUTE_KV_CLEARED)
        reader->blocks = 1;
    else if (is_store(event))
        reader->blocks = plan_store(reader);
    else
        reader->blocks = event->hash_count;
}

/* Goes on to the next event that says something. */
static int next_event(struct lbr_kv_reader *reader)
{
    while (reader->block == reader->blocks) {
        if (!reader->rows)
            return 0;
        (void)read_event(&reader->event, reader->row);
        reader->row += reader->row_size;
        reader->rows--;
        plan(reader);
    }
    return 1;
}

/* Names of different groups are different names. */
static uint64_t name_in_group(uint64_t hash, uint32_t group)
{
    return group ? lbr_hash_pair(hash, group) : hash;
}

static uint64_t content_of(const lbroute_kv_event *event, size_t block)
{
    uint64_t extra =
        block < event->extra_key_count ? event->extra_keys[block] : 0;
    uint64_t hash;

    if (event->block_count)
        hash = event->blocks[block];
    else
        hash = lbr_hash(event->tokens + block * event->block_size,
                        event->block_size * sizeof *event->tokens);
    if (!block && !event->has_parent && event->salt_len)
        extra = lbr_block_fold(extra, event->salt, event->salt_len);
    return lbr_block_content(hash, extra);
}

static void place(const struct lbr_kv_reader *reader, struct lbr_kv_op *op)
{
    const lbroute_kv_event *event = &reader->event;

    op->after = LBR_KV_AFTER_LAST;
    if (reader->block)
        return;
    op->after = event->has_parent ? LBR_KV_AFTER_NAME : LBR_KV_AFTER_ROOT;
    op->before = event->has_parent
                     ? name_in_group(event->parent, event->group)
                     : lbr_block_root(reader->secret, event->adapter,
                                      event->adapter_len);
}

static void make_store(const struct lbr_kv_reader *reader, struct lbr_kv_op *op)
{
    op->verb = LBR_KV_COPY;
    op->medium = reader->event.medium < 0 ? LBROUTE_MEDIUM_GPU
                                          : (uint8_t)reader->event.medium;
    if (!is_store(&reader->event))
        return;
    op->verb = LBR_KV_STORE;
    op->block_size = reader->event.block_size;
    op->content = content_of(&reader->event, reader->block);
    place(reader, op);
}

static void make(const struct lbr_kv_reader *reader, struct lbr_kv_op *op)
{
    const lbroute_kv_event *event = &reader->event;

    memset(op, 0, sizeof *op);
    op->verb = LBR_KV_EMPTY;
    if (event->kind == LBROUTE_KV_CLEARED)
        return;
    op->name = name_in_group(event->hashes[reader->block], event->group);
    if (event->kind == LBROUTE_KV_STORED) {
        make_store(reader, op);
        return;
    }
    op->verb = LBR_KV_TAKE;
    op->medium = event->medium < 0 ? LBR_KV_MEDIA : (uint8_t)event->medium;
}

size_t lbr_kv_reader_next(struct lbr_kv_reader *reader, struct lbr_kv_op *ops,
                          size_t capacity)
{
    size_t count = 0;

    while (count < capacity && next_event(reader)) {
        make(reader, &ops[count++]);
        reader->block++;
    }
    return count;
}

uint64_t lbr_kv_ops_digest(const struct lbr_kv_op *ops, size_t count)
{
    uint64_t digest = count;
    size_t i;

    for (i = 0; i < count; i++) {
        uint64_t what = ops[i].content + ops[i].before +
                        ((uint64_t)ops[i].verb << 8 | ops[i].medium);

        digest = (digest ^ ops[i].name) * 0x9e3779b97f4a7c15U + what;
        digest ^= digest >> 29;
    }
    return digest;
}
