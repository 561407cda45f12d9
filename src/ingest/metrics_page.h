/* SPDX-License-Identifier: MIT */
/* Reads a metrics page line by line and keeps what is known of it. */
#ifndef LBR_INGEST_METRICS_PAGE_H
#define LBR_INGEST_METRICS_PAGE_H

#include "ingest/sample.h"
#include "ingest/series.h"

#include <lbroute/ingest.h>

struct lbr_metrics_page {
    struct lbr_series_table series;
    struct lbr_sample adapters; /* the newest series of them … */
    int adapters_seen;          /* … if there is any */
    lbroute_diag diag;

    struct lbr_sample sample; /* of the latest line … */
    unsigned row;             /* … and where its name stands */
};

/* |text| must outlive the page. */
void lbr_metrics_page_read(struct lbr_metrics_page *page, const char *text,
                           size_t length);

#endif
