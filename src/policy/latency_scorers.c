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

/* What its latency gives a member, NaN if that is unknown. */
static double score(const struct lbr_pick *pick, enum lbr_latency_scorer which,
                    uint32_t position)
{
    double lowest = pick->scale.latency[which].lowest;
    double own = latency(pick, which, position);

    return own <= lowest ? 1 : lowest / own;
}

static double average_score(const struct lbr_pick *pick, uint32_t position)
{
    return score(pick, LBR_SCORER_AVERAGE, position);
}

static double predicted_score(const struct lbr_pick *pick, uint32_t position)
{
    return score(pick, LBR_SCORER_PREDICTED, position);
}

static double (*const score_of[LBR_LATENCY_SCORERS])(
    const struct lbr_pick *pick, uint32_t position) = {average_score,
                                                       predicted_score};

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
            pick->scale.latency[which].mean =
                lbr_pick_mean(pick, score_of[which]);
        }
}

double lbr_latency_scorers_sum(const struct lbr_pick *pick, uint32_t position)
{
    double sum = 0;
    int which;

    for (which = 0; which < LBR_LATENCY_SCORERS; which++) {
        double weight = weight_of(pick, (enum lbr_latency_scorer)which);
        double mean = pick->scale.latency[which].mean;
        double own;

        if (!(weight > 0) || isnan(mean))
            continue;
        own = score_of[which](pick, position);
        sum += weight * (isnan(own) ? mean : own);
    }
    return sum;
}
