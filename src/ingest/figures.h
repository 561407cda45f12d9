/* SPDX-License-Identifier: MIT */
/* From the series of a page to one figure for each gauge. */
#ifndef LBR_INGEST_FIGURES_H
#define LBR_INGEST_FIGURES_H

#include "ingest/series.h"

struct lbr_figures {
    double values[LBROUTE_GAUGE_COUNT]; /* NaN: said, but not known */
    uint32_t given;                     /* bits: what the page says */
};

/* What one series may say of |tells|: negative is 0, too large unknown (NaN).
 * |*reason| becomes the LBROUTE_DIAG_ reason if the value was not taken as it
 * stands. */
double lbr_figure_clean(unsigned tells, double value, int *reason);

void lbr_figures_resolve(const struct lbr_series_table *table,
                         struct lbr_figures *figures);

#endif
