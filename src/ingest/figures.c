/* SPDX-License-Identifier: MIT */
#include "ingest/figures.h"

#include <lbroute/ingest.h>
#include <math.h>

/* A cache that is a little more than full by rounding is full; figures far
 * above are of another unit. */
#define FULL_BY_ROUNDING 1.05

/* The ranges of the gauges, in lbroute.h. */
static const double largest[LBR_TELLS_USED + 1] = {
    [LBROUTE_GAUGE_RUNNING] = 1e9,      [LBROUTE_GAUGE_WAITING] = 1e9,
    [LBROUTE_GAUGE_KV_USAGE] = 1,       [LBROUTE_GAUGE_PREFIX_QUERIES] = 1e18,
    [LBROUTE_GAUGE_PREFIX_HITS] = 1e18, [LBROUTE_GAUGE_KV_BLOCKS] = 1e12,
    [LBROUTE_GAUGE_BLOCK_TOKENS] = 1e6, [LBR_TELLS_USED] = 1e12,
};

double lbr_figure_clean(unsigned tells, double value, int *reason)
{
    if (isnan(value) || isinf(value)) {
        *reason = LBROUTE_DIAG_NOT_FINITE;
        return (double)NAN;
    }
    if (value >= 0 && value <= largest[tells])
        return value;
    *reason = LBROUTE_DIAG_RANGE;
    if (value < 0)
        return 0;
    if (tells == LBROUTE_GAUGE_KV_USAGE && value <= FULL_BY_ROUNDING)
        return 1;
    return (double)NAN;
}

/* A sum lacks what it does not know of; a mean or a maximum does without. */
static double figure_of(const struct lbr_series_total *total, unsigned how)
{
    if (how == LBR_TOTAL_ONE)
        return 1;
    if (!total->known || (how == LBR_TOTAL_SUM && total->unknown))
        return (double)NAN;
    if (how == LBR_TOTAL_MEAN)
        return total->sum / total->known;
    return how == LBR_TOTAL_SUM ? total->sum : total->largest;
}

/* The figure of the first name on the page that knows it. Returns whether any
 * name is there. */
static int find_figure(const struct lbr_series_total *totals, unsigned tells,
                       double *value)
{
    int said = 0;
    unsigned row;

    *value = (double)NAN;
    for (row = 0; row < LBR_METRICS && isnan(*value); row++) {
        const struct lbr_metric *metric = &lbr_metrics[row];

        if (metric->tells != tells ||
            !(totals[row].known + totals[row].unknown))
            continue;
        said = 1;
        *value = figure_of(&totals[row], metric->total);
        if (*value > largest[tells])
            *value = (double)NAN;
    }
    return said;
}

/* Where an engine prints no usage, it is what is used of what there is. */
static void derive_usage(const struct lbr_series_total *totals,
                         struct lbr_figures *figures)
{
    double blocks = figures->values[LBROUTE_GAUGE_KV_BLOCKS];
    double used;

    if (figures->given >> LBROUTE_GAUGE_KV_USAGE & 1 ||
        !find_figure(totals, LBR_TELLS_USED, &used) || !(blocks > 0) ||
        isnan(used))
        return;
    figures->values[LBROUTE_GAUGE_KV_USAGE] = used < blocks ? used / blocks : 1;
    figures->given |= 1U << LBROUTE_GAUGE_KV_USAGE;
}

void lbr_figures_resolve(const struct lbr_series_table *table,
                         struct lbr_figures *figures)
{
    struct lbr_series_total totals[LBR_METRICS];
    unsigned gauge;

    lbr_series_totals(table, totals);
    figures->given = 0;
    for (gauge = 0; gauge < LBROUTE_GAUGE_COUNT; gauge++)
        if (find_figure(totals, gauge, &figures->values[gauge]))
            figures->given |= 1U << gauge;
    derive_usage(totals, figures);
}
