/* SPDX-License-Identifier: MIT */
/* The series of a page that are read: each distinct set of labels once.
 *
 *     index: hash ─▶ entry + 1        entries: [ key value ][ key value ] …
 *
 * A key is the hash of a set of labels with the row of its metric below. The
 * table is as large as pages of big deployments need; a page with more series
 * than that has none of the figures whose series did not fit. */
#ifndef LBR_INGEST_SERIES_H
#define LBR_INGEST_SERIES_H

#include "ingest/metric_names.h"

#define LBR_SERIES_MOST 1536
#define LBR_SERIES_INDEX 4096 /* a power of two, more than twice that */

struct lbr_series {
    uint64_t key;
    double value; /* NaN: unknown */
};

struct lbr_series_table {
    uint16_t index[LBR_SERIES_INDEX]; /* 0: empty */
    uint32_t count;
    uint64_t overflowed; /* bits by row */
    struct lbr_series entries[LBR_SERIES_MOST];
};

enum lbr_series_result {
    LBR_SERIES_ADDED,
    LBR_SERIES_REPEATED, /* the larger value stays, an unknown one even more */
    LBR_SERIES_FULL
};

void lbr_series_init(struct lbr_series_table *table);

/* Adds the value of a series of the metric |row|. */
enum lbr_series_result lbr_series_add(struct lbr_series_table *table,
                                      unsigned row, uint64_t labels,
                                      double value);

/* All series of one row together. */
struct lbr_series_total {
    double sum, largest; /* of the known ones */
    uint32_t known, unknown;
};

void lbr_series_totals(const struct lbr_series_table *table,
                       struct lbr_series_total totals[LBR_METRICS]);

#endif
