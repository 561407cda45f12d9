/* SPDX-License-Identifier: MIT */
/*
 * A run: a workload through one router, or several, and its engines in virtual
 * time.
 *
 *     arrival ─▶ host ─pick─▶ engine ─step─step─▶ first token … last token
 *                 │ full                                           │
 *                 ├─▶ queue of the host (FIFO) ◀─ retried ─────────┤
 *                 └─▶ queue of the router ◀─ asked who is ready ───┤
 *                                   follow-up request, think time ◀┘
 *
 * Several routers have a host each, with its queue.
 */
#ifndef LBROUTE_REPLAY_FLEET_H
#define LBROUTE_REPLAY_FLEET_H

#include "kv_feed.h"
#include "mode_log.h"
#include "routers.h"

/** `target` of a request that was refused. */
#define FLEET_NO_TARGET UINT32_MAX

/** What became of one request; times in ns from the start of the run. */
struct fleet_outcome {
    uint64_t arrived;
    uint64_t dispatched;
    uint64_t first_token;
    uint64_t last_token;
    int64_t
        expected_first_ns; /**< After dispatch, by the router; -1: unknown. */
    uint32_t router;
    uint32_t target;
    uint32_t hit_tokens;
    bool waited;    /**< In the queue of the host, or in the router. */
    int32_t reason; /**< `LBROUTE_REASON_` of a refused one; NONE: it is longer
                     * than its target's cache. */
    int64_t expected_wait_ns; /**< By the router, of one that waits in it; -1:
                               * unknown. */
};

/** What became of one target. */
struct fleet_target_log {
    uint64_t busy_ns;
    uint64_t work_tokens;
    uint64_t preemptions;
    uint64_t adapter_loads;
    uint32_t blocks;
};

/** What one router did, of all those that there were in its place. */
struct fleet_router_log {
    uint64_t requests; /**< That came to it. */
    uint64_t open;     /**< Of these, still open for it at the end. */
};

/** The router was replaced by a new one. */
struct fleet_handover {
    bool done;
    uint64_t at_ns;
    uint64_t forgotten;      /**< Requests under way, of which the new one does
                              * not know. */
    uint64_t snapshot_bytes; /**< 0: it was told nothing. */
};

/** Everything a run recorded. */
struct fleet_log {
    size_t request_count;
    struct fleet_outcome *outcomes; /**< By request. */
    uint32_t *arrivals;             /**< Requests in order of arrival. */
    size_t target_count;
    struct fleet_target_log *targets;
    size_t router_count;
    struct fleet_router_log *routers;
    struct delta_counts deltas;
    struct kv_feed_counts kv;
    struct mode_log modes; /**< Of a hybrid pool. */
    struct fleet_handover handover;
};

/** Time from the end of an engine's process until its next one works, s. */
#define FLEET_RESTART_S 30.0

/** An engine starts anew at some time. */
struct fleet_restart {
    uint32_t target;
    double at_s;
};

/** How a new router begins. */
enum fleet_beginning {
    FLEET_BEGINS_WITH_SNAPSHOT, /**< With what the old one had learned. */
    FLEET_BEGINS_COLD,
    FLEET_BEGINS_NOT /**< It stays the old one, to compare with. */
};

/** When the router, the first of several, is replaced by a new one, as if its
 * process had started anew: at a time, or once a part of the requests has
 * arrived. */
struct fleet_handover_options {
    bool wanted;
    bool by_part;
    double at; /**< Seconds, or the part. */
    enum fleet_beginning how;
};

/** Told now and then how many requests are done. */
typedef void (*fleet_progress)(void *context, size_t done);

struct fleet_options {
    struct host_options host;
    struct routers_options routers;
    bool refuses_full; /**< What finds every target full is refused, unless the
                        * router lets it wait. */
    double scrape_s;   /**< Time between scrapes; 0: none. */
    /** Adapters that an engine holds, where the workload has some, and the time
     * to load one. */
    uint32_t adapter_slots;
    double adapter_load_s;
    struct kv_feed_options kv;
    const struct fleet_restart *restarts;
    size_t restart_count;
    struct fleet_handover_options handover;
    fleet_progress progress;
    void *progress_context;
};

/** Runs until every request is served or refused. */
void fleet_run(const struct workload *workload,
               const struct fleet_options *options, struct fleet_log *log);

/** Frees what was recorded. */
void fleet_log_release(struct fleet_log *log);

#endif
