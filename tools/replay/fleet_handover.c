/* SPDX-License-Identifier: MIT */
#include "fleet_handover.h"

#include <stdlib.h>

/* Whoever is under way stays so, but the new router does not know them. */
static void forget_flights(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->workload->count; i++) {
        fleet->log->handover.forgotten += fleet->flights[i].known;
        fleet->flights[i].known = false;
    }
}

void fleet_open_host(struct fleet *fleet, const struct host_options *options)
{
    fleet->host = host_create(options, fleet->workload);
    fleet->kv.host = fleet->host;
    fleet->kv.plain = host_is_peer(fleet->host);
    if (fleet->kv.plain && fleet->kv.count > 0)
        host_watch_events(fleet->host, kv_feed_run, &fleet->kv);
}

/* Another process, with another seed: it knows the fleet and, if wanted, what
 * the one before had learned; peers have no way to tell. */
static void replace_router(struct fleet *fleet)
{
    struct host_options options = fleet->options->host;
    size_t length = 0;
    void *bytes = NULL;

    if (fleet->options->handover.how == FLEET_BEGINS_WITH_SNAPSHOT &&
        !host_is_peer(fleet->host))
        bytes = host_snapshot(fleet->host, fleet->now, &length);
    host_destroy(fleet->host);
    options.seed++;
    fleet_open_host(fleet, &options);
    if (bytes != NULL)
        host_restore(fleet->host, bytes, length, fleet->now);
    free(bytes);
    fleet->log->handover.snapshot_bytes = length;
    forget_flights(fleet);
}

void fleet_hand_over(struct fleet *fleet)
{
    fleet->log->handover.done = true;
    fleet->log->handover.at_ns = fleet->now;
    if (fleet->options->handover.how != FLEET_BEGINS_NOT)
        replace_router(fleet);
}

bool fleet_handover_is_due(const struct fleet *fleet)
{
    const struct fleet_handover_options *options = &fleet->options->handover;

    return options->wanted && options->by_part && !fleet->log->handover.done &&
           (double)fleet->arrived >=
               options->at * (double)fleet->workload->count;
}
