/* SPDX-License-Identifier: MIT */
#include "state/target.h"

#include "state/pool.h"

#include <math.h>

uint32_t lbr_target_limit(const struct lbr_target *target)
{
    uint32_t own = target->max_concurrency;
    uint32_t cap = target->pool->cap;

    if (!own || !cap)
        return own ? own : cap;
    return own < cap ? own : cap;
}

static uint32_t open_ceiling(const struct lbr_target *target)
{
    uint32_t limit = lbr_target_limit(target);

    return limit ? limit : UINT32_MAX;
}

void lbr_target_set_ceiling(struct lbr_target *target)
{
    if (target->ceiling)
        target->ceiling = open_ceiling(target);
}

static void renew_ceiling(struct lbr_target *target, uint64_t now,
                          uint64_t *until)
{
    target->ceiling = open_ceiling(target);
    if (!lbr_target_closed(target, now))
        return;
    target->ceiling = 0;
    if (target->closed_until < *until)
        *until = target->closed_until;
}

void lbr_target_renew(struct lbr_target *target, uint64_t now, uint64_t *until)
{
    struct lbr_faded ramp =
        lbr_fade_in(now, target->ramp_since, target->pool->params.slow_start);

    target->weight_now = target->weight * ramp.value;
    target->in_service = !lbr_target_drained(target) &&
                         !lbr_health_benched(&target->health, now);
    renew_ceiling(target, now, until);
    if (ramp.until < *until)
        *until = ramp.until;
    if (lbr_health_benched(&target->health, now) &&
        target->health.bench_until < *until)
        *until = target->health.bench_until;
}

double lbr_target_latency(const struct lbr_target *target, uint64_t now)
{
    const struct lbr_ewma *average = &target->latency.average[LBR_TOTAL];

    if (!lbr_ewma_fresh(average, now, target->pool->params.fastest_age))
        return (double)NAN;
    return average->value;
}
