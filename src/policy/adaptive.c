/* SPDX-License-Identifier: MIT */
/* adaptive: the best blend of latency, cost and load inside the least-busy
 * window, which the work that waits keeps too, see backlog.h. Each signal is
 * stretched so that its lowest value is 1 and its highest 0; what is unknown of
 * a member counts as the mean of the others. A signal without spread, as one
 * that nobody has, says nothing: it is left out, and the others' weights make
 * up the whole. Now and then any member of the window gets its chance, so that
 * a target whose bad days are over is found out.
 *
 * Until it knows enough, and while the router's switch is off, it is the
 * pipeline; the prompts that the pipeline follows are remembered all along.
 * Trials therefore draw from a generator of their own: the pipeline's ties must
 * not depend on them. */
#include "policy/affinity.h"
#include "policy/backlog.h"
#include "policy/cost.h"

#include "base/hash.h"
#include "containers/bits.h"

#include <math.h>

/* A smaller part than this of the highest value is no spread: stretched, the
 * jitter of equal targets would outvote everything else. */
#define LEAST_SPREAD 0.01

/* So many members must be known before there is anything to compare. */
#define LEAST_KNOWN 2

/* Who is among the least busy, by load and by work that waits. */
struct window {
    struct lbr_affinity affinity;
    struct lbr_backlog backlog;
};

static const struct lbr_params *params_of(const struct lbr_pick *pick)
{
    return &pick->scope.pool->params;
}

static double weight_of(const struct lbr_params *params, int signal)
{
    switch (signal) {
    case LBR_SIGNAL_LATENCY:
        return params->adaptive.latency;
    case LBR_SIGNAL_COST:
        return params->adaptive.cost;
    default:
        return params->adaptive.load;
    }
}

/* Notes at a member what is known of it. */
static void note_signals(const struct lbr_pick *pick, uint32_t position)
{
    struct lbr_target *target = lbr_pick_target(pick, position);
    struct lbr_wide cost;

    target->blended[LBR_SIGNAL_LATENCY] = lbr_target_latency(target, pick->now);
    target->blended[LBR_SIGNAL_COST] = lbr_cost_of(pick, target, &cost)
                                           ? lbr_wide_to_double(cost)
                                           : (double)NAN;
    target->blended[LBR_SIGNAL_LOAD] = lbr_affinity_load(pick, position);
}

static int is_known(const struct lbr_pick *pick, struct lbr_target *target)
{
    const struct lbr_params *params = params_of(pick);
    struct lbr_wide cost;

    return (params->adaptive.latency > 0 &&
            !isnan(lbr_target_latency(target, pick->now))) ||
           (params->adaptive.cost > 0 && lbr_cost_of(pick, target, &cost));
}

static int knows_enough(const struct lbr_pick *pick)
{
    uint32_t count = pick->group->count;
    uint32_t known = 0;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0);
         i != LBR_BITS_NONE && known < LEAST_KNOWN;
         i = lbr_bits_next(pick->mask, count, i + 1))
        known += (uint32_t)is_known(pick, lbr_pick_target(pick, i));
    return known >= LEAST_KNOWN;
}

static struct window look(struct lbr_pick *pick)
{
    struct window window = {lbr_affinity_look(pick), lbr_backlog_look(pick)};
    uint32_t count = pick->group->count;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1))
        if (lbr_affinity_in_window(pick, &window.affinity, i))
            lbr_backlog_count(&window.backlog, i);
    return window;
}

static int in_window(const struct lbr_pick *pick, const struct window *window,
                     uint32_t position)
{
    return lbr_affinity_in_window(pick, &window->affinity, position) &&
           lbr_backlog_in_window(&window->backlog, position);
}

/* The next member of the window from |position| on, or LBR_BITS_NONE. */
static uint32_t next_in_window(const struct lbr_pick *pick,
                               const struct window *window, uint32_t position)
{
    uint32_t count = pick->group->count;
    uint32_t i = lbr_bits_next(pick->mask, count, position);

    while (i != LBR_BITS_NONE && !in_window(pick, window, i))
        i = lbr_bits_next(pick->mask, count, i + 1);
    return i;
}

/* Counts a member's value of a signal among those of the window. */
static void count_value(struct lbr_blended *blended, double value)
{
    if (isnan(value))
        return;
    blended->lowest = fmin(blended->lowest, value);
    blended->highest = fmax(blended->highest, value);
    blended->mean += value; /* a sum until all are counted */
    blended->known++;
}

/* After that: its mean, and its weight if it tells anybody apart. */
static void weigh(struct lbr_blended *blended, double weight)
{
    if (!blended->known ||
        blended->highest - blended->lowest <= LEAST_SPREAD * blended->highest)
        return;
    blended->mean = fmax(blended->lowest, fmin(blended->highest,
                                               blended->mean / blended->known));
    blended->weight = weight;
}

