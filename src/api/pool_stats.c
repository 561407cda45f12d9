/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "state/router.h"

#include <math.h>

void lbroute_pool_stats_init(lbroute_pool_stats *stats, size_t size)
{
    lbroute_pool_stats defaults = {0};

    lbr_abi_init(stats, size, &defaults, sizeof defaults);
}

static void collect_admission(const struct lbr_pool *pool, uint64_t now,
                              lbroute_pool_stats *stats)
{
    struct lbr_admission admission = pool->admission;

    stats->mode = (int32_t)pool->params.admission.mode;
    stats->mode_changes = pool->admission.changes;
    stats->arrivals = (double)NAN;
    if (pool->params.admission.mode != LBR_ADMIT_HYBRID)
        return;
    stats->busy = pool->admission.busy;
    lbr_admission_advance(&admission, now);
    stats->arrivals = admission.arrivals / (LBR_ADMISSION_WINDOW / 1e9);
}

/* Groups work side by side. */
static void collect_groups(const struct lbr_pool *pool,
                           lbroute_pool_stats *stats)
{
    const struct lbr_group *group = pool->groups;
    double rate = 0;
    uint32_t i;

    for (; group; group = group->next) {
        uint64_t in_flight = lbr_group_in_flight(group);
        double gap = lbr_throughput_gap(&group->throughput, in_flight);

        stats->in_flight += in_flight;
        if (group->room)
            stats->waiting += group->room->count;
        for (i = 0; i < group->count; i++)
            stats->limit += lbr_target_limit(group->members[i]);
        if (gap > 0)
            rate += 1 / gap;
    }
    stats->slot_gap_ns = rate > 0 ? 1 / rate : (double)NAN;
}

static void collect(const struct lbr_pool *pool, uint64_t now,
                    lbroute_pool_stats *stats)
{
    collect_admission(pool, now, stats);
    collect_groups(pool, stats);
    stats->queued = pool->waits.queued;
    stats->queue_served = pool->waits.served;
    stats->queue_timeouts = pool->waits.timed_out;
    stats->queue_cancelled = pool->waits.cancelled;
    stats->queue_refused = pool->waits.refused;
}

int lbroute_get_pool_stats(lbroute_router *router, lbroute_pool handle,
                           lbroute_pool_stats *out)
{
    lbroute_pool_stats stats = {0};
    const struct lbr_pool *pool;

    if (!router || !lbr_abi_valid(out))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    pool = lbr_router_pool(router, handle);
    if (pool)
        collect(pool, router->clock, &stats);
    (void)lbr_router_leave(router, LBROUTE_OK);
    return pool ? lbr_abi_write(out, &stats, sizeof stats)
                : LBROUTE_ERR_NOT_FOUND;
}
