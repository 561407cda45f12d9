/* SPDX-License-Identifier: MIT */
/* least_work: the member with the least work left, this request's included, in
 * the time that its kind of engine takes for it:
 *
 *     first token with what waits, what must be computed of this prompt (dearer
 *     where that drives out what others come back for) and what runs there
 *   + what those who share the engine lose by one more
 *
 * What is cached where comes from KV events where they flow, else from the
 * memory that kv_aware keeps, too. The times are learned from first tokens and
 * completions (models/pace.h); until they are known, work is counted in tokens
 * and divided by the weight.
 *
 * Sources: the sum of waiting and own uncached prefill is that of NVIDIA
 * Dynamo's router, 2025, and of LMetric, OSDI 2026, which multiplies by what
 * runs instead. Least work left is as old as queueing theory (Kendall, 1953).
 */
#include "policy/least_work.h"

#include "containers/bits.h"
#include "policy/affinity.h"
#include "policy/latency.h"
#include "policy/resident.h"

#include <math.h>

/* Tokens of work that one more running request counts for while times are not
 * known. */
#define RUNNING_TOKENS 2.0 /* kilotokens */

/* A token that must be computed drives another one out of a full cache. */
#define EVICTION 1.0

/* The same where nothing is found any more of what was expected: what is driven
 * out there is missed by many. */
#define MOST_EVICTION 15.0

/* A request slows the others' tokens down by as much as they slow down its own:
 * both count, a tenth as much as time to the first token each. Ten times as
 * much would balance numbers and throw caches away. */
#define SHARING 0.4

/* What a pick counts for all members. */
struct terms {
    double input;    /* of the request, kilotokens */
    double usual;    /* of the pool's requests */
    double eviction; /* factor of what must be computed */
    double sharing;  /* ns for each request that runs */
};

static struct terms terms_of(const struct lbr_pick *pick)
{
    const struct lbr_pace *pace = &pick->group->latency_mean.pace;
    struct lbr_forecast_request request = lbr_latency_request(pick);
    struct terms terms = {request.input, request.mean_input, 0, 0};

    terms.eviction = 1 + fmax(EVICTION, MOST_EVICTION * pace->gone.value);
    if (lbr_pace_known(pace, LBR_PACE_EACH))
        terms.sharing = SHARING * pace->output.value *
                        pace->plane[LBR_PACE_EACH].plane.per_queue;
    return terms;
}

/* What is started slowly, or by a lower weight, gets less. */
static double ramp(const struct lbr_target *target)
{
    return target->weight > 0 ? target->weight_now / target->weight : 1;
}

static double work_at(const struct lbr_pick *pick, const struct terms *terms,
                      uint32_t position)
{
    const struct lbr_pace *pace = &pick->group->latency_mean.pace;
    const struct lbr_target *target = lbr_pick_target(pick, position);
    const struct lbr_pace_rate *rate = target->latency.pace.rate;
    double running = target->in_flight + target->extra;
    double work =
        lbr_forecast_queue(&pick->group->forecast, position, terms->usual) +
        terms->input * lbr_latency_uncached(pick, position) * terms->eviction;

    if (!lbr_pace_known(pace, LBR_PACE_FIRST))
        return (work + running * RUNNING_TOKENS) / target->weight_now;
    return (rate[LBR_PACE_FIRST].slowness *
                lbr_least_squares_at(&pace->plane[LBR_PACE_FIRST], running,
                                     work) +
            rate[LBR_PACE_EACH].slowness * running * terms->sharing) /
           ramp(target);
}

static uint32_t least(const struct lbr_pick *pick, double *score)
{
    struct terms terms = terms_of(pick);
    uint32_t count = pick->group->count;
    uint32_t leader = LBR_BITS_NONE;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        double work = work_at(pick, &terms, i);

        if (leader != LBR_BITS_NONE &&
            (work > *score ||
             (work == *score && !lbr_affinity_less_busy(pick, i, leader))))
            continue;
        leader = i;
        *score = work;
    }
    return leader;
}

uint32_t lbr_least_work_choose(struct lbr_pick *pick,
                               const struct lbr_affinity *affinity,
                               double *score)
{
    pick->scale.affinity = *affinity;
    pick->scale.known = 1;
    lbr_affinity_survey(pick, &pick->scale.affinity);
    return least(pick, score);
}

static void commit(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    lbr_affinity_commit(pick, choice);
    lbr_resident_guess(pick, choice);
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    struct lbr_affinity affinity = lbr_affinity_look(pick);
    double score = 0;

    if (pick->ask->chains.count)
        lbr_resident_spread(pick);
    choice->position = lbr_least_work_choose(pick, &affinity, &score);
    choice->rule = LBROUTE_RULE_LEAST_WORK;
    choice->commit = commit;
    lbr_affinity_note(pick, &affinity, choice);
    lbr_resident_note(pick, choice);
    choice->score = score;
}

static double score(const struct lbr_pick *pick, uint32_t position)
{
    struct terms terms = terms_of(pick);

    return work_at(pick, &terms, position);
}

const struct lbr_strategy lbr_strategy_least_work = {
    .name = "least_work",
    .uses = LBR_USES_ORDER | LBR_USES_TRIE | LBR_USES_FORECAST | LBR_USES_PACE,
    .promise = LBR_PROMISE_NONE,
    .shares_memory = 1,
    .asks_resident = 1,
    .choose = choose,
    .score = score,
};
