/* SPDX-License-Identifier: MIT */
#include "figure.h"
#include "gateway.h"
#include "labels.h"
#include "metrics_page.h"
#include "metrics_text.h"

#include <stdlib.h>

struct pool_view {
    lbroute_pool_info info;
    lbroute_pool_stats stats;
};

#define POOL(name, type, help, kind, field)                                    \
    {                                                                          \
        "lbroute_pool_" name, type, help, kind,                                \
            offsetof(struct pool_view, field)                                  \
    }

static const struct figure figures[] = {
    POOL("targets", "gauge", "Targets of the pool.", FIGURE_U32, info.targets),
    POOL("in_flight", "gauge", "Requests in flight.", FIGURE_U64,
         stats.in_flight),
    POOL("limit", "gauge", "Sum of the limits in force.", FIGURE_U64,
         stats.limit),
    POOL("waiting", "gauge", "Requests that wait for a slot.", FIGURE_U64,
         stats.waiting),
    POOL("slot_gap_seconds", "gauge", "Time that a free slot should take.",
         FIGURE_REAL_NS, stats.slot_gap_ns),
    POOL("busy", "gauge", "1: a hybrid pool, and busy.", FIGURE_I32,
         stats.busy),
    POOL("arrivals_per_second", "gauge", "Requests to a hybrid pool.",
         FIGURE_REAL, stats.arrivals),
    POOL("mode_changes_total", "counter",
         "How often a hybrid pool became busy or quiet.", FIGURE_U64,
         stats.mode_changes),
    POOL("queued_total", "counter", "Requests that ever waited.", FIGURE_U64,
         stats.queued),
    POOL("queue_served_total", "counter", "Of these, got a slot.", FIGURE_U64,
         stats.queue_served),
    POOL("queue_timeouts_total", "counter", "Of these, waited too long.",
         FIGURE_U64, stats.queue_timeouts),
    POOL("queue_cancelled_total", "counter", "Of these, were given up.",
         FIGURE_U64, stats.queue_cancelled),
    POOL("queue_refused_total", "counter",
         "Of these, found nobody any more who may take them.", FIGURE_U64,
         stats.queue_refused),
};

static struct pool_view *gather(lbroute_router *router, size_t *count)
{
    lbroute_stats stats;
    lbroute_pool pool = 0;
    struct pool_view *views;

    lbroute_stats_init(&stats, sizeof(stats));
    lbroute_get_stats(router, &stats);
    views = calloc((size_t)stats.pools + 1, sizeof(*views));
    for (*count = 0; views != NULL && *count < stats.pools; ++*count) {
        struct pool_view *view = &views[*count];

        if (lbroute_pool_next(router, pool, &pool) != LBROUTE_OK)
            break;
        lbroute_pool_info_init(&view->info, sizeof(view->info));
        lbroute_pool_stats_init(&view->stats, sizeof(view->stats));
        lbroute_pool_get_info(router, pool, &view->info);
        lbroute_get_pool_stats(router, pool, &view->stats);
    }
    return views;
}

static void write_figure(const struct figure *figure,
                         const struct pool_view *views, size_t count,
                         struct evbuffer *out)
{
    metrics_family(out, figure->name, figure->type, figure->help);
    for (size_t i = 0; i < count; i++) {
        struct metrics_label label = {"pool", views[i].info.name};

        metrics_sample(out, figure->name, &label, 1,
                       figure_value(figure, &views[i]));
    }
}

static void write_info(const struct pool_view *views, size_t count,
                       struct evbuffer *out)
{
    metrics_family(out, "lbroute_pool_info", "gauge",
                   "Strategy and mode of admission.");
    for (size_t i = 0; i < count; i++) {
        struct metrics_label labels[] = {
            {"pool", views[i].info.name},
            {"strategy", views[i].info.strategy},
            {"admission", label_admission(views[i].stats.mode)}};

        metrics_sample(out, "lbroute_pool_info", labels, 3, 1.0);
    }
}

bool metrics_pools_write(struct gateway *gateway, struct evbuffer *out)
{
    size_t count;
    struct pool_view *views = gather(gateway->router, &count);

    if (views == NULL)
        return false;
    write_info(views, count, out);
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
        write_figure(&figures[i], views, count, out);
    free(views);
    return true;
}
