/* SPDX-License-Identifier: MIT */
#include "metrics_page.h"

#include "figure.h"
#include "gateway.h"
#include "labels.h"
#include "metrics_text.h"

#include <string.h>

#define ROUTER(name, type, help, field)                                        \
    {                                                                          \
        "lbroute_router_" name, type, help, FIGURE_U64,                        \
            offsetof(lbroute_stats, field)                                     \
    }

static const struct figure router_figures[] = {
    ROUTER("picks_total", "counter", "Successful picks.", picks),
    ROUTER("expired_total", "counter", "Tickets that ran out unsettled.",
           expired),
    ROUTER("open_tickets", "gauge", "Tickets open now.", open_tickets),
    ROUTER("orphan_tickets", "gauge",
           "Open tickets on targets that were removed.", orphan_tickets),
    ROUTER("sessions", "gauge", "Sessions pinned now.", sessions),
    ROUTER("memory_bytes", "gauge", "Memory that the router holds.",
           memory_bytes),
    ROUTER("allocations_total", "counter", "Calls of the allocator.",
           allocations),
    ROUTER("prices", "gauge", "Prices known.", prices),
    ROUTER("kv_blocks", "gauge", "Blocks known from KV events.", kv_blocks),
    ROUTER("kv_sources", "gauge", "Sources of KV events.", kv_sources),
    ROUTER("kv_evicted_total", "counter",
           "Blocks from KV events that made room for others.", kv_evicted),
    ROUTER("waiting", "gauge", "Requests that wait for a slot.", waiting),
    ROUTER("waiting_bytes", "gauge", "Memory of requests that wait.",
           waiting_bytes),
    ROUTER("queued_total", "counter", "Requests that ever waited.", queued),
    ROUTER("queue_served_total", "counter", "Of these, got a slot.",
           queue_served),
    ROUTER("queue_timeouts_total", "counter", "Of these, waited too long.",
           queue_timeouts),
    ROUTER("queue_cancelled_total", "counter", "Of these, were given up.",
           queue_cancelled),
    ROUTER("queue_refused_total", "counter",
           "Of these, found nobody any more who may take them.", queue_refused),
};

static void write_rejections(struct evbuffer *out, const lbroute_stats *stats)
{
    metrics_family(out, "lbroute_router_rejections_total", "counter",
                   "Rejected picks by reason.");
    for (int reason = 1; reason < LBROUTE_REASON_COUNT; reason++) {
        struct metrics_label label = {"reason", lbroute_reason_name(reason)};

        metrics_count(out, "lbroute_router_rejections_total", &label, 1,
                      stats->rejections[reason]);
    }
}

static void write_settled(struct evbuffer *out, const lbroute_stats *stats)
{
    metrics_family(out, "lbroute_router_settled_total", "counter",
                   "Settled tickets by outcome.");
    for (int kind = LBROUTE_EVENT_SUCCESS; kind < LBROUTE_EVENT_COUNT; kind++) {
        struct metrics_label label = {"outcome", label_outcome(kind)};

        metrics_count(out, "lbroute_router_settled_total", &label, 1,
                      stats->settled[kind]);
    }
}

void metrics_router_write(struct gateway *gateway, struct evbuffer *out)
{
    const size_t count = sizeof(router_figures) / sizeof(*router_figures);
    lbroute_stats stats;

    lbroute_stats_init(&stats, sizeof(stats));
    lbroute_get_stats(gateway->router, &stats);
    for (size_t i = 0; i < count; i++) {
        const struct figure *figure = &router_figures[i];

        metrics_family(out, figure->name, figure->type, figure->help);
        metrics_sample(out, figure->name, NULL, 0,
                       figure_value(figure, &stats));
    }
    write_rejections(out, &stats);
    write_settled(out, &stats);
}

bool metrics_page_write(struct gateway *gateway, uint64_t now,
                        struct evbuffer *out)
{
    metrics_gateway_write(gateway, now, out);
    metrics_cluster_write(gateway, now, out);
    metrics_router_write(gateway, out);
    return metrics_pools_write(gateway, out) &&
           metrics_targets_write(gateway, now, out);
}
