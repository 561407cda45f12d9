/* SPDX-License-Identifier: MIT */
#include "figure.h"
#include "fleet.h"
#include "gateway.h"
#include "labels.h"
#include "metrics_page.h"
#include "metrics_text.h"
#include "target_view.h"

#include <math.h>
#include <string.h>

#define TARGET(name, type, help, kind, field)                                  \
    {                                                                          \
        "lbroute_target_" name, type, help, kind,                              \
            offsetof(struct target_view, field)                                \
    }

static const struct figure figures[] = {
    TARGET("weight", "gauge", "Weight as configured.", FIGURE_REAL,
           info.weight),
    TARGET("effective_weight", "gauge", "Weight that counts now.", FIGURE_REAL,
           stats.weight),
    TARGET("load", "gauge", "Own and others' requests.", FIGURE_REAL,
           stats.load),
    TARGET("others", "gauge", "Requests of others.", FIGURE_REAL, stats.others),
    TARGET("in_flight", "gauge", "Own requests in flight.", FIGURE_U32,
           stats.in_flight),
    TARGET("limit", "gauge", "Most requests in flight; 0: no limit.",
           FIGURE_U32, stats.limit),
    TARGET("draining", "gauge", "1: gets no new requests.", FIGURE_I32,
           info.draining),
    TARGET("benched", "gauge", "1: out after failures.", FIGURE_I32,
           stats.benched),
    TARGET("on_trial", "gauge", "1: back from the bench, no success yet.",
           FIGURE_I32, stats.on_trial),
    TARGET("failures_in_row", "gauge", "Failures since the last success.",
           FIGURE_U32, stats.failures_in_row),
    TARGET("retry_seconds", "gauge",
           "Time for which it counts as full because it said so.", FIGURE_NS,
           stats.retry_left_ns),
    TARGET("picks_total", "counter", "Requests sent to it.", FIGURE_U64,
           stats.picks),
    TARGET("expired_total", "counter", "Requests that were never settled.",
           FIGURE_U64, stats.expired),
    TARGET("input_tokens_total", "counter",
           "Input tokens of answers, cached ones included.", FIGURE_U64,
           stats.input_tokens),
    TARGET("cached_tokens_total", "counter",
           "Input tokens that the engine had cached.", FIGURE_U64,
           stats.cached_tokens),
    TARGET("output_tokens_total", "counter", "Output tokens of answers.",
           FIGURE_U64, stats.output_tokens),
    TARGET("pending_tokens", "gauge",
           "Uncached input of requests without a first token.", FIGURE_U64,
           stats.pending_tokens),
    TARGET("prefix_bytes", "gauge", "Memory of its prompts.", FIGURE_U64,
           stats.prefix_bytes),
    TARGET("prefix_blocks", "gauge", "Blocks remembered of its prompts.",
           FIGURE_U64, stats.prefix_blocks),
    TARGET("prefix_evicted_total", "counter", "Blocks that made room.",
           FIGURE_U64, stats.prefix_evicted),
    TARGET("kv_blocks", "gauge", "Blocks resident by KV events.", FIGURE_U64,
           stats.kv_blocks),
    TARGET("kv_age_seconds", "gauge", "Since the latest KV events.", FIGURE_NS,
           stats.kv_age_ns),
    TARGET("occupancy", "gauge", "Part of the offload cache in use.",
           FIGURE_REAL, stats.occupancy),
    TARGET("adapters", "gauge", "LoRA adapters taken to be held.", FIGURE_U32,
           stats.adapters),
    TARGET("share_configured", "gauge", "Share of traffic by weight.",
           FIGURE_REAL, share.configured),
    TARGET("share_dispatched", "gauge", "Share of traffic sent.", FIGURE_REAL,
           share.dispatched),
    TARGET("share_drift", "gauge", "Share sent / by weight - 1.", FIGURE_REAL,
           share.drift),
    TARGET("share_flagged", "gauge", "1: the drift is beyond what is promised.",
           FIGURE_I32, share.flagged),
};

static void name_series(const struct target_view *view,
                        struct metrics_label labels[2])
{
    labels[0] = (struct metrics_label){"target", view->info.name};
    labels[1] = (struct metrics_label){"pool", view->pool};
}

static void write_figure(const struct figure *figure,
                         const struct target_views *views, struct evbuffer *out)
{
    metrics_family(out, figure->name, figure->type, figure->help);
    for (size_t i = 0; i < views->count; i++) {
        struct metrics_label labels[2];

        name_series(&views->items[i], labels);
        metrics_sample(out, figure->name, labels, 2,
                       figure_value(figure, &views->items[i]));
    }
}

static void write_info(const struct target_views *views, struct evbuffer *out)
{
    metrics_family(out, "lbroute_target_info", "gauge", "Model and tier.");
    for (size_t i = 0; i < views->count; i++) {
        const struct target_view *view = &views->items[i];
        struct metrics_label labels[] = {{"target", view->info.name},
                                         {"pool", view->pool},
                                         {"model", view->info.model},
                                         {"tier", view->info.tier}};

        metrics_sample(out, "lbroute_target_info", labels, 4, 1.0);
    }
}