/* Notes what is known of all members; sums it up over the window. */
static void survey(struct lbr_pick *pick, const struct window *window)
{
    uint32_t count = pick->group->count;
    int signal;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        note_signals(pick, i);
        if (!in_window(pick, window, i))
            continue;
        for (signal = 0; signal < LBR_SIGNAL_COUNT; signal++)
            count_value(&pick->blend.signals[signal],
                        lbr_pick_target(pick, i)->blended[signal]);
    }
}

static void set_blend(struct lbr_pick *pick, const struct window *window)
{
    struct lbr_blend *blend = &pick->blend;
    int signal;

    blend->known = 1;
    blend->weights = 0;
    for (signal = 0; signal < LBR_SIGNAL_COUNT; signal++)
        blend->signals[signal] =
            (struct lbr_blended){0, (double)INFINITY, 0, 0, 0};
    survey(pick, window);
    for (signal = 0; signal < LBR_SIGNAL_COUNT; signal++) {
        weigh(&blend->signals[signal], weight_of(params_of(pick), signal));
        blend->weights += blend->signals[signal].weight;
    }
}

/* 0 … 1, and 1 where nothing tells the members apart. Outside the window a
 * member may be better or worse than all in it. */
static double blend_score(const struct lbr_pick *pick, uint32_t position)
{
    double sum = 0;
    int signal;

    for (signal = 0; signal < LBR_SIGNAL_COUNT; signal++) {
        const struct lbr_blended *blended = &pick->blend.signals[signal];
        double value;

        if (!(blended->weight > 0))
            continue;
        value = lbr_pick_target(pick, position)->blended[signal];
        if (isnan(value))
            value = blended->mean;
        sum += blended->weight * ((blended->highest - value) /
                                  (blended->highest - blended->lowest));
    }
    return pick->blend.weights > 0 ? sum / pick->blend.weights : 1;
}

static uint32_t best_of_window(const struct lbr_pick *pick,
                               const struct window *window)
{
    uint32_t best = next_in_window(pick, window, 0);
    double highest = blend_score(pick, best);
    uint32_t i;

    for (i = next_in_window(pick, window, best + 1); i != LBR_BITS_NONE;
         i = next_in_window(pick, window, i + 1)) {
        double score = blend_score(pick, i);

        if (score < highest ||
            (score == highest && !lbr_affinity_less_busy(pick, i, best)))
            continue;
        best = i;
        highest = score;
    }
    return best;
}

/* A member for a trial, or LBR_BITS_NONE when it is no time for one. */
static uint32_t trial(const struct lbr_pick *pick, const struct window *window)
{
    const struct lbr_pool *pool = pick->scope.pool;
    struct lbr_rng rng;
    uint32_t members = 0;
    uint32_t rank;
    uint32_t i;

    lbr_rng_init(
        &rng, lbr_hash_pair(lbr_hash_seeded(pool->name.bytes, pool->name.length,
                                            pick->router->trial_seed),
                            lbr_pool_picks(pool)));
    if (lbr_rng_next(&rng) / 4294967296.0 >= pool->params.adaptive.exploration)
        return LBR_BITS_NONE;
    for (i = next_in_window(pick, window, 0); i != LBR_BITS_NONE;
         i = next_in_window(pick, window, i + 1))
        members++;
    rank = lbr_rng_below(&rng, members);
    i = next_in_window(pick, window, 0);
    while (rank--)
        i = next_in_window(pick, window, i + 1);
    return i;
}

static void blend(struct lbr_pick *pick, struct lbr_choice *choice)
{
    struct window window = look(pick);

    set_blend(pick, &window);
    choice->rule = LBROUTE_RULE_EXPLORE;
    choice->position = trial(pick, &window);
    if (choice->position == LBR_BITS_NONE) {
        choice->rule = LBROUTE_RULE_ADAPTIVE;
        choice->position = best_of_window(pick, &window);
    }
    choice->commit = lbr_affinity_commit;
    lbr_affinity_note(pick, &window.affinity, choice);
    choice->score = blend_score(pick, choice->position);
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    if (pick->router->adaptive_off ||
        lbr_pool_picks(pick->scope.pool) <
            params_of(pick)->adaptive.min_picks ||
        !knows_enough(pick))
        lbr_strategy_pipeline.choose(pick, choice);
    else
        blend(pick, choice);
}

static double score(const struct lbr_pick *pick, uint32_t position)
{
    if (!pick->blend.known)
        return lbr_strategy_pipeline.score(pick, position);
    return lbr_bits_has(pick->mask, position) ? blend_score(pick, position)
                                              : (double)NAN;
}

/* All but the name and the choice as of the pipeline. */
const struct lbr_strategy lbr_strategy_adaptive = {
    .name = "adaptive",
    .uses = LBR_USES_ORDER | LBR_USES_TRIE | LBR_USES_FORECAST,
    .promise = LBR_PROMISE_NONE,
    .pins = LBR_PINS_SESSIONS,
    .calls_stages = 1,
    .learns_adapters = 1,
    .choose = choose,
    .score = score,
};
