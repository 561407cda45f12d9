/* SPDX-License-Identifier: MIT */
/* fastest: the lowest moving average of successful latencies inside the
 * least-busy window; load breaks ties. A member without a young sample is cold:
 * it is tried, the least busy first, with one request at a time, so that no old
 * outlier hides it. When all are cold and on trial, least connections.
 *
 * An average moves only when answers come, and until then everything would go
 * to one member: at high load the window alone lets dozens of prompts pile up
 * there. So the same window holds for the work that waits for a first token. */
#include "policy/affinity.h"
#include "policy/latency.h"

#include "containers/bits.h"

#include <math.h>

/* The best so far of each sort of member; LBR_BITS_NONE: none. */
struct leaders {
    uint32_t fast;  /* lowest average */
    uint32_t trial; /* cold and idle, lowest load */
};

/* The least of the eligible members. */
struct window {
    double load, waiting;
};

static double average(const struct lbr_pick *pick, uint32_t position)
{
    return *lbr_forecast_cell(&pick->group->forecast, LBR_COLUMN_AVERAGE,
                              position);
}

static void take_less_busy(const struct lbr_pick *pick, uint32_t *leader,
                           uint32_t rival)
{
    if (*leader == LBR_BITS_NONE ||
        lbr_affinity_less_busy(pick, rival, *leader))
        *leader = rival;
}

static void take_faster(const struct lbr_pick *pick, uint32_t *leader,
                        uint32_t rival)
{
    if (*leader == LBR_BITS_NONE ||
        average(pick, rival) < average(pick, *leader))
        *leader = rival;
    else if (average(pick, rival) == average(pick, *leader))
        take_less_busy(pick, leader, rival);
}

/* Work that waits at a member, in usual requests. */
static double waiting(const struct lbr_pick *pick, uint32_t position)
{
    double usual = pick->group->latency_mean.input;
    double queue = lbr_forecast_queue(&pick->group->forecast, position, usual);

    return usual > 0 ? queue / usual : 0;
}

static struct window find_window(const struct lbr_pick *pick)
{
    struct window window = {lbr_pick_lowest_load(pick), (double)INFINITY};
    uint32_t count = pick->group->count;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1))
        if (lbr_load_in_window(lbr_affinity_load(pick, i), window.load))
            window.waiting = fmin(window.waiting, waiting(pick, i));
    return window;
}

static int in_window(const struct lbr_pick *pick, struct window window,
                     uint32_t position)
{
    return lbr_load_in_window(lbr_affinity_load(pick, position), window.load) &&
           lbr_load_in_window(waiting(pick, position), window.waiting);
}

static struct leaders survey(const struct lbr_pick *pick)
{
    struct leaders leaders = {LBR_BITS_NONE, LBR_BITS_NONE};
    struct window window = find_window(pick);
    uint32_t count = pick->group->count;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        if (!in_window(pick, window, i))
            continue;
        if (!lbr_latency_stale(pick, i))
            take_faster(pick, &leaders.fast, i);
        else if (lbr_latency_idle(pick, i))
            take_less_busy(pick, &leaders.trial, i);
    }
    return leaders;
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    struct leaders leaders = survey(pick);

    if (leaders.trial != LBR_BITS_NONE) {
        lbr_latency_try(choice, leaders.trial);
        return;
    }
    if (leaders.fast == LBR_BITS_NONE) {
        lbr_least_connections_choose(pick, choice);
        return;
    }
    choice->position = leaders.fast;
    choice->rule = LBROUTE_RULE_FASTEST;
    choice->score = average(pick, leaders.fast);
    choice->commit = lbr_latency_commit;
}

static double score(const struct lbr_pick *pick, uint32_t position)
{
    return lbr_latency_stale(pick, position) ? (double)NAN
                                             : average(pick, position);
}

const struct lbr_strategy lbr_strategy_fastest = {
    .name = "fastest",
    .uses = LBR_USES_ORDER | LBR_USES_FORECAST,
    .promise = LBR_PROMISE_NONE,
    .choose = choose,
    .score = score,
};
