/* SPDX-License-Identifier: MIT */
/* What was reported of the cache that a target offloads to. */
#ifndef LBR_STATE_CACHE_REPORT_H
#define LBR_STATE_CACHE_REPORT_H

#include "base/clock.h"

struct lbr_cache_report {
    double occupancy; /* 0 to 1, NaN: unknown */
    int available;
    int reported; /* ever */
    uint64_t at;
};

/* Whether there was a report that is too old to count at |now|. */
static inline int lbr_cache_stale(const struct lbr_cache_report *report,
                                  uint64_t now, uint64_t ttl)
{
    return report->reported && lbr_time_since(now, report->at) > ttl;
}

/* Whether there is a report that counts. */
static inline int lbr_cache_known(const struct lbr_cache_report *report,
                                  uint64_t now, uint64_t ttl)
{
    return report->reported && !lbr_cache_stale(report, now, ttl);
}

#endif
