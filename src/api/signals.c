/* SPDX-License-Identifier: MIT */
/* What engines, and hosts on their behalf, report of targets. */
#include "state/registry.h"

#include <math.h>

static int all_given_known(size_t count, uint32_t given)
{
    return given && count <= LBROUTE_GAUGE_COUNT && !(given >> count);
}

/* Requests there that need not be reported: own ones, and those that other
 * routers told of. */
static double known_load(const struct lbr_target *target)
{
    return target->in_flight + (double)target->peers.in_flight;
}

int lbroute_set_gauges(lbroute_router *router, lbroute_target handle,
                       const double *values, size_t count, uint32_t given,
                       uint64_t now)
{
    struct lbr_target *target;

    if (!router || !values || !all_given_known(count, given))
        return LBROUTE_ERR_INVALID;
    if (!lbr_signals_all_acceptable(values, given))
        return LBROUTE_ERR_RANGE;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    target = lbr_router_target(router, handle);
    if (target) {
        lbr_signals_report(&target->signals, values, given, known_load(target),
                           router->clock, target->pool->params.signal_ttl);
        if (given & 1U << LBROUTE_GAUGE_WAITING)
            lbr_latency_scrape(target, values[LBROUTE_GAUGE_WAITING]);
        lbr_target_changed(target);
    }
    return lbr_router_leave(router,
                            target ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}

int lbroute_set_gauge(lbroute_router *router, lbroute_target handle, int gauge,
                      double value, uint64_t now)
{
    struct lbr_target *target;

    if (!router || gauge < 0 || gauge >= LBROUTE_GAUGE_COUNT)
        return LBROUTE_ERR_INVALID;
    if (!lbr_signals_acceptable(gauge, value))
        return LBROUTE_ERR_RANGE;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    target = lbr_router_target(router, handle);
    if (target) {
        lbr_signals_set(&target->signals, gauge, value, known_load(target),
                        router->clock, target->pool->params.signal_ttl);
        if (gauge == LBROUTE_GAUGE_WAITING)
            lbr_latency_scrape(target, value);
        lbr_target_changed(target);
    }
    return lbr_router_leave(router,
                            target ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}

/* Digests of the last names of a list. */
struct listed {
    uint64_t digests[LBROUTE_ADAPTERS_MAX];
    size_t count;
};

static int read_names(const char *const *names, const size_t *lengths,
                      size_t count, struct listed *listed)
{
    size_t skipped =
        count > LBROUTE_ADAPTERS_MAX ? count - LBROUTE_ADAPTERS_MAX : 0;
    size_t i;

    if (count && (!names || !lengths))
        return LBROUTE_ERR_INVALID;
    listed->count = count - skipped;
    for (i = 0; i < count; i++) {
        struct lbr_text name = lbr_text(names[i], lengths[i]);

        if (lbr_text_broken(name.bytes, name.length))
            return LBROUTE_ERR_INVALID;
        if (!lbr_text_is_name(name, 0))
            return LBROUTE_ERR_NAME;
        if (i >= skipped)
            listed->digests[i - skipped] =
                lbr_adapter_digest(name.bytes, name.length);
    }
    return LBROUTE_OK;
}

static int apply(struct lbroute_router *router, struct lbr_target *target,
                 const struct listed *listed, int32_t most, int complete)
{
    struct lbr_adapters *adapters = &target->adapters;
    size_t i;

    if (!lbr_adapters_reserve(adapters, &router->memory, listed->count))
        return LBROUTE_ERR_NO_MEMORY;
    if (complete)
        lbr_adapters_forget(adapters);
    lbr_adapters_set_slots(adapters, most, router->clock);
    for (i = 0; i < listed->count; i++)
        lbr_adapters_see(adapters, listed->digests[i], router->clock);
    return LBROUTE_OK;
}

/* Names are read outside the lock. */
static int report(struct lbroute_router *router, lbroute_target handle,
                  const char *const *names, const size_t *lengths, size_t count,
                  int32_t most, uint64_t now, int complete)
{
    struct lbr_target *target;
    struct listed listed;
    int result;

    if (!router)
        return LBROUTE_ERR_INVALID;
    if (most < -1)
        return LBROUTE_ERR_RANGE;
    result = read_names(names, lengths, count, &listed);
    if (result)
        return result;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    target = lbr_router_target(router, handle);
    result = target ? apply(router, target, &listed, most, complete)
                    : LBROUTE_ERR_NOT_FOUND;
    return lbr_router_leave(router, result);
}

int lbroute_set_adapters(lbroute_router *router, lbroute_target target,
                         const char *const *names, const size_t *lengths,
                         size_t count, int32_t max_adapters, uint64_t now)
{
    return report(router, target, names, lengths, count, max_adapters, now, 1);
}

int lbroute_note_adapters(lbroute_router *router, lbroute_target target,
                          const char *const *names, const size_t *lengths,
                          size_t count, int32_t max_adapters, uint64_t now)
{
    return report(router, target, names, lengths, count, max_adapters, now, 0);
}

static int bad_occupancy(double occupancy)
{
    return !isnan(occupancy) && !(occupancy >= 0 && occupancy <= 1);
}

int lbroute_set_occupancy(lbroute_router *router, lbroute_target handle,
                          double occupancy, int available, uint64_t now)
{
    struct lbr_target *target;

    if (!router || available < 0 || available > 1)
        return LBROUTE_ERR_INVALID;
    if (bad_occupancy(occupancy))
        return LBROUTE_ERR_RANGE;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    target = lbr_router_target(router, handle);
    if (target) {
        target->cache.occupancy = occupancy;
        target->cache.available = available;
        target->cache.reported = 1;
        target->cache.at = router->clock;
    }
    return lbr_router_leave(router,
                            target ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}
