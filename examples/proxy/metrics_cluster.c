/* SPDX-License-Identifier: MIT */
#include "metrics_page.h"

#include "cluster.h"
#include "figure.h"
#include "gateway.h"
#include "metrics_text.h"

#define COUNTED(name, help, field)                                             \
    {                                                                          \
        "lbroute_cluster_" name, "counter", help, FIGURE_U64,                  \
            offsetof(struct cluster_counts, field)                             \
    }

static const struct figure message_figures[] = {
    COUNTED("sent_total", "Messages to other gateways.", sent),
    COUNTED("sent_bytes_total", "Their bytes.", sent_bytes),
    COUNTED("held_total",
            "Times that Redis was gone or slow, so that nothing was sent.",
            held),
    COUNTED("received_total", "Messages of other gateways.", received),
    COUNTED("received_bytes_total", "Their bytes.", received_bytes),
    COUNTED("repeated_total", "Of these, had come before.", repeated),
    COUNTED("missing_total",
            "Messages of other gateways that did not come, or not in order.",
            missing),
    COUNTED("failed_total", "Messages that were of no use.", failed),
};

#define DELTA(name, type, help, kind, field)                                   \
    {                                                                          \
        "lbroute_cluster_" name, type, help, kind,                             \
            offsetof(lbroute_delta_stats, field)                               \
    }

static const struct figure delta_figures[] = {
    DELTA("peers", "gauge", "Other gateways whose load counts now.", FIGURE_U32,
          peers),
    DELTA("pending", "gauge", "Prompts and sessions that were not told yet.",
          FIGURE_U64, pending),
    DELTA("dropped_total", "counter",
          "Prompts and sessions that were never told, for lack of memory.",
          FIGURE_U64, dropped),
};

static void write_figures(const struct figure *figures, size_t count,
                          const void *from, struct evbuffer *out)
{
    for (size_t i = 0; i < count; i++) {
        metrics_family(out, figures[i].name, figures[i].type, figures[i].help);
        metrics_sample(out, figures[i].name, NULL, 0,
                       figure_value(&figures[i], from));
    }
}

void metrics_cluster_write(const struct gateway *gateway, uint64_t now,
                           struct evbuffer *out)
{
    const struct cluster *cluster = gateway->cluster;
    lbroute_delta_stats stats;

    if (cluster == NULL)
        return;
    metrics_family(out, "lbroute_cluster_connected", "gauge",
                   "1: other gateways can be told and heard.");
    metrics_sample(out, "lbroute_cluster_connected", NULL, 0,
                   cluster_connected(cluster));
    write_figures(message_figures,
                  sizeof message_figures / sizeof *message_figures,
                  cluster_counts(cluster), out);
    lbroute_delta_stats_init(&stats, sizeof stats);
    lbroute_get_delta_stats(gateway->router, now, &stats);
    write_figures(delta_figures, sizeof delta_figures / sizeof *delta_figures,
                  &stats, out);
}
