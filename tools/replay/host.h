/* SPDX-License-Identifier: MIT */
/*
 * The host of the simulated fleet: one router with one pool, which is told
 * nothing but what a host knows: requests, first tokens, outcomes, scrapes.
 * Instead of the router a peer's rule may choose, which is told the same.
 */
#ifndef LBROUTE_REPLAY_HOST_H
#define LBROUTE_REPLAY_HOST_H

#include "fleet_spec.h"
#include "peers/peer.h"
#include "workload.h"

#include <lbroute/lbroute.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A pool parameter to set. */
struct host_parameter {
    const char *name;
    double value;
};

/** Adds to a router what makes up a strategy of the caller's own, once it has
 * its pool and targets. Returns a code of the library. */
typedef int (*host_extend)(void *context, lbroute_router *router,
                           lbroute_pool pool);

/** What a router needs to share with others by deltas. */
struct host_sharing {
    uint64_t origin; /**< Its own number among them; 0: it does not share. */
    uint32_t peers;  /**< How many others there are. */
    uint64_t delta_bytes; /**< Room for what is still to be told. */
    uint64_t ttl_ns;      /**< How long the load that others told of counts. */
};

struct host_options {
    const struct fleet_spec *fleet;
    const char *strategy; /**< Of the library, or a peer. */
    const struct host_parameter *parameters;
    size_t parameter_count;
    uint64_t seed;
    size_t max_requests; /**< Most requests in flight at once. */
    bool tokens; /**< The router gets prompts as token ids, as KV events do. */
    double deadline_s; /**< Time until a request must have its slot; 0: none. */
    host_extend extend; /**< NULL: nothing is added. */
    void *extend_context;
    bool keeps_digest_key; /**< All routers of a run recognise the same
                              sessions. */
    struct host_sharing sharing;
};

struct host;

/** Creates the router and its targets for the requests of a workload. What
 * `kv_aware` remembers of a target is, unless a parameter says otherwise, what
 * the smallest cache of the fleet has room for; token ids are cut into blocks
 * as the engines cut them. Exits with a message if the
 * library refuses: the caller has checked names and ranges. */
struct host *host_create(const struct host_options *options,
                         const struct workload *workload);

void host_destroy(struct host *host);

/** The router, for who speaks to it himself; NULL where a peer chooses. */
lbroute_router *host_router(const struct host *host);

/** Exits with a message unless a call of the library succeeded. */
void host_require(int result, const char *call);

/** What its router has learned, which the caller frees. */
void *host_snapshot(struct host *host, uint64_t now, size_t *length);

/** Lets the router of a new host know it. */
void host_restore(struct host *host, const void *bytes, size_t length,
                  uint64_t now);

/** What became of a request. */
enum host_answer {
    HOST_PICKED,
    HOST_FULL,    /**< And the router does not let it wait. */
    HOST_QUEUED,  /**< It waits in the router. */
    HOST_REFUSED, /**< For good. */
    HOST_NOBODY   /**< Nobody that waits can go now. */
};

/** A target that was picked, or why none was. */
struct host_picked {
    uint32_t request;
    int reason;      /**< `LBROUTE_REASON_` of a refusal, also by HOST_FULL. */
    int64_t wait_ns; /**< Of HOST_QUEUED: expected wait; -1: unknown. */
    uint32_t target; /**< Of HOST_PICKED, as what follows. */
    lbroute_ticket ticket;
    int64_t expected_first_ns; /**< Predicted time to first token; -1: none. */
    int64_t kv_matched; /**< Leading blocks that are there by KV events; -1:
                         * nothing was said. */
};

/** Asks for a target. */
enum host_answer host_pick(struct host *host, const struct workload *workload,
                           uint32_t request, uint64_t now,
                           struct host_picked *picked);

/** Asks for the next request that waits in the router and can go, or was
 * refused; HOST_NOBODY when there is none. */
enum host_answer host_next_ready(struct host *host, uint64_t now,
                                 struct host_picked *picked);

/** Lets time pass for those that wait in the router. */
void host_tick(struct host *host, uint64_t now);

/** When host_tick() has something to do; UINT64_MAX: never. */
uint64_t host_next_deadline(struct host *host);

/** Whether the pool is a hybrid one that is busy. */
bool host_is_busy(const struct host *host);

/** Requests that the router takes for open; 0 of a peer. */
uint64_t host_open(const struct host *host);

/** Reports that a request is done. */
void host_succeed(struct host *host, lbroute_ticket ticket,
                  const struct work_request *request, uint32_t cached,
                  uint64_t now);

/** Reports an event of a request by its `LBROUTE_EVENT_` kind. */
void host_observe(struct host *host, lbroute_ticket ticket, int kind,
                  uint64_t now);

/** Whether a peer chooses. It reads no pages, no events and no clock: the next
 * two are for it, and what is below them for a router. */
bool host_is_peer(const struct host *host);

/** Tells a peer what a target's metrics say. */
void host_gauge(struct host *host, uint32_t target,
                const struct peer_gauges *gauges, uint64_t now);

/** Tells a peer where to ask what KV events say. */
void host_watch_events(struct host *host, peer_events_run run, void *context);

/** Hands over a page of a target's metrics. */
void host_scrape(struct host *host, uint32_t target, const char *page,
                 size_t length, uint64_t now);

/** Hands over a payload of KV events with its sequence number. */
void host_kv_events(struct host *host, uint32_t target, uint64_t seq,
                    const void *payload, size_t length, uint64_t now);

/** Whether events of a target are missing; `*first` receives the number of the
 * first one. */
bool host_kv_missing(struct host *host, uint32_t target, uint64_t *first);

/** Gives up what events said of a target. */
void host_kv_clear(struct host *host, uint32_t target, uint64_t now);

/** Whether what events said of any target is in doubt. */
bool host_kv_unknown(struct host *host, uint64_t now);

/** What the router counted, over all targets. */
struct host_kv_counts {
    uint64_t batches; /**< Taken over. */
    uint64_t gaps;
    uint64_t restarts;
    uint64_t duplicates;
    uint64_t evicted; /**< Blocks that made room for others. */
};

void host_kv_count(struct host *host, uint64_t now,
                   struct host_kv_counts *counts);

#endif
