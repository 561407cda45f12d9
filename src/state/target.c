/* SPDX-License-Identifier: MIT */
#include "state/target.h"

#include "state/pool.h"

#include <math.h>

void lbr_target_renew(struct lbr_target *target, uint64_t now, uint64_t *until)
{
    struct lbr_faded ramp =
        lbr_fade_in(now, target->ramp_since, target->pool->params.slow_start);

    target->weight_now = target->weight * ramp.value;
    target->in_service = !lbr_target_drained(target) &&
                         !lbr_health_benched(&target->health, now);
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
