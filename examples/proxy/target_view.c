/* SPDX-License-Identifier: MIT */
#include "target_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void init_view(struct target_view *view)
{
    memset(view, 0, sizeof(*view));
    lbroute_target_info_init(&view->info, sizeof(view->info));
    lbroute_target_stats_init(&view->stats, sizeof(view->stats));
    lbroute_share_init(&view->share, sizeof(view->share));
    view->share.configured = (double)NAN;
    view->share.dispatched = (double)NAN;
    view->share.drift = (double)NAN;
    for (int kind = 0; kind < LBROUTE_LATENCY_COUNT; kind++)
        lbroute_latency_model_init(&view->latency[kind],
                                   sizeof(view->latency[kind]));
}

static void name_pool(struct target_view *view, lbroute_router *router)
{
    lbroute_pool_info info;

    lbroute_pool_info_init(&info, sizeof(info));
    if (view->info.pool == 0 ||
        lbroute_pool_get_info(router, view->info.pool, &info) != LBROUTE_OK)
        return;
    memcpy(view->pool, info.name, sizeof(view->pool));
}

static void fill_view(struct target_view *view, lbroute_router *router,
                      lbroute_target target, uint64_t now)
{
    init_view(view);
    view->target = target;
    lbroute_target_get_info(router, target, &view->info);
    lbroute_get_target_stats(router, target, now, &view->stats);
    for (int kind = 0; kind < LBROUTE_LATENCY_COUNT; kind++)
        lbroute_get_latency_model(router, target, kind, now,
                                  &view->latency[kind]);
    view->backend = view->info.user;
    name_pool(view, router);
}

static struct target_view *find_view(struct target_views *views,
                                     lbroute_target target)
{
    for (size_t i = 0; i < views->count; i++)
        if (views->items[i].target == target)
            return &views->items[i];
    return NULL;
}

static void take_shares(struct target_views *views, const lbroute_share *shares,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct target_view *view = find_view(views, shares[i].target);

        if (view != NULL)
            view->share = shares[i];
    }
}

static bool gather_shares(struct target_views *views, lbroute_router *router,
                          uint64_t now)
{
    lbroute_share *shares = calloc(views->count + 1, sizeof(*shares));
    lbroute_pool pool = 0;
    size_t count;

    if (shares == NULL)
        return false;
    while (lbroute_pool_next(router, pool, &pool) == LBROUTE_OK) {
        for (size_t i = 0; i < views->count; i++)
            lbroute_share_init(&shares[i], sizeof(shares[i]));
        count = 0;
        lbroute_pool_shares(router, pool, now, shares, views->count, &count);
        take_shares(views, shares, count < views->count ? count : views->count);
    }
    free(shares);
    return true;
}

size_t target_count(lbroute_router *router)
{
    lbroute_stats stats;

    lbroute_stats_init(&stats, sizeof(stats));
    lbroute_get_stats(router, &stats);
    return (size_t)stats.targets;
}

bool target_views_gather(struct target_views *views, lbroute_router *router,
                         uint64_t now)
{
    size_t total = target_count(router);
    size_t room = total < TARGET_VIEWS_MAX ? total : TARGET_VIEWS_MAX;
    lbroute_target target = 0;

    memset(views, 0, sizeof(*views));
    views->left_out = total - room;
    views->items = calloc(room + 1, sizeof(*views->items));
    if (views->items == NULL)
        return false;
    while (views->count < room &&
           lbroute_target_next(router, 0, target, &target) == LBROUTE_OK)
        fill_view(&views->items[views->count++], router, target, now);
    if (gather_shares(views, router, now))
        return true;
    target_views_release(views);
    return false;
}

void target_views_release(struct target_views *views)
{
    free(views->items);
    memset(views, 0, sizeof(*views));
}

enum target_state target_view_state(const struct target_view *view)
{
    const lbroute_target_stats *stats = &view->stats;

    if (view->info.draining || view->info.weight <= 0.0)
        return TARGET_DRAINING;
    if (stats->benched)
        return TARGET_BENCHED;
    if (stats->retry_left_ns > 0 ||
        (stats->limit > 0 && stats->in_flight >= stats->limit))
        return TARGET_FULL;
    return stats->on_trial ? TARGET_TRIAL : TARGET_OK;
}

const char *target_state_name(int state)
{
    static const char *const names[TARGET_STATE_COUNT] = {
        "ok", "draining", "benched", "full", "trial"};

    return names[state];
}
