/* SPDX-License-Identifier: MIT */
#include "api/kv_ops.h"
#include "base/abi.h"
#include "base/blocks.h"
#include "policy/chains.h"
#include "state/router.h"

#include <math.h>

void lbroute_kv_event_init(lbroute_kv_event *event, size_t size)
{
    lbroute_kv_event defaults = {0};

    defaults.medium = LBROUTE_MEDIUM_ANY;
    lbr_abi_init(event, size, &defaults, sizeof defaults);
}

void lbroute_kv_batch_init(lbroute_kv_batch *batch, size_t size)
{
    lbroute_kv_batch defaults = {0};

    defaults.seq = UINT64_MAX;
    defaults.timestamp = (double)NAN;
    lbr_abi_init(batch, size, &defaults, sizeof defaults);
}

void lbroute_kv_result_init(lbroute_kv_result *result, size_t size)
{
    lbroute_kv_result defaults = {0};

    lbr_abi_init(result, size, &defaults, sizeof defaults);
}

uint64_t lbroute_kv_fold_key(uint64_t digest, const void *key, size_t key_len)
{
    return key ? lbr_block_fold(digest, key, key_len) : digest;
}

/* Operations that are made before the lock is taken once. */
#define CHUNK 128

/* A batch on its way. */
struct delivery {
    struct lbroute_router *router;
    lbroute_target target;
    uint32_t number;
    lbroute_kv_batch batch;
    struct lbr_kv_reader reader;
    struct lbr_kv_op ops[CHUNK];
    size_t count;
    int first, last; /* chunk of this call */
    lbroute_kv_result result;
};

static int find_source(struct delivery *delivery, struct lbr_target *target,
                       struct lbr_kv_source **source)
{
    struct lbr_kv_store *store = &delivery->router->kv;

    if (delivery->first && !delivery->batch.continued)
        return lbr_kv_source_get(store, target, &target->kv, delivery->number,
                                 source);
    *source = lbr_kv_source_find(&target->kv, delivery->number);
    if (!*source || (*source)->open == LBR_KV_OPEN_NONE ||
        (*source)->open_stamp.number != delivery->batch.seq)
        return LBROUTE_ERR_INVALID;
    return LBROUTE_OK;
}

static void begin(struct delivery *delivery, struct lbr_kv_source *source)
{
    struct lbr_kv_stamp stamp;

    if (!delivery->first || delivery->batch.continued)
        return;
    stamp.number = delivery->batch.seq;
    stamp.time = delivery->batch.timestamp;
    stamp.digest = lbr_kv_ops_digest(delivery->ops, delivery->count);
    lbr_kv_source_begin(&delivery->router->kv, source, &stamp);
}

static void note_reasons(struct delivery *delivery,
                         struct lbr_kv_source *source)
{
    int reason;

    for (reason = 0; reason < LBROUTE_KV_REASON_COUNT; reason++) {
        source->counts.reasons[reason] += delivery->reader.reasons[reason];
        delivery->result.reasons[reason] += delivery->reader.reasons[reason];
    }
}

static int is_partial(const lbroute_kv_result *result)
{
    return result->reasons[LBROUTE_KV_REASON_EVENT] ||
           result->reasons[LBROUTE_KV_REASON_TOKENS] ||
           result->reasons[LBROUTE_KV_REASON_OWN_PARENT] ||
           result->reasons[LBROUTE_KV_REASON_FULL];
}

static void conclude(struct delivery *delivery, struct lbr_target *target,
                     struct lbr_kv_source *source)
{
    lbroute_kv_result *result = &delivery->result;
    struct lbr_kv_hole hole = lbr_kv_source_missing(source);

    if (source->outcome != LBROUTE_KV_DUPLICATE)
        note_reasons(delivery, source);
    result->outcome = source->outcome;
    if (result->outcome == LBROUTE_KV_APPLIED && is_partial(result))
        result->outcome = LBROUTE_KV_PARTIAL;
    result->state = lbr_kv_source_state(source, &target->kv,
                                        target->pool->params.precise.ttl);
    result->missing = hole.count;
    result->first_missing = hole.first;
    result->last_missing = hole.last;
}

/* The pool's prompts are cut as its engines cut them. */
static void note_size(struct lbroute_router *router, struct lbr_target *target,
                      const struct lbr_kv_source *source, uint32_t before)
{
    if (source->block_size == before)
        return;
    lbr_kv_sizes_renew(target->pool);
    if (target->pool != &router->loose)
        lbr_chains_publish(router, target->pool);
}

static void hand_over(struct delivery *delivery, struct lbr_target *target,
                      struct lbr_kv_source *source)
{
    const struct lbr_params *params = &target->pool->params;
    struct lbr_kv_store *store = &delivery->router->kv;
    struct lbr_kv_rules rules = {params->precise.count_copies,
                                 params->blocks.tokens};
    uint32_t size = source->block_size;

    begin(delivery, source);
    source->heard_at = delivery->router->clock;
    target->kv.asked_since = LBR_NEVER;
    lbr_kv_source_feed(store, source, delivery->ops, delivery->count, &rules,
                       &delivery->result);
    if (delivery->last && !delivery->batch.more)
        lbr_kv_source_end(store, source, &rules, &delivery->result);
    note_size(delivery->router, target, source, size);
    if (delivery->last)
        conclude(delivery, target, source);
}

static int deliver_chunk(struct delivery *delivery, uint64_t now)
{
    struct lbroute_router *router = delivery->router;
    struct lbr_kv_source *source;
    struct lbr_target *target;
    int result = LBROUTE_ERR_NOT_FOUND;

    lbr_router_enter(router);
    lbr_router_advance(router, now);
    target = lbr_router_target(router, delivery->target);
    if (target)
        result = find_source(delivery, target, &source);
    if (!result)
        hand_over(delivery, target, source);
    return lbr_router_leave(router, result);
}

static int deliver(struct delivery *delivery, uint64_t now)
{
    int result;

    delivery->first = 1;
    do {
        delivery->count =
            lbr_kv_reader_next(&delivery->reader, delivery->ops, CHUNK);
        delivery->last = delivery->count < CHUNK;
        result = deliver_chunk(delivery, now);
        delivery->first = 0;
    } while (!result && !delivery->last);
    return result;
}

static int read_batch(lbroute_kv_batch *batch, const lbroute_kv_batch *in)
{
    int result;

    lbroute_kv_batch_init(batch, sizeof *batch);
    result = lbr_abi_read(batch, sizeof *batch, in);
    if (result)
        return result;
    if (batch->more < 0 || batch->more > 1 || batch->continued < 0 ||
        batch->continued > 1)
        return LBROUTE_ERR_INVALID;
    return lbr_kv_events_check(batch);
}

int lbroute_kv_apply(lbroute_router *router, lbroute_target target,
                     uint32_t source, const lbroute_kv_batch *batch,
                     uint64_t now, lbroute_kv_result *out)
{
    struct delivery delivery;
    int result;

    if (!router || (out && !lbr_abi_valid(out)))
        return LBROUTE_ERR_INVALID;
    result = read_batch(&delivery.batch, batch);
    if (result)
        return result;
    if (source == UINT32_MAX)
        return LBROUTE_ERR_RANGE;
    delivery.router = router;
    delivery.target = target;
    delivery.number = source;
    lbroute_kv_result_init(&delivery.result, sizeof delivery.result);
    lbr_kv_reader_init(&delivery.reader, &delivery.batch, router->kv_secret);
    result = deliver(&delivery, now);
    if (result || !out)
        return result;
    return lbr_abi_write(out, &delivery.result, sizeof delivery.result);
}
