/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "base/clock.h"
#include "state/view.h"

#include <math.h>

void lbroute_stats_init(lbroute_stats *stats, size_t size)
{
    lbroute_stats defaults = {0};

    lbr_abi_init(stats, size, &defaults, sizeof defaults);
}

static void collect(const struct lbroute_router *router, lbroute_stats *stats)
{
    stats->picks = router->picks;
    memcpy(stats->rejections, router->rejections, sizeof router->rejections);
    memcpy(stats->settled, router->settled, sizeof router->settled);
    stats->expired = router->expired;
    stats->open_tickets = router->tickets.slab.live;
    stats->orphan_tickets = router->orphans;
    stats->sessions = router->sessions.slab.live;
    stats->pools = router->pools.live;
    stats->targets = router->targets.live;
    stats->memory_bytes = router->memory.held;
    stats->allocations = router->memory.allocations;
    stats->prices = router->prices.slab.live;
    stats->kv_blocks = router->kv.index.resident;
    stats->kv_contents = router->kv.index.nodes.count;
    stats->kv_sources = router->kv.sources.live;
    stats->kv_evicted = router->kv.index.evicted;
    stats->waiting = router->waiting.count;
    stats->waiting_bytes = router->waiting.bytes;
    stats->places = router->waiting.places.live;
    stats->queued = router->waiting.counts.queued;
    stats->queue_served = router->waiting.counts.served;
    stats->queue_timeouts = router->waiting.counts.timed_out;
    stats->queue_cancelled = router->waiting.counts.cancelled;
    stats->queue_refused = router->waiting.counts.refused;
}

int lbroute_get_stats(lbroute_router *router, lbroute_stats *out)
{
    lbroute_stats stats = {0};

    if (!router || !lbr_abi_valid(out))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    collect(router, &stats);
    (void)lbr_router_leave(router, LBROUTE_OK);
    return lbr_abi_write(out, &stats, sizeof stats);
}

void lbroute_target_stats_init(lbroute_target_stats *stats, size_t size)
{
    lbroute_target_stats defaults = {0};

    lbr_abi_init(stats, size, &defaults, sizeof defaults);
}

static void collect_health(const struct lbr_target *target, uint64_t now,
                           lbroute_target_stats *stats)
{
    const struct lbr_health *health = &target->health;

    stats->failures_in_row = health->failures;
    stats->benches_in_row = health->benches;
    stats->benched = lbr_health_benched(health, now);
    stats->on_trial = lbr_health_on_trial(health, now);
    if (stats->benched)
        stats->bench_left_ns = lbr_time_signed(health->bench_until - now);
}

static void collect_gauges(const struct lbr_target *target, uint64_t now,
                           lbroute_target_stats *stats)
{
    const struct lbr_signals *signals = &target->signals;
    uint64_t ttl = target->pool->params.signal_ttl;
    size_t i;

    for (i = 0; i < sizeof stats->gauges / sizeof stats->gauges[0]; i++) {
        stats->gauges[i] = (double)NAN;
        stats->gauge_age_ns[i] = -1;
    }
    for (i = 0; i < LBROUTE_GAUGE_COUNT; i++) {
        uint64_t age = lbr_time_since(now, signals->gauge_at[i]);

        if (!signals->reported[i])
            continue;
        stats->gauge_age_ns[i] = lbr_time_signed(age);
        if (lbr_fade_out(now, signals->gauge_at[i], ttl).value > 0)
            stats->gauges[i] = signals->gauge[i];
    }
}

static void collect_cache(const struct lbr_target *target, uint64_t now,
                          lbroute_target_stats *stats)
{
    const struct lbr_cache_report *cache = &target->cache;
    uint64_t ttl = target->pool->params.lmcache_ttl;

    stats->occupancy = (double)NAN;
    stats->occupancy_age_ns = -1;
    stats->cache_available = -1;
    stats->cache_stale = lbr_cache_stale(cache, now, ttl);
    if (cache->reported)
        stats->occupancy_age_ns =
            lbr_time_signed(lbr_time_since(now, cache->at));
    if (lbr_cache_known(cache, now, ttl)) {
        stats->occupancy = cache->occupancy;
        stats->cache_available = cache->available;
    }
}

