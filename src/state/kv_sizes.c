/* SPDX-License-Identifier: MIT */
#include "state/kv_sizes.h"

#include "state/pool.h"

uint64_t lbr_kv_sizes_add(uint64_t sizes, uint32_t size)
{
    uint64_t below;
    unsigned which = 0;

    if (!size || size > LBR_KV_LARGEST_SIZE ||
        lbr_kv_size(sizes, LBR_KV_SIZES - 1))
        return sizes;
    while (lbr_kv_size(sizes, which) && lbr_kv_size(sizes, which) < size)
        which++;
    if (lbr_kv_size(sizes, which) == size)
        return sizes;
    below = sizes & (((uint64_t)1 << 16 * which) - 1);
    return (sizes - below) << 16 | (uint64_t)size << 16 * which | below;
}

static uint64_t add_sources(uint64_t sizes, const struct lbr_target *target)
{
    const struct lbr_link *link;

    for (link = target->kv.sources.next; link != &target->kv.sources;
         link = link->next)
        sizes = lbr_kv_sizes_add(
            sizes, LBR_OWNER(link, struct lbr_kv_source, siblings)->block_size);
    return sizes;
}

void lbr_kv_sizes_renew(struct lbr_pool *pool)
{
    const struct lbr_group *group;
    uint64_t sizes = 0;
    uint32_t i;

    for (group = pool->groups; group; group = group->next)
        for (i = 0; i < group->count; i++)
            sizes = add_sources(sizes, group->members[i]);
    pool->kv_sizes = sizes;
}
