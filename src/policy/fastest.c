/* SPDX-License-Identifier: MIT */
/* fastest: the lowest moving average of successful latencies inside the
 * least-busy window; load breaks ties. A member without a young sample is cold:
 * it is tried, the least busy first, with one request at a time, so that no old
 * outlier hides it. When all are cold and on trial, least connections.
 * The work that waits for a first token keeps a window too, see backlog.h. */
#include "policy/affinity.h"
#include "policy/backlog.h"

#include "containers/bits.h"

#include <math.h>

/* The group as this pick finds it, in columns. */
struct outlook {
    const double *load; /* relative; +inf: may not be chosen */
    const double *average, *taught;
    struct lbr_backlog backlog;
    double fresh_since;
    double lowest; /* load */
    uint32_t count;
};

/* The best so far of each sort of member; LBR_BITS_NONE: none. */
struct leaders {
    uint32_t fast;  /* lowest average */
    uint32_t trial; /* cold and idle, lowest load */
};

static void find_least(struct outlook *outlook)
{
    uint32_t i;

    outlook->lowest = (double)INFINITY;
    for (i = 0; i < outlook->count; i++)
        if (outlook->load[i] < outlook->lowest)
            outlook->lowest = outlook->load[i];
    for (i = 0; i < outlook->count; i++)
        if (lbr_load_in_window(outlook->load[i], outlook->lowest))
            lbr_backlog_count(&outlook->backlog, i);
}

static struct outlook look(const struct lbr_pick *pick)
{
    const struct lbr_forecast *forecast = &pick->group->forecast;
    struct outlook outlook;

    outlook.load = lbr_latency_loads(pick);
    outlook.average = lbr_forecast_column(forecast, LBR_COLUMN_AVERAGE);
    outlook.taught = lbr_forecast_column(forecast, LBR_COLUMN_TAUGHT);
    outlook.backlog = lbr_backlog_look(pick);
    outlook.fresh_since = lbr_latency_fresh_since(pick);
    outlook.count = forecast->count;
    find_least(&outlook);
    return outlook;
}

static int in_window(const struct outlook *outlook, uint32_t position)
{
    return lbr_load_in_window(outlook->load[position], outlook->lowest) &&
           lbr_backlog_in_window(&outlook->backlog, position);
}

static void take_less_busy(const struct lbr_pick *pick, uint32_t *leader,
                           uint32_t rival)
{
    if (*leader == LBR_BITS_NONE ||
        lbr_affinity_less_busy(pick, rival, *leader))
        *leader = rival;
}

static void take_faster(const struct lbr_pick *pick,
                        const struct outlook *outlook, uint32_t *leader,
                        uint32_t rival)
{
    double own = outlook->average[rival];

    if (*leader == LBR_BITS_NONE || own < outlook->average[*leader])
        *leader = rival;
    else if (own == outlook->average[*leader])
        take_less_busy(pick, leader, rival);
}

static struct leaders survey(const struct lbr_pick *pick)
{
    struct leaders leaders = {LBR_BITS_NONE, LBR_BITS_NONE};
    struct outlook outlook = look(pick);
    uint32_t i;

    for (i = 0; i < outlook.count; i++) {
        if (!in_window(&outlook, i))
            continue;
        if (outlook.taught[i] >= outlook.fresh_since)
            take_faster(pick, &outlook, &leaders.fast, i);
        else if (lbr_latency_idle(pick, i))
            take_less_busy(pick, &leaders.trial, i);
    }
    return leaders;
}

static double average(const struct lbr_pick *pick, uint32_t position)
{
    return *lbr_forecast_cell(&pick->group->forecast, LBR_COLUMN_AVERAGE,
                              position);
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
