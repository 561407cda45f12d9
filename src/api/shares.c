/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "base/clock.h"
#include "policy/strategy.h"
#include "state/router.h"

#include <math.h>

#define DRIFT_FLAGGED 0.10
/* So few requests astray are no drift, whatever their share. */
#define REQUESTS_TOLERATED 2.0

void lbroute_share_init(lbroute_share *share, size_t size)
{
    lbroute_share defaults = {0};

    lbr_abi_init(share, size, &defaults, sizeof defaults);
}

/* What the shares of a pool are measured against. */
struct totals {
    uint64_t bucket, now, window;
    double weight;
    uint64_t requests;
    uint32_t targets;
    enum lbr_promise promise;
};

static void add_up(const struct lbr_pool *pool, struct totals *totals)
{
    const struct lbr_group *group;
    uint32_t i;

    for (group = pool->groups; group; group = group->next)
        for (i = 0; i < group->count; i++) {
            totals->weight += group->members[i]->weight;
            totals->requests +=
                lbr_share_sum(&group->members[i]->shares, totals->bucket);
        }
    totals->targets = pool->targets;
    totals->promise = pool->strategy->promise;
}

static int recent(const struct totals *totals, uint64_t at)
{
    return at != LBR_NEVER && lbr_time_since(totals->now, at) < totals->window;
}

static uint32_t causes_of(const struct lbr_target *target,
                          const struct totals *totals)
{
    uint32_t causes = 0;
    const struct lbr_health *health = &target->health;

    if (health->unproven || recent(totals, target->benched_at))
        causes |= LBROUTE_CAUSE_BENCHED;
    if (lbr_target_full_at(target, totals->now) ||
        recent(totals, target->full_at))
        causes |= LBROUTE_CAUSE_FULL;
    if (lbr_target_drained(target) || recent(totals, target->drained_at))
        causes |= LBROUTE_CAUSE_DRAINED;
    return causes;
}

static double configured_share(const struct lbr_target *target,
                               const struct totals *totals)
{
    if (totals->promise == LBR_PROMISE_EQUAL)
        return 1.0 / totals->targets;
    return totals->weight > 0 ? target->weight / totals->weight : 0;
}

static void describe(const struct lbr_target *target,
                     const struct totals *totals, lbroute_share *share)
{
    double astray;

    share->target = target->slot.handle;
    share->requests = lbr_share_sum(&target->shares, totals->bucket);
    share->configured = configured_share(target, totals);
    share->causes = causes_of(target, totals);
    share->dispatched = share->drift = (double)NAN;
    if (!totals->requests)
        return;
    share->dispatched = (double)share->requests / (double)totals->requests;
    if (share->configured <= 0)
        return;
    share->drift = share->dispatched / share->configured - 1;
    astray = fabs((double)share->requests -
                  share->configured * (double)totals->requests);
    share->flagged = totals->promise != LBR_PROMISE_NONE &&
                     fabs(share->drift) > DRIFT_FLAGGED &&
                     astray > REQUESTS_TOLERATED;
}

static size_t list_shares(const struct lbr_pool *pool,
                          const struct totals *totals, lbroute_share *shares,
                          size_t capacity)
{
    size_t size = capacity ? lbr_abi_size(shares) : 0;
    const struct lbr_group *group;
    size_t count = 0;
    uint32_t i;

    for (group = pool->groups; group; group = group->next)
        for (i = 0; i < group->count; i++, count++) {
            lbroute_share share = {0};

            if (count >= capacity)
                continue;
            describe(group->members[i], totals, &share);
            (void)lbr_abi_write((unsigned char *)shares + count * size, &share,
                                sizeof share);
        }
    return count;
}

int lbroute_pool_shares(lbroute_router *router, lbroute_pool handle,
                        uint64_t now, lbroute_share *shares, size_t capacity,
                        size_t *count)
{
    struct totals totals = {0};
    const struct lbr_pool *pool;
    size_t listed;

    if (!router || !lbr_abi_rows_valid(shares, capacity))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    pool = lbr_router_pool(router, handle);
    if (!pool)
        return lbr_router_leave(router, LBROUTE_ERR_NOT_FOUND);
    totals.now = now > router->clock ? now : router->clock;
    totals.bucket = totals.now / pool->params.share_bucket;
    totals.window = pool->params.share_bucket * LBR_SHARE_BUCKETS;
    add_up(pool, &totals);
    listed = list_shares(pool, &totals, shares, capacity);
    if (count)
        *count = listed;
    return lbr_router_leave(router, LBROUTE_OK);
}
