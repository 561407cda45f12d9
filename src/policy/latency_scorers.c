/* SPDX-License-Identifier: MIT */
#include "policy/latency_scorers.h"

#include "containers/bits.h"

#include <math.h>

/* A member's latency as a scorer sees it; NaN: unknown. */
static double latency(const struct lbr_pick *pick,
                      enum lbr_latency_scorer which, uint32_t position)
{
    enum lbr_latency_kind kind = pick->scale.latency_kind;

    if (which == LBR_SCORER_AVERAGE)
        return lbr_latency_stale(pick, position)
                   ? (double)NAN
                   : *lbr_forecast_cell(&pick->group->forecast,
                                        LBR_COLUMN_AVERAGE, position);
    return kind == LBR_LATENCY_KINDS
               ? (double)NAN
               : lbr_latency_expected(pick, position, kind);
}

static double score(const struct lbr_pick *pick, enum lbr_latency_scorer which,
                    uint32_t position)
{
    const struct lbr_latency_scale *scale = &pick->scale.latency[which];
    double own = latency(pick, which, position);

    if (isnan(own))
        return scale->mean;
    return own > scale->lowest ? scale->lowest / own : 1;
}

static void find_lowest(struct lbr_pick *pick, enum lbr_latency_scorer which)
{
    struct lbr_latency_scale *scale = &pick->scale.latency[which];
    uint32_t count = pick->group->count;
    uint32_t i;

    scale->lowest = (double)INFINITY;
    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        double own = latency(pick, which, i);

        if (own < scale->lowest)
            scale->lowest = own;
    }
}

/* Rounding must not put the mean above the best. */
static void find_mean(struct lbr_pick *pick, enum lbr_latency_scorer which)
{
    uint32_t count = pick->group->count;
    double sum = 0;
    uint32_t known = 0;
    uint32_t i;

    pick->scale.latency[which].mean = 0;
    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        if (isnan(latency(pick, which, i)))
            continue;
        sum += score(pick, which, i);
        known++;
    }
    if (known)
        pick->scale.latency[which].mean = fmin(sum / known, 1);
}

static double weight_of(const struct lbr_pick *pick,
                        enum lbr_latency_scorer which)
{
    const struct lbr_params *params = &pick->scope.pool->params;

    return which == LBR_SCORER_AVERAGE ? params->pipeline.latency
                                       : params->pipeline.predicted;
}

void lbr_latency_scorers_begin(struct lbr_pick *pick)
{
    int which;

    pick->scale.latency_kind = lbr_latency_rank(pick);
    for (which = 0; which < LBR_LATENCY_SCORERS; which++)
        if (weight_of(pick, (enum lbr_latency_scorer)which) > 0) {
            find_lowest(pick, (enum lbr_latency_scorer)which);
            find_mean(pick, (enum lbr_latency_scorer)which);
        }
}

double lbr_latency_scorers_sum(const struct lbr_pick *pick, uint32_t position)
{
    double sum = 0;
    int which;

    for (which = 0; which < LBR_LATENCY_SCORERS; which++) {
        double weight = weight_of(pick, (enum lbr_latency_scorer)which);

        if (weight > 0)
            sum +=
                weight * score(pick, (enum lbr_latency_scorer)which, position);
    }
    return sum;
}