/* A number of a target by a third label, such as an outcome. */
struct row {
    const char *name, *type, *help, *label;
    int first, end;
    const char *(*word)(int code);
    double (*value)(const struct target_view *view, int code);
};

static void write_row(const struct row *row, const struct target_views *views,
                      struct evbuffer *out)
{
    struct metrics_label labels[3];

    metrics_family(out, row->name, row->type, row->help);
    for (size_t i = 0; i < views->count; i++) {
        name_series(&views->items[i], labels);
        for (int code = row->first; code < row->end; code++) {
            labels[2] = (struct metrics_label){row->label, row->word(code)};
            metrics_sample(out, row->name, labels, 3,
                           row->value(&views->items[i], code));
        }
    }
}

static double settled(const struct target_view *view, int kind)
{
    return (double)view->stats.settled[kind];
}

static double gauge(const struct target_view *view, int code)
{
    return view->stats.gauges[code];
}

static double gauge_age(const struct target_view *view, int code)
{
    int64_t age = view->stats.gauge_age_ns[code];

    return age < 0 ? (double)NAN : (double)age / 1e9;
}

static double latency(const struct target_view *view, int kind)
{
    return view->latency[kind].ewma_ns / 1e9;
}

static double in_state(const struct target_view *view, int state)
{
    return (int)target_view_state(view) == state;
}

static double in_kv_state(const struct target_view *view, int state)
{
    return view->stats.kv_state == state;
}

static const struct row rows[] = {
    {"lbroute_target_state", "gauge", "1 for the state that it is in.", "state",
     0, TARGET_STATE_COUNT, target_state_name, in_state},
    {"lbroute_target_kv_state", "gauge",
     "1 for the state of its sources of KV events.", "state", 0,
     LBROUTE_KV_SOURCE_STATE_COUNT, label_kv_state, in_kv_state},
    {"lbroute_target_settled_total", "counter", "Requests by outcome.",
     "outcome", LBROUTE_EVENT_SUCCESS, LBROUTE_EVENT_COUNT, label_outcome,
     settled},
    {"lbroute_target_engine", "gauge", "What the engine reported last.",
     "gauge", 0, LBROUTE_GAUGE_COUNT, label_gauge, gauge},
    {"lbroute_target_engine_age_seconds", "gauge", "Age of these reports.",
     "gauge", 0, LBROUTE_GAUGE_COUNT, label_gauge, gauge_age},
    {"lbroute_target_latency_seconds", "gauge", "Moving average of latency.",
     "until", 0, LBROUTE_LATENCY_COUNT, label_latency, latency},
};

/* What the gateway itself counts of its backends. */
static const struct {
    const char *name, *help;
    size_t offset;
} backend_counts[] = {
    {"lbroute_target_scrapes_total", "Scrapes of metrics.",
     offsetof(struct backend, scrapes)},
    {"lbroute_target_scrape_failures_total", "Scrapes that failed.",
     offsetof(struct backend, scrape_failures)},
    {"lbroute_target_kv_batches_total", "Batches of KV events received.",
     offsetof(struct backend, kv_batches)},
    {"lbroute_target_kv_gaps_total", "Gaps in KV events.",
     offsetof(struct backend, kv_gaps)},
    {"lbroute_target_kv_replays_total", "Replays of KV events requested.",
     offsetof(struct backend, kv_replays)},
};

static void write_backend_counts(const struct target_views *views, size_t which,
                                 struct evbuffer *out)
{
    metrics_family(out, backend_counts[which].name, "counter",
                   backend_counts[which].help);
    for (size_t i = 0; i < views->count; i++) {
        const struct target_view *view = &views->items[i];
        struct metrics_label labels[2];
        uint64_t count;

        if (view->backend == NULL)
            continue;
        memcpy(&count,
               (const char *)view->backend + backend_counts[which].offset,
               sizeof(count));
        name_series(view, labels);
        metrics_count(out, backend_counts[which].name, labels, 2, count);
    }
}

bool metrics_targets_write(struct gateway *gateway, uint64_t now,
                           struct evbuffer *out)
{
    struct target_views views;

    if (!target_views_gather(&views, gateway->router, now))
        return false;
    metrics_family(out, "lbroute_targets_left_out", "gauge",
                   "Targets that are not on this page: there are too many.");
    metrics_count(out, "lbroute_targets_left_out", NULL, 0, views.left_out);
    write_info(&views, out);
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
        write_figure(&figures[i], &views, out);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        write_row(&rows[i], &views, out);
    for (size_t i = 0; i < sizeof(backend_counts) / sizeof(*backend_counts);
         i++)
        write_backend_counts(&views, i, out);
    target_views_release(&views);
    return true;
}
