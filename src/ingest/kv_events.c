/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "ingest/event_batch.h"

/* Whose events they are, and what became of them so far. */
struct taker {
    lbroute_router *router;
    lbroute_target target;
    uint32_t source;
    uint64_t seq, now;
    lbroute_kv_result result; /* of all parts */
};

/* What became of a batch whose parts so far ended with |before|, and the next
 * one with |after|. */
static int join_outcomes(int before, int after)
{
    if (before == LBROUTE_KV_RESTARTED)
        return before;
    if (before == LBROUTE_KV_PARTIAL && after == LBROUTE_KV_APPLIED)
        return before;
    return after;
}

static void join(lbroute_kv_result *all, const lbroute_kv_result *part)
{
    size_t i;

    all->outcome = join_outcomes(all->outcome, part->outcome);
    all->state = part->state;
    all->missing = part->missing;
    all->first_missing = part->first_missing;
    all->last_missing = part->last_missing;
    all->stored += part->stored;
    all->removed += part->removed;
    for (i = 0; i < sizeof all->reasons / sizeof *all->reasons; i++)
        all->reasons[i] += part->reasons[i];
}

/* Hands a part over. Of a batch that had been taken over before there is no use
 * for the others. */
static int take_part(void *context, lbroute_kv_batch *part)
{
    struct taker *taker = context;
    lbroute_kv_result result;
    int code;

    if (taker->result.outcome == LBROUTE_KV_DUPLICATE)
        return LBROUTE_OK;
    part->seq = taker->seq;
    lbroute_kv_result_init(&result, sizeof result);
    code = lbroute_kv_apply(taker->router, taker->target, taker->source, part,
                            taker->now, &result);
    if (!code)
        join(&taker->result, &result);
    return code;
}

/* The end of a replay: what is known of the source now, if there is one. */
static int end_replay(struct taker *taker)
{
    lbroute_kv_result *result = &taker->result;
    lbroute_kv_source_stats stats;
    lbroute_target_info info;
    int code;

    lbroute_kv_source_stats_init(&stats, sizeof stats);
    code = lbroute_get_kv_source_stats(taker->router, taker->target,
                                       taker->source, taker->now, &stats);
    result->outcome = LBROUTE_KV_REPLAY_END;
    result->state = stats.state;
    result->missing = stats.missing;
    result->first_missing = stats.first_missing;
    result->last_missing = stats.last_missing;
    if (code != LBROUTE_ERR_NOT_FOUND)
        return code;
    lbroute_target_info_init(&info, offsetof(lbroute_target_info, weight));
    return lbroute_target_get_info(taker->router, taker->target, &info);
}

static int take_batch(struct taker *taker, const void *payload, size_t len,
                      lbroute_diag *diag)
{
    int code;

    code =
        lbr_event_batch_read(len ? payload : "", len, take_part, taker, diag);
    if (diag->broken && taker->result.outcome == LBROUTE_KV_APPLIED)
        taker->result.outcome = LBROUTE_KV_PARTIAL;
    return code;
}

int lbroute_ingest_kv_events(lbroute_router *router, lbroute_target target,
                             uint32_t source, uint64_t seq, const void *payload,
                             size_t len, uint64_t now,
                             lbroute_kv_result *result, lbroute_diag *diag)
{
    struct taker taker = {0};
    lbroute_diag counts;
    int code;

    if (!router || lbr_text_broken(payload, len) ||
        (result && !lbr_abi_valid(result)) || (diag && !lbr_abi_valid(diag)))
        return LBROUTE_ERR_INVALID;
    taker.router = router;
    taker.target = target;
    taker.source = source;
    taker.seq = seq;
    taker.now = now;
    lbroute_kv_result_init(&taker.result, sizeof taker.result);
    lbroute_diag_init(&counts, sizeof counts);
    code = seq == UINT64_MAX && !len
               ? end_replay(&taker)
               : take_batch(&taker, payload, len, &counts);
    if (result && !code)
        (void)lbr_abi_write(result, &taker.result, sizeof taker.result);
    if (diag)
        (void)lbr_abi_write(diag, &counts, sizeof counts);
    return code;
}