static void collect_adapters(const struct lbr_target *target, uint64_t now,
                             lbroute_target_stats *stats)
{
    stats->max_adapters = target->adapters.slots;
    stats->adapters = lbr_adapters_held(&target->adapters, now,
                                        target->pool->params.lora_ttl);
}

static void collect_kv(const struct lbr_target *target, uint64_t now,
                       lbroute_target_stats *stats)
{
    const struct lbr_link *sources = &target->kv.sources;
    uint64_t heard_at = LBR_NEVER;
    const struct lbr_link *link;

    stats->kv_state =
        lbr_kv_side_state(&target->kv, target->pool->params.precise.ttl);
    stats->kv_age_ns = -1;
    for (link = sources->next; link != sources; link = link->next) {
        const struct lbr_kv_source *source =
            LBR_OWNER(link, struct lbr_kv_source, siblings);

        if (source->owner)
            stats->kv_blocks += source->owner->resident;
        if (heard_at == LBR_NEVER || source->heard_at > heard_at)
            heard_at = source->heard_at;
    }
    if (heard_at != LBR_NEVER)
        stats->kv_age_ns = lbr_time_signed(lbr_time_since(now, heard_at));
}

/* Works out what depends on time; a target without a group stands alone. */
static void renew(struct lbr_target *target, uint64_t now)
{
    uint64_t until = LBR_NEVER;

    if (target->by_pool.group)
        lbr_group_ensure(target->by_pool.group, now);
    else if (target->by_model.group)
        lbr_group_ensure(target->by_model.group, now);
    else
        lbr_target_renew(target, now, &until);
}

static void collect_target(const struct lbr_view *view,
                           struct lbr_target *target,
                           lbroute_target_stats *stats)
{
    double pressure = lbr_signals_pressure(&target->signals, view->at,
                                           target->pool->params.signal_ttl)
                          .value;

    renew(target, view->at);
    stats->picks = target->picks;
    memcpy(stats->settled, target->settled, sizeof target->settled);
    stats->expired = target->expired;
    stats->in_flight = target->in_flight;
    stats->limit = lbr_target_limit(target);
    stats->retry_left_ns =
        lbr_time_signed(lbr_time_since(target->closed_until, view->at));
    stats->weight = target->weight_now;
    stats->load = lbr_target_load(target);
    stats->others = target->extra - pressure;
    stats->prefix_bytes = target->prefixes.owner.charged;
    stats->prefix_blocks = target->prefixes.blocks;
    stats->prefix_evicted = target->prefixes.evicted;
    stats->input_tokens = target->latency.input_tokens;
    stats->cached_tokens = target->latency.cached_tokens;
    stats->output_tokens = target->latency.output_tokens;
    stats->pending_tokens = target->latency.waiting_tokens;
    stats->pending_requests = target->latency.waiting_count;
    collect_health(target, view->at, stats);
    collect_gauges(target, view->at, stats);
    collect_cache(target, view->at, stats);
    collect_adapters(target, view->at, stats);
    collect_kv(target, view->at, stats);
}

int lbroute_get_target_stats(lbroute_router *router, lbroute_target handle,
                             uint64_t now, lbroute_target_stats *out)
{
    lbroute_target_stats stats = {0};
    struct lbr_target *target;
    struct lbr_view view;

    if (!router || !lbr_abi_valid(out))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    target = lbr_router_target(router, handle);
    if (!target)
        return lbr_router_leave(router, LBROUTE_ERR_NOT_FOUND);
    lbr_view_begin(&view, router, now);
    collect_target(&view, target, &stats);
    lbr_view_restore(&view, target->pool->groups);
    if (target->model)
        lbr_view_restore(&view, target->model->groups);
    lbr_view_end(&view);
    (void)lbr_router_leave(router, LBROUTE_OK);
    return lbr_abi_write(out, &stats, sizeof stats);
}
