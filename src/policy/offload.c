/* SPDX-License-Identifier: MIT */
#include "policy/offload.h"

#include "policy/lookup.h"

#include <math.h>

static const struct lbr_cache_report *report_of(const struct lbr_pick *pick,
                                                uint32_t position)
{
    return &lbr_pick_target(pick, position)->cache;
}

static uint64_t ttl_of(const struct lbr_pick *pick)
{
    return pick->scope.pool->params.lmcache_ttl;
}

int lbr_offload_lost(const struct lbr_pick *pick, uint32_t position)
{
    const struct lbr_cache_report *report = report_of(pick, position);

    return report->reported &&
           (!report->available ||
            lbr_cache_stale(report, pick->now, ttl_of(pick)));
}

uint64_t lbr_offload_matched(const struct lbr_pick *pick, uint32_t position)
{
    if (lbr_offload_lost(pick, position))
        return 0;
    return lbr_lookup_tokens(pick, position);
}

double lbr_offload_part(const struct lbr_pick *pick, uint32_t position)
{
    uint64_t total = pick->ask->input_tokens;

    if (total == LBR_TOKENS_UNKNOWN || total < pick->longest_match)
        total = pick->longest_match;
    return (double)lbr_offload_matched(pick, position) / (double)total;
}

double lbr_offload_free(const struct lbr_pick *pick, uint32_t position)
{
    const struct lbr_cache_report *report = report_of(pick, position);

    if (!lbr_cache_known(report, pick->now, ttl_of(pick)) || !report->available)
        return (double)NAN;
    return 1 - report->occupancy;
}
