/* SPDX-License-Identifier: MIT */
#include "policy/decision.h"

#include "base/abi.h"
#include "models/load_order.h"
#include "policy/cost.h"
#include "policy/filter.h"
#include "policy/latency.h"
#include "policy/resident.h"

#include <math.h>

static void clear_resident(int64_t blocks[4])
{
    blocks[0] = blocks[1] = blocks[2] = blocks[3] = -1;
}

/* Makes it say "nothing decided". Field by field: the compiler would clear so
 * large a struct by a slow string instruction. */
static void clear(lbroute_decision *decision)
{
    decision->target = decision->ticket = decision->pool = 0;
    decision->user = NULL;
    decision->rule = decision->reason = decision->bench_ignored = 0;
    decision->candidates = decision->eligible = 0;
    decision->in_flight = decision->max_concurrency = 0;
    decision->reserved0 = 0;
    decision->weight = decision->load = decision->score = (double)NAN;
    decision->sticky_digest = 0;
    decision->wait_ns = -1;
    decision->prefix_matched = decision->prefix_total = -1;
    memset(decision->reasons, 0, sizeof decision->reasons);
    decision->target_name_len = decision->pool_name_len = 0;
    decision->target_name[0] = decision->pool_name[0] = '\0';
    decision->expected_cost_pusd = -1;
    decision->expected_ttft_ns = decision->expected_total_ns = -1;
    clear_resident(decision->kv_blocks);
    decision->kv_state = LBROUTE_KV_SOURCE_NONE;
    decision->reserved1 = 0;
    decision->place = 0;
    decision->queue_ahead = decision->reserved2 = 0;
}

static void note_pool(lbroute_decision *decision, const struct lbr_pool *pool)
{
    if (!pool)
        return;
    decision->pool = pool->slot.handle;
    decision->pool_name_len = (uint32_t)pool->name.length;
    lbr_text_export(decision->pool_name, pool->name);
}

void lbroute_decision_init(lbroute_decision *decision, size_t size)
{
    lbroute_decision defaults = {0};

    clear(&defaults);
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
    clear(decision);
    decision->sticky_digest = pick->ask->sticky_digest;
    decision->candidates = count_candidates(pick);
    decision->eligible = pick->eligible;
    decision->bench_ignored = pick->bench_ignored;
    decision->tag = pick->ask->request->tag;
    note_pool(decision, pick->scope.pool);
}

/* A latency for a field where -1 means unknown, and nothing takes no time. */
static int64_t latency_of(double ns)
{
    if (isnan(ns))
        return -1;
    return ns < 9e18 ? (int64_t)fmax(ns, 1) : INT64_MAX;
}

static void note_residence(const struct lbr_residence *residence,
                           int64_t blocks[4])
{
    unsigned medium;

    for (medium = 0; residence->known && medium < LBR_KV_MEDIA; medium++)
        blocks[medium] = residence->found[medium];
}

/* A rule that looks at other memories of prompts tells of those. */
static void note_prefix(const struct lbr_residence *residence,
                        lbroute_decision *decision)
{
    if (!residence->known || decision->prefix_total >= 0)
        return;
    decision->prefix_matched = (int64_t)residence->found[0] +
                               residence->found[1] + residence->found[2];
    decision->prefix_total = residence->total;
}

void lbr_decision_accept(lbroute_decision *decision,
                         const struct lbr_pick *pick,
                         const struct lbr_choice *choice)
{
    struct lbr_target *target = lbr_pick_target(pick, choice->position);

    note_pick(decision, pick);
    decision->target = target->slot.handle;
    decision->user = target->user;
    decision->rule = choice->rule;
    decision->score = choice->score;
    decision->in_flight = target->in_flight + 1;
    decision->max_concurrency = lbr_target_limit(target);
    decision->weight = target->weight_now;
    decision->load = lbr_target_load(target);
    decision->wait_ns = 0;
    decision->prefix_matched = choice->prefix_matched;
    decision->prefix_total = choice->prefix_total;
    decision->target_name_len = (uint32_t)target->name.length;
    lbr_text_export(decision->target_name, target->name);
    if (choice->looked) {
        decision->kv_state = choice->residence.state;
        note_residence(&choice->residence, decision->kv_blocks);
        note_prefix(&choice->residence, decision);
    }
    decision->expected_cost_pusd = lbr_cost_expected(pick, target);
    if (!lbr_latency_learns(pick))
        return;
    decision->expected_ttft_ns = latency_of(choice->expected[LBR_FIRST_TOKEN]);
    decision->expected_total_ns = latency_of(choice->expected[LBR_TOTAL]);
}

void lbr_candidate_describe(lbroute_candidate *candidate,
                            const struct lbr_pick *pick,
                            struct lbr_target *target, int verdict,
                            double lowest)
{
    candidate->size = sizeof *candidate;
    candidate->target = target->slot.handle;
    candidate->verdict = verdict;
    candidate->in_flight = target->in_flight;
    candidate->max_concurrency = lbr_target_limit(target);
    candidate->weight = target->weight_now;
    candidate->load = lbr_target_load(target);
    candidate->relative_load = (double)NAN;
    candidate->score = (double)NAN;
    if (target->weight_now > 0)
        candidate->relative_load = lbr_target_relative_load(target);
    candidate->in_window =
        !verdict && lbr_load_in_window(candidate->relative_load, lowest);
    candidate->expected_cost_pusd = lbr_cost_expected(pick, target);
    candidate->expected_ttft_ns = candidate->expected_total_ns = -1;
    clear_resident(candidate->kv_blocks);
    candidate->kv_state = LBROUTE_KV_SOURCE_NONE;
    candidate->reserved0 = 0;
    if (pick->look) {
        struct lbr_residence residence = lbr_resident_of(pick, target);

        candidate->kv_state = residence.state;
        note_residence(&residence, candidate->kv_blocks);
    }
    if (pick->group && pick->group == target->by_pool.group &&
        lbr_latency_learns(pick)) {
        uint32_t position = target->by_pool.position;

        candidate->expected_ttft_ns =
            latency_of(lbr_latency_expected(pick, position, LBR_FIRST_TOKEN));
        candidate->expected_total_ns =
            latency_of(lbr_latency_expected(pick, position, LBR_TOTAL));
    }
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

void lbr_decision_give_up(lbroute_decision *decision,
                          const struct lbr_pool *pool, int reason)
{
    clear(decision);
    decision->tag = 0;
    decision->reason = reason;
    note_pool(decision, pool);
}
