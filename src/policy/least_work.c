/* SPDX-License-Identifier: MIT */
/* least_work: the member with the least work left, this request's included, in
 * the time that its kind of engine takes for it:
 *
 *     first token with what waits, what must be computed of this prompt (dearer
 *     where that drives out what others come back for; see to_compute.h) and
 *     what runs there; no less than the plane's floor
 *   + what those who share the engine lose by one more
 *
 * which a slow start stretches, and
 *
 *   + by how much the oldest request that still waits for its first token is
 *     overdue.
 *
 * What is cached where comes from KV events where they flow, else from the
 * memory that kv_aware keeps, too. The times are learned from first tokens and
 * completions (state/work_times.h); until they are known, work is counted in
 * tokens and divided by the weight.
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
#include "policy/to_compute.h"

#include <math.h>

/* Kilotokens of work that one more running request counts for while times are
 * not known. */
#define RUNNING_WORK 2.0

/* A token that must be computed drives another one out of a full cache: every
 * other one is missed. */
#define EVICTION 0.5

/* The same where nothing is found any more of what was expected: what is driven
 * out there is missed by many. */
#define MOST_EVICTION 15.0

/* A request slows the others' tokens down by as much as they slow down its own:
 * both count, a fifth as much as time to the first token each. Five times as
 * much would balance numbers and throw caches away. */
#define SHARING 0.4

/* So many holders of a part of the prompt are not looked at one by one, at
 * first; after so many disappointments they are. */
#define MANY_HOLDERS 8
#define MANY_TRIES 6

double lbr_least_work_eviction(const struct lbr_work_times *times)
{
    return 1 + fmax(EVICTION, MOST_EVICTION * times->pace.gone.value);
}

double lbr_least_work_sharing(const struct lbr_work_times *times)
{
    if (!lbr_work_times_known(times, LBR_PACE_EACH))
        return 0;
    return SHARING * times->pace.output.value *
           times->plane[LBR_PACE_EACH].plane.per_queue;
}

/* Until times are known, work is counted in kilotokens. */
static struct lbr_work_terms terms_of(const struct lbr_pick *pick)
{
    const struct lbr_work_times *times = &pick->group->latency_mean.times;
    const struct lbr_least_squares *first = &times->plane[LBR_PACE_FIRST];
    struct lbr_forecast_request request = lbr_latency_request(pick);
    struct lbr_work_terms terms = {
        request.mean_input, 0, 0, RUNNING_WORK, 1, 0, 0, 0};

    terms.input = request.input * lbr_least_work_eviction(times);
    if (!lbr_work_times_known(times, LBR_PACE_FIRST))
        return terms;
    terms.base = first->plane.base;
    terms.per_running = first->plane.per_queue;
    terms.per_work = first->plane.per_input;
    terms.least = lbr_least_squares_floor(first);
    terms.sharing = lbr_least_work_sharing(times);
    terms.now = request.now;
    return terms;
}

/* Kilotokens take the longer the lower the weight. */
static int by_weight(const struct lbr_pick *pick)
{
    return !lbr_work_times_known(&pick->group->latency_mean.times,
                                 LBR_PACE_FIRST);
}

static double *column(const struct lbr_pick *pick, int which)
{
    return lbr_forecast_column(&pick->group->forecast, which);
}

static void weigh(const struct lbr_pick *pick)
{
    double *left = column(pick, LBR_COLUMN_EXPECTED);
    uint32_t count = pick->group->count;
    uint32_t i;

    for (i = 0; i < count; i++)
        left[i] /= lbr_pick_target(pick, i)->weight;
}

/* Lets nobody else be the least. */
static void shut_out(const struct lbr_pick *pick)
{
    double *left = column(pick, LBR_COLUMN_EXPECTED);
    uint32_t i;

    for (i = 0; i < pick->group->count; i++)
        if (!lbr_bits_has(pick->mask, i))
            left[i] = (double)INFINITY;
}

/* The least busy of several with the same work left; whoever is shut out has
 * more than any. */
static uint32_t least_busy(const struct lbr_pick *pick, double work)
{
    const double *left = column(pick, LBR_COLUMN_EXPECTED);
    uint32_t count = pick->group->count;
    uint32_t best = LBR_BITS_NONE;
    uint32_t i;

    for (i = 0; i < count; i++) {
        if (left[i] > work || !lbr_bits_has(pick->mask, i))
            continue;
        if (best == LBR_BITS_NONE || lbr_affinity_less_busy(pick, i, best))
            best = i;
    }
    return best;
}

