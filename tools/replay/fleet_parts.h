/* SPDX-License-Identifier: MIT */
/*
 * What a run under way is made of, for the files that make up the fleet.
 *
 *     fleet ─┬─ routers ─▶ a host each ─▶ a router or a peer
 *            ├─ gateways, by router: what waits there
 *            ├─ servers, by target ─▶ an engine each
 *            ├─ flights, by request: its ticket, and who follows it
 *            ╰─ events: what happens next, in order of time
 */
#ifndef LBROUTE_REPLAY_FLEET_PARTS_H
#define LBROUTE_REPLAY_FLEET_PARTS_H

#include "engine.h"
#include "event_heap.h"
#include "fleet.h"
#include "gateway.h"

struct flight {
    struct engine_request request;
    lbroute_ticket ticket;
    uint32_t router;        /**< That it came to. */
    bool known;             /**< The host knows of it. */
    uint32_t next_follower; /**< The next that follows the same request. */
    uint32_t first_follower;
};

struct server {
    struct engine *engine;
    bool stepping;
    bool restart_due; /**< At the end of the step, which comes to nothing. */
    bool down;
};

struct fleet {
    const struct workload *workload;
    const struct fleet_options *options;
    struct fleet_log *log;
    struct routers routers;
    struct gateway *gateways; /**< By router. */
    struct event_heap events;
    struct flight *flights; /**< By request. */
    struct server *servers; /**< By target. */
    size_t in_flight;
    size_t recent; /**< The first of the arrivals within MODE_WINDOW_NS. */
    struct kv_feed kv;
    size_t arrived;
    size_t done;
    uint64_t now;
};

#endif
