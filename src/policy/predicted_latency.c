/* SPDX-License-Identifier: MIT */
/* predicted_latency: the lowest latency that a member's own model predicts for
 * this request, inside the least-busy window; load breaks ties. While fewer
 * than half of the members are known, least connections.
 *
 * The window counts requests, in which a fast member is as busy as a slow one.
 * So a member whose model is known may also have what the least busy has in
 * *time*: requests × what it takes for the pool's usual request. A member that
 * is not known is taken for as fast as the known ones on the mean; one without
 * a young sample is tried as under `fastest`. */
#include "policy/affinity.h"
#include "policy/latency.h"

#include "containers/bits.h"

#include <math.h>

/* The group as this request finds it, in columns. */
struct outlook {
    const double *expected; /* NaN: unknown */
    const double *load;     /* relative; +inf: may not be chosen */
    const double *base, *per_input, *least; /* of the planes */
    const double *taught; /* time of the latest sample; NaN: none */
    double usual_input;   /* kilotokens */
    double mean;          /* of what is expected */
    double lowest;        /* load */
    double lowest_time;
    uint32_t count;
};

/* What a member takes for the pool's usual request while nobody waits. */
static double usual_time(const struct outlook *outlook, uint32_t position)
{
    double time = outlook->base[position] +
                  outlook->per_input[position] * outlook->usual_input;

    return time < outlook->least[position] ? outlook->least[position] : time;
}

static void find_lowest(struct outlook *outlook)
{
    double sum = 0;
    uint32_t known = 0;
    uint32_t i;

    outlook->lowest = outlook->lowest_time = (double)INFINITY;
    for (i = 0; i < outlook->count; i++) {
        double load = outlook->load[i];
        double time = load * usual_time(outlook, i);

        outlook->lowest = load < outlook->lowest ? load : outlook->lowest;
        if (!(load < (double)INFINITY) || isnan(outlook->expected[i]))
            continue;
        if (time < outlook->lowest_time)
            outlook->lowest_time = time;
        sum += outlook->expected[i];
        known++;
    }
    outlook->mean = sum / known;
}

static struct outlook look(const struct lbr_pick *pick,
                           enum lbr_latency_kind kind)
{
    struct lbr_forecast *forecast = &pick->group->forecast;
    struct lbr_forecast_request request = lbr_latency_request(pick);
    struct outlook outlook;

    lbr_forecast_sweep(forecast, kind, &request);
    outlook.expected = lbr_forecast_column(forecast, LBR_COLUMN_EXPECTED);
    outlook.base = lbr_forecast_plane(forecast, kind, LBR_PLANE_BASE);
    outlook.per_input = lbr_forecast_plane(forecast, kind, LBR_PLANE_PER_INPUT);
    outlook.least = lbr_forecast_plane(forecast, kind, LBR_PLANE_LEAST);
    outlook.taught = lbr_forecast_column(forecast, LBR_COLUMN_TAUGHT);
    outlook.usual_input = request.mean_input;
    outlook.count = forecast->count;
    outlook.load = lbr_latency_loads(pick);
    find_lowest(&outlook);
    return outlook;
}

static int in_window(const struct outlook *outlook, uint32_t position)
{
    double load = outlook->load[position];

    if (!(load < (double)INFINITY))
        return 0;
    if (lbr_load_in_window(load, outlook->lowest))
        return 1;
    return lbr_load_in_window(load, outlook->lowest_time /
                                        usual_time(outlook, position));
}

static double value_of(const struct outlook *outlook, uint32_t position)
{
    double expected = outlook->expected[position];

    return isnan(expected) ? outlook->mean : expected;
}

static uint32_t best(const struct lbr_pick *pick, const struct outlook *outlook)
{
    uint32_t leader = LBR_BITS_NONE;
    double least = 0;
    uint32_t i;

    for (i = 0; i < outlook->count; i++) {
        double value = value_of(outlook, i);

        if (leader != LBR_BITS_NONE && !(value <= least))
            continue;
        if (!in_window(outlook, i) ||
            (leader != LBR_BITS_NONE && value == least &&
             !lbr_affinity_less_busy(pick, i, leader)))
            continue;
        leader = i;
        least = value;
    }
    return leader;
}

/* The least busy of those that may be tried, or LBR_BITS_NONE. */
static uint32_t trial(const struct lbr_pick *pick,
                      const struct outlook *outlook)
{
    double fresh_since = lbr_latency_fresh_since(pick);
    uint32_t leader = LBR_BITS_NONE;
    uint32_t i;

    for (i = 0; i < outlook->count; i++)
        if (!(outlook->taught[i] >= fresh_since) && in_window(outlook, i) &&
            lbr_latency_idle(pick, i) &&
            (leader == LBR_BITS_NONE ||
             lbr_affinity_less_busy(pick, i, leader)))
            leader = i;
    return leader;
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    enum lbr_latency_kind kind = lbr_latency_rank(pick);
    struct outlook outlook;
    uint32_t position;

    if (kind == LBR_LATENCY_KINDS) {
        lbr_least_connections_choose(pick, choice);
        return;
    }
    outlook = look(pick, kind);
    position = trial(pick, &outlook);
    if (position != LBR_BITS_NONE) {
        lbr_latency_try(choice, position);
        return;
    }
    choice->position = best(pick, &outlook);
    choice->rule = LBROUTE_RULE_PREDICTED_LATENCY;
    choice->score = value_of(&outlook, choice->position);
    choice->commit = lbr_latency_commit;
}

static double score(const struct lbr_pick *pick, uint32_t position)
{
    enum lbr_latency_kind kind = lbr_latency_rank(pick);

    return kind == LBR_LATENCY_KINDS
               ? (double)NAN
               : lbr_latency_expected(pick, position, kind);
}

const struct lbr_strategy lbr_strategy_predicted_latency = {
    .name = "predicted_latency",
    .uses = LBR_USES_ORDER | LBR_USES_FORECAST,
    .promise = LBR_PROMISE_NONE,
    .choose = choose,
    .score = score,
};
