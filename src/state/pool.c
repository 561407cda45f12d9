/* SPDX-License-Identifier: MIT */
/* How many requests a pool admits. */
#include "state/pool.h"

static uint32_t cap_of(const struct lbr_pool *pool)
{
    switch (pool->params.admission.mode) {
    case LBR_ADMIT_SUPERFAST:
        return pool->params.admission.fast_limit;
    case LBR_ADMIT_HYBRID:
        return pool->admission.busy ? 0 : pool->params.admission.fast_limit;
    default:
        return 0;
    }
}

void lbr_pool_renew_cap(struct lbr_pool *pool)
{
    uint32_t cap = cap_of(pool);
    struct lbr_group *group;
    uint32_t i;

    if (cap == pool->cap)
        return;
    pool->cap = cap;
    for (group = pool->groups; group; group = group->next)
        for (i = 0; i < group->count; i++) {
            lbr_target_set_ceiling(group->members[i]);
            lbr_target_stale(group->members[i]);
        }
}

/* Requests that a pool has to do with: those that wait are under way, too. */
static uint64_t under_way(const struct lbr_pool *pool)
{
    const struct lbr_group *group;
    uint64_t sum = 0;

    for (group = pool->groups; group; group = group->next) {
        sum += lbr_group_in_flight(group);
        if (group->room)
            sum += group->room->count;
    }
    return sum;
}

int lbr_pool_admit(struct lbr_pool *pool, uint64_t now, int arrives)
{
    if (!lbr_admission_renew(&pool->admission, &pool->params.admission.hybrid,
                             now, under_way(pool), arrives))
        return 0;
    lbr_pool_renew_cap(pool);
    return 1;
}

void lbr_pool_wake(const struct lbr_pool *pool)
{
    const struct lbr_group *group;
    uint32_t i;

    for (group = pool->groups; group; group = group->next)
        for (i = 0; i < group->count; i++)
            lbr_target_wake(group->members[i]);
}

void lbr_pool_restore(struct lbr_pool *pool, const struct lbr_admission *before)
{
    pool->admission = *before;
    lbr_pool_renew_cap(pool);
}
