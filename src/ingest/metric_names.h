/* SPDX-License-Identifier: MIT */
/* The one table of the metric names that are read, and what each says. */
#ifndef LBR_INGEST_METRIC_NAMES_H
#define LBR_INGEST_METRIC_NAMES_H

#include "base/text.h"

/* What a metric tells: a gauge by its number, or one of these. */
enum {
    LBR_TELLS_USED = LBROUTE_GAUGE_COUNT, /* blocks in use, of KV_BLOCKS */
    LBR_TELLS_ADAPTERS                    /* adapters at work, as labels */
};

/* How the series of one name become one figure. */
enum lbr_total {
    LBR_TOTAL_SUM,
    LBR_TOTAL_MEAN,
    LBR_TOTAL_MAX,
    LBR_TOTAL_ONE /* 1, whatever they say */
};

struct lbr_metric {
    struct lbr_text name;
    uint8_t tells;
    uint8_t total;     /* enum lbr_total */
    const char *label; /* NULL: all series, by their value */
    const char *only;  /* those whose label has this value; NULL: all, and the
                        * label's value is the figure */
};

/* In order of preference: of several names that tell the same, the first that
 * is on a page counts. Rows of the same name follow each other. */
#define LBR_METRICS 44
extern const struct lbr_metric lbr_metrics[LBR_METRICS];

/* The first row of that exact name, LBR_METRICS if there is none. */
unsigned lbr_metric_find(struct lbr_text name);

/* Whether a row has the same name as the one before it. */
int lbr_metric_goes_on(unsigned row);

#endif
