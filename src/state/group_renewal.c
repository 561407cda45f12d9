/* SPDX-License-Identifier: MIT */
/* What depends on time or on requests in flight: who is usable, how busy, and
 * with what weight. */
#include "state/group.h"

#include "base/clock.h"
#include "containers/bits.h"
#include "state/pool.h"

#include <math.h>

/* How far a member is from its full weight. One without a weight takes no part.
 */
static void show_stretch(const struct lbr_target *target,
                         const struct lbr_group *group, uint32_t position)
{
    *lbr_forecast_cell(&group->forecast, LBR_COLUMN_STRETCH, position) =
        target->weight_now == target->weight
            ? 1
            : target->weight / target->weight_now;
}

/* Shows picks whether a member may be used, and how busy it is. */
static void show(const struct lbr_target *target, struct lbr_member *member)
{
    struct lbr_group *group = member->group;
    int usable = lbr_target_usable(target);

    if (usable != lbr_bits_has(group->usable, member->position)) {
        if (usable)
            lbr_bits_set(group->usable, member->position);
        else
            lbr_bits_clear(group->usable, member->position);
        group->usable_count += usable ? 1U : UINT32_MAX;
        if (group->uses & LBR_USES_SCHEDULE)
            lbr_schedule_set_active(&group->schedule, &member->turn, usable);
        if (group->uses & LBR_USES_ROTATION)
            lbr_rotation_set_active(&group->rotation, &member->place, usable);
    }
    if (group->uses & LBR_USES_ORDER)
        lbr_load_order_set(&group->order, member->position,
                           usable ? lbr_target_relative_load(target)
                                  : (double)INFINITY);
    if (group->uses & LBR_USES_PACE)
        *lbr_forecast_cell(&group->forecast, LBR_COLUMN_RUNNING,
                           member->position) = lbr_target_load(target);
}

void lbr_target_moved(struct lbr_target *target, double load_change)
{
    if (target->by_pool.group) {
        if (target->in_service)
            target->by_pool.group->load_sum += load_change;
        show(target, &target->by_pool);
    }
    if (target->by_model.group)
        show(target, &target->by_model);
}

/* What all members have in common, so that most requests need no filter. */
static void summarise(struct lbr_group *group)
{
    uint32_t i;

    group->smallest_input = UINT64_MAX;
    group->model = group->count ? group->members[0]->model : NULL;
    group->mixed_models = 0;
    for (i = 0; i < group->count; i++) {
        const struct lbr_target *target = group->members[i];

        if (target->max_input_tokens &&
            target->max_input_tokens < group->smallest_input)
            group->smallest_input = target->max_input_tokens;
        if (target->model != group->model)
            group->mixed_models = 1;
    }
}

/* The means of what others are known to run on the members; reports that lack
 * a half count only where no other does. */
static void renew_means(struct lbr_group *group, uint64_t now)
{
    double sum[2] = {0, 0};
    double trust_sum[2] = {0, 0};
    uint32_t i;
    int which;

    for (i = 0; i < group->count; i++) {
        const struct lbr_target *target = group->members[i];
        struct lbr_faded trust = lbr_signals_trust(
            &target->signals, now, target->pool->params.signal_ttl);

        which = target->signals.others_partial;
        sum[which] += trust.value * target->signals.others;
        trust_sum[which] += trust.value;
    }
    group->whole_mean = trust_sum[0] > 0 ? sum[0] / trust_sum[0] : 0;
    group->others_mean = group->whole_mean;
    if (!(trust_sum[0] > 0) && trust_sum[1] > 0)
        group->others_mean = sum[1] / trust_sum[1];
}

/* How much the known number of others' waiting requests counts. */
static double trust_in_waiting(const struct lbr_target *target, uint64_t now)
{
    return isnan(target->latency.others_waiting)
               ? 0
               : lbr_signals_trust(&target->signals, now,
                                   target->pool->params.signal_ttl)
                     .value;
}

/* The same for requests of others that wait, which the forecast counts. */
static void renew_waiting(struct lbr_group *group, uint64_t now)
{
    double sum = 0;
    double trust_sum = 0;
    double mean;
    uint32_t i;

    for (i = 0; i < group->count; i++) {
        double trust = trust_in_waiting(group->members[i], now);

        if (trust > 0)
            sum += trust * group->members[i]->latency.others_waiting;
        trust_sum += trust;
    }
    mean = trust_sum > 0 ? sum / trust_sum : 0;
    for (i = 0; i < group->count; i++) {
        const struct lbr_target *target = group->members[i];
        double trust = trust_in_waiting(target, now);
        double known = trust > 0 ? trust * target->latency.others_waiting : 0;

        lbr_latency_publish_others(target, known + (1 - trust) * mean);
    }
}

static void renew_load(struct lbr_group *group, struct lbr_target *target,
                       uint64_t now)
{
    uint64_t ttl = target->pool->params.signal_ttl;
    struct lbr_faded trust = lbr_signals_trust(&target->signals, now, ttl);
    struct lbr_faded pressure =
        lbr_signals_pressure(&target->signals, now, ttl);

    target->extra =
        trust.value * lbr_signals_others(&target->signals, group->whole_mean) +
        (1 - trust.value) * group->others_mean + pressure.value +
        (double)target->peers.in_flight;
    if (trust.until < group->valid_until)
        group->valid_until = trust.until;
    if (pressure.until < group->valid_until)
        group->valid_until = pressure.until;
    if (target->in_service) {
        group->load_sum += lbr_target_load(target);
        group->weight_sum += target->weight_now;
    }
}

void lbr_group_renew(struct lbr_group *group, uint64_t now)
{
    uint32_t i;

    group->valid_until = LBR_NEVER;
    group->load_sum = group->weight_sum = 0;
    summarise(group);
    if (group->by_pool)
        renew_means(group, now);
    for (i = 0; i < group->count; i++) {
        struct lbr_target *target = group->members[i];
        struct lbr_member *member = lbr_group_member(group, i);

        lbr_target_renew(target, now, &group->valid_until);
        if (group->by_pool || !target->by_pool.group)
            renew_load(group, target, now);
        if (group->uses & LBR_USES_SCHEDULE)
            lbr_schedule_reweigh(&group->schedule, &member->turn,
                                 target->weight_now);
        if (group->uses & LBR_USES_PACE)
            show_stretch(target, group, i);
        show(target, member);
    }
    if (group->uses & LBR_USES_FORECAST)
        renew_waiting(group, now);
    group->renewed_at = now;
    group->stale = 0;
}

uint64_t lbr_group_in_flight(const struct lbr_group *group)
{
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; i < group->count; i++)
        sum += group->members[i]->in_flight;
    return sum;
}

uint64_t lbr_group_share_bucket(struct lbr_group *group, uint64_t now,
                                uint64_t bucket_length)
{
    if (now < group->share_from || now >= group->share_until) {
        group->share_bucket = now / bucket_length;
        group->share_from = group->share_bucket * bucket_length;
        group->share_until = lbr_time_add(group->share_from, bucket_length);
    }
    return group->share_bucket;
}
