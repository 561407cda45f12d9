/* SPDX-License-Identifier: MIT */
/*
 * What a run under way is made of, for the files that make up the fleet.
 *
 *     fleet ─┬─ host ─▶ a router or a peer
 *            ├─ servers, by target ─▶ an engine each
 *            ├─ flights, by request: its ticket, and who follows it
 *            ├─ queue of the host
 *            ╰─ events: what happens next, in order of time
 */
#ifndef LBROUTE_REPLAY_FLEET_PARTS_H
#define LBROUTE_REPLAY_FLEET_PARTS_H

#include "engine.h"
#include "event_heap.h"
#include "fleet.h"
#include "vllm_page.h"

struct flight {
    struct engine_request request;
    lbroute_ticket ticket;
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
    struct host *host;
    struct event_heap events;
    struct flight *flights; /**< By request. */
    struct server *servers; /**< By target. */
    uint32_t *queue;        /**< Of the host: places [head, tail). */
    size_t queue_head;
    size_t queue_tail;
    size_t waiting; /**< In the router's queue. */
    uint64_t alarm; /**< The next one that counts; UINT64_MAX: none. */
    size_t in_flight;
    size_t recent; /**< The first of the arrivals within MODE_WINDOW_NS. */
    struct vllm_page page; /**< The latest scrape. */
    struct kv_feed kv;
    size_t arrived;
    size_t done;
    uint64_t now;
};

#endif
