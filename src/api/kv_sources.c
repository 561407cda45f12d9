/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "base/clock.h"
#include "state/kv_aside.h"
#include "state/router.h"

void lbroute_kv_source_stats_init(lbroute_kv_source_stats *stats, size_t size)
{
    lbroute_kv_source_stats defaults = {0};

    lbr_abi_init(stats, size, &defaults, sizeof defaults);
}

static void clear_all(struct lbroute_router *router, struct lbr_target *target)
{
    struct lbr_link *sources = &target->kv.sources;
    struct lbr_link *link;

    for (link = sources->next; link != sources; link = link->next)
        lbr_kv_source_clear(&router->kv,
                            LBR_OWNER(link, struct lbr_kv_source, siblings));
}

static int clear(struct lbroute_router *router, struct lbr_target *target,
                 uint32_t number)
{
    struct lbr_kv_source *source;

    if (!target)
        return LBROUTE_ERR_NOT_FOUND;
    if (number == UINT32_MAX) {
        clear_all(router, target);
        return LBROUTE_OK;
    }
    source = lbr_kv_source_find(&target->kv, number);
    if (!source)
        return LBROUTE_ERR_NOT_FOUND;
    lbr_kv_source_clear(&router->kv, source);
    return LBROUTE_OK;
}

int lbroute_kv_clear(lbroute_router *router, lbroute_target target,
                     uint32_t source, uint64_t now)
{
    int result;

    if (!router)
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    result = clear(router, lbr_router_target(router, target), source);
    return lbr_router_leave(router, result);
}

/* The source, or NULL. */
static const struct lbr_kv_source *source_of(struct lbroute_router *router,
                                             lbroute_target handle,
                                             uint32_t number)
{
    const struct lbr_target *target = lbr_router_target(router, handle);

    return target ? lbr_kv_source_find(&target->kv, number) : NULL;
}

int lbroute_kv_missing(lbroute_router *router, lbroute_target target,
                       uint32_t source, uint64_t *first, uint64_t *last)
{
    const struct lbr_kv_source *found;
    struct lbr_kv_hole hole = {0, 0, 0};

    if (!router || !first || !last)
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    found = source_of(router, target, source);
    if (found)
        hole = lbr_kv_source_missing(found);
    (void)lbr_router_leave(router, LBROUTE_OK);
    if (!hole.count)
        return LBROUTE_ERR_NOT_FOUND;
    *first = hole.first;
    *last = hole.last;
    return LBROUTE_OK;
}

static void collect(const struct lbr_kv_source *source,
                    const struct lbr_target *target, uint64_t now,
                    lbroute_kv_source_stats *stats)
{
    const struct lbr_kv_owner *owner = source->owner;
    struct lbr_kv_hole hole = lbr_kv_source_missing(source);
    int medium;

    *stats = source->counts;
    stats->state = lbr_kv_source_state(source, &target->kv,
                                       target->pool->params.precise.ttl);
    stats->block_size = source->block_size;
    stats->age_ns = -1;
    if (source->heard_at != LBR_NEVER)
        stats->age_ns = lbr_time_signed(lbr_time_since(now, source->heard_at));
    stats->next_seq = source->sequence.next;
    stats->missing = hole.count;
    stats->first_missing = hole.first;
    stats->last_missing = hole.last;
    stats->aside = lbr_kv_aside_ops(source);
    if (!owner)
        return;
    stats->evicted += owner->evicted;
    stats->waiting = owner->waiting_count;
    for (medium = 0; medium < LBROUTE_MEDIUM_COUNT; medium++)
        stats->blocks[medium] = owner->blocks[medium];
}

int lbroute_get_kv_source_stats(lbroute_router *router, lbroute_target target,
                                uint32_t source, uint64_t now,
                                lbroute_kv_source_stats *out)
{
    lbroute_kv_source_stats stats;
    const struct lbr_kv_source *found;

    if (!router || !lbr_abi_valid(out))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    found = source_of(router, target, source);
    if (found)
        collect(found, found->target, now > router->clock ? now : router->clock,
                &stats);
    (void)lbr_router_leave(router, LBROUTE_OK);
    if (!found)
        return LBROUTE_ERR_NOT_FOUND;
    return lbr_abi_write(out, &stats, sizeof stats);
}

static int next_source(const struct lbr_target *target, int64_t previous,
                       uint32_t *out)
{
    const struct lbr_link *link;

    if (!target)
        return LBROUTE_ERR_NOT_FOUND;
    for (link = target->kv.sources.next; link != &target->kv.sources;
         link = link->next) {
        const struct lbr_kv_source *source =
            LBR_OWNER(link, struct lbr_kv_source, siblings);

        if (source->number > previous) {
            *out = source->number;
            return LBROUTE_OK;
        }
    }
    return LBROUTE_ERR_NOT_FOUND;
}

int lbroute_kv_source_next(lbroute_router *router, lbroute_target target,
                           int64_t previous, uint32_t *source)
{
    int result;

    if (!router || !source)
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    result = next_source(lbr_router_target(router, target), previous, source);
    return lbr_router_leave(router, result);
}
