/* SPDX-License-Identifier: MIT */
#include "policy/decision.h"

#include "base/abi.h"

#include <math.h>

void lbr_decision_clear(lbroute_decision *decision)
{
    size_t names = offsetof(lbroute_decision, target_name);
    size_t start = offsetof(lbroute_decision, target);

    memset((char *)decision + start, 0, names - start);
    decision->target_name[0] = decision->pool_name[0] = '\0';
    decision->weight = decision->load = decision->score = (double)NAN;
    decision->wait_ns = -1;
    decision->prefix_matched = decision->prefix_total = -1;
}

void lbroute_decision_init(lbroute_decision *decision, size_t size)
{
    lbroute_decision defaults = {0};

    lbr_decision_clear(&defaults);
    lbr_abi_init(decision, size, &defaults, sizeof defaults);
}

static uint32_t count_candidates(const struct lbr_pick *pick)
{
    const struct lbr_group *group = pick->scope.candidates;
    uint32_t count = 0;

    for (; group; group = group->next)
        count += group->count;
    return count;
}

/* What holds for every answer. */
static void note_pick(lbroute_decision *decision, const struct lbr_pick *pick)
{
    const struct lbr_pool *pool = pick->scope.pool;

    decision->sticky_digest = pick->ask->sticky_digest;
    decision->candidates = count_candidates(pick);
    decision->eligible = pick->eligible;
    decision->bench_ignored = pick->bench_ignored;
    if (!pool)
        return;
    decision->pool = pool->slot.handle;
    decision->pool_name_len = (uint32_t)pool->name.length;
    lbr_text_export(decision->pool_name, pool->name);
}

void lbr_decision_accept(lbroute_decision *decision,
                         const struct lbr_pick *pick,
                         const struct lbr_choice *choice)
{
    const struct lbr_target *target = lbr_pick_target(pick, choice->position);

    note_pick(decision, pick);
    decision->target = target->slot.handle;
    decision->user = target->user;
    decision->rule = choice->rule;
    decision->score = choice->score;
    decision->in_flight = target->in_flight + 1;
    decision->max_concurrency = target->max_concurrency;
    decision->weight = target->weight_now;
    decision->load = lbr_target_load(target);
    decision->wait_ns = 0;
    decision->target_name_len = (uint32_t)target->name.length;
    lbr_text_export(decision->target_name, target->name);
}

void lbr_decision_reject(lbroute_decision *decision,
                         const struct lbr_pick *pick,
                         const struct lbr_rejection *rejection)
{
    int reason;

    note_pick(decision, pick);
    decision->reason = rejection->main_reason;
    decision->in_flight = rejection->in_flight;
    decision->max_concurrency = rejection->limit;
    for (reason = 0; reason < LBROUTE_REASON_COUNT; reason++)
        decision->reasons[reason] = rejection->verdicts[reason];
}