/* In four strands, so that no comparison waits for the one before. */
static double lowest(const double *left, uint32_t count)
{
    double low[4] = {(double)INFINITY, (double)INFINITY, (double)INFINITY,
                     (double)INFINITY};
    uint32_t i;

    for (i = 0; i + 4 <= count; i += 4) {
        low[0] = left[i] < low[0] ? left[i] : low[0];
        low[1] = left[i + 1] < low[1] ? left[i + 1] : low[1];
        low[2] = left[i + 2] < low[2] ? left[i + 2] : low[2];
        low[3] = left[i + 3] < low[3] ? left[i + 3] : low[3];
    }
    for (; i < count; i++)
        low[0] = left[i] < low[0] ? left[i] : low[0];
    low[0] = low[1] < low[0] ? low[1] : low[0];
    low[2] = low[3] < low[2] ? low[3] : low[2];
    return low[2] < low[0] ? low[2] : low[0];
}

/* The order knows the least busy of all: on an idle fleet that is the one. */
static uint32_t least(const struct lbr_pick *pick)
{
    const double *left = column(pick, LBR_COLUMN_EXPECTED);
    double low = lowest(left, pick->group->count);
    uint32_t i;

    if (!pick->filtered) {
        i = lbr_load_order_first(&pick->group->order);
        if (left[i] <= low)
            return i;
    }
    return least_busy(pick, low);
}

/* Sweeps with what is assumed to be cached. */
static int sweep(const struct lbr_pick *pick,
                 const struct lbr_work_terms *terms, uint32_t many)
{
    int exact = lbr_to_compute_fill(pick, many);

    lbr_forecast_sweep_work(&pick->group->forecast, terms);
    if (by_weight(pick))
        weigh(pick);
    if (pick->eligible < pick->group->count)
        shut_out(pick);
    return exact;
}

static double work_at(const struct lbr_pick *pick,
                      const struct lbr_work_terms *terms, uint32_t position,
                      double uncached)
{
    double work =
        lbr_forecast_work(&pick->group->forecast, position, terms, uncached);

    return by_weight(pick) ? work / lbr_pick_target(pick, position)->weight
                           : work;
}

/* Whether what was assumed of a member is true. If not, it is put right. */
static int confirm(const struct lbr_pick *pick,
                   const struct lbr_work_terms *terms, uint32_t position)
{
    double *assumed = column(pick, LBR_COLUMN_UNCACHED) + position;
    double uncached = lbr_to_compute_at(pick, position);

    if (uncached <= *assumed)
        return 1;
    *assumed = uncached;
    column(pick, LBR_COLUMN_EXPECTED)[position] =
        work_at(pick, terms, position, uncached);
    return 0;
}

/* A head that most prompts share has many holders, more than it takes to find
 * the best: nobody is better than if he held it, so the first of whom that is
 * true is the one. */
static uint32_t least_of_all(const struct lbr_pick *pick)
{
    struct lbr_work_terms terms = terms_of(pick);
    int exact = sweep(pick, &terms, MANY_HOLDERS);
    uint32_t best = least(pick);
    int tries;

    for (tries = 0; !exact && tries < MANY_TRIES; tries++) {
        exact = confirm(pick, &terms, best);
        if (!exact)
            best = least(pick);
    }
    if (exact)
        return best;
    sweep(pick, &terms, UINT32_MAX);
    return least(pick);
}

void lbr_least_work_choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    const struct lbr_work_times *times = &pick->group->latency_mean.times;

    lbr_to_compute_look(pick, EVICTION / lbr_least_work_eviction(times));
    choice->position = least_of_all(pick);
    choice->score = *lbr_forecast_cell(&pick->group->forecast,
                                       LBR_COLUMN_EXPECTED, choice->position);
    choice->rule = LBROUTE_RULE_LEAST_WORK;
    choice->commit = lbr_commit_rank;
}

static void commit(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    lbr_affinity_commit(pick, choice);
    lbr_resident_guess(pick, choice);
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    struct lbr_affinity *affinity = &pick->scale.affinity;
    double score;

    *affinity = lbr_affinity_look(pick);
    pick->scale.known = 1;
    if (pick->ask->chains.count)
        lbr_resident_spread(pick);
    if (pick->look) /* then each member is asked by itself */
        lbr_affinity_survey(pick, affinity);
    lbr_least_work_choose(pick, choice);
    choice->commit = commit;
    score = choice->score;
    lbr_affinity_note(pick, affinity, choice);
    lbr_resident_note(pick, choice);
    choice->score = score;
}

static double score(const struct lbr_pick *pick, uint32_t position)
{
    struct lbr_work_terms terms = terms_of(pick);

    return work_at(pick, &terms, position, lbr_to_compute_at(pick, position));
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
