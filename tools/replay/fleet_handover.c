/* SPDX-License-Identifier: MIT */
#include "fleet_handover.h"

/* Which of several routers it is. */
enum { REPLACED = 0 };

/* Whoever is under way stays so, but the new router does not know them. */
static void forget_flights(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->workload->count; i++) {
        struct flight *flight = &fleet->flights[i];

        if (!flight->known || flight->router != REPLACED)
            continue;
        fleet->log->handover.forgotten++;
        flight->known = false;
    }
}

static void replace_router(struct fleet *fleet)
{
    bool told = fleet->options->handover.how == FLEET_BEGINS_WITH_SNAPSHOT;

    fleet->log->handover.snapshot_bytes =
        routers_restart(&fleet->routers, REPLACED, told, fleet->now);
    if (!told)
        kv_feed_join(&fleet->kv, fleet->now);
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
