/* SPDX-License-Identifier: MIT */
/*
 * The routers of a run, which stand in front of the same engines, and the mail
 * between them:
 *
 *     request ─balance─▶ one of N ─pick─▶ engine
 *                           │ ▲
 *                           ▼ │ deltas, every interval
 *                          mail
 *     scrapes, KV events ─▶ each of N
 *
 * One router alone is N = 1: no balance, no mail.
 */
#ifndef LBROUTE_REPLAY_ROUTERS_H
#define LBROUTE_REPLAY_ROUTERS_H

#include "delta_mail.h"
#include "engine.h"
#include "host.h"
#include "vllm_page.h"

/** Most routers of a run. */
enum { ROUTERS_MAX = 64 };

/** What routers tell each other. */
enum routers_how {
    ROUTERS_DELTAS,
    ROUTERS_NONE /**< Nothing: each knows its own requests only. */
};

/** Which of them a request goes to. */
enum routers_balance {
    ROUTERS_RANDOM,
    ROUTERS_ROUND_ROBIN,
    ROUTERS_SESSION /**< That of its session, or of what it follows; else
                     * random. */
};

struct routers_options {
    uint32_t count; /**< 0 is 1. */
    enum routers_how how;
    enum routers_balance balance;
    double interval_s; /**< Between two deltas of a router. */
    double delay_s;    /**< Until a delta is at the others. */
    double loss;       /**< Part of the pairs of delta and receiver that get
                        * lost. */
};

/** Whether there are several, and they tell each other what they do. */
bool routers_share(const struct routers_options *options);

/** No router: nothing is followed. */
#define ROUTERS_NOBODY UINT32_MAX

struct routers {
    const struct routers_options *options;
    struct host_options host; /**< What each begins with but for its number. */
    const struct workload *workload;
    struct host **hosts;
    uint32_t count;
    uint32_t started; /**< In all, those that were replaced included. */
    uint32_t turn;
    struct draw draw;
    struct vllm_page page; /**< The latest scrape. */
    struct delta_mail mail;
    peer_events_run events; /**< Where peers ask; NULL: nowhere. */
    void *events_context;
};

/** Creates them, all with the same digest key if there are several. */
void routers_init(struct routers *routers,
                  const struct routers_options *options,
                  const struct host_options *host,
                  const struct workload *workload);

void routers_release(struct routers *routers);

/** Whether peers choose, who read no pages, no events and no clock. */
bool routers_are_peers(const struct routers *routers);

/** Chooses the router for a request; `before` is that of the request which it
 * follows, or ROUTERS_NOBODY. */
uint32_t routers_choose(struct routers *routers,
                        const struct work_request *request, uint32_t before);

/** Replaces a router by a new one with another seed, which knows the fleet and,
 * if wanted, what the old one had learned: returns the bytes of that. Peers
 * have no way to tell. */
size_t routers_restart(struct routers *routers, uint32_t which,
                       bool with_snapshot, uint64_t now);

/** A router writes its deltas. Returns how often routers_deliver() is due, each
 * after the delay. */
size_t routers_write(struct routers *routers, uint32_t which, uint64_t now);

/** The next delta arrives. */
void routers_deliver(struct routers *routers, uint64_t now);

/** Lets all read the metrics of a target. */
void routers_scrape(struct routers *routers, uint32_t target,
                    const struct engine *engine, uint64_t now);

/** Tells peers where to ask what KV events say. */
void routers_watch_events(struct routers *routers, peer_events_run run,
                          void *context);

/** Hands a payload of KV events to all. */
void routers_kv_events(struct routers *routers, uint32_t target, uint64_t seq,
                       const void *payload, size_t length, uint64_t now);

/** Whether any lacks events of a target; `*first` receives the number of the
 * first one. */
bool routers_kv_missing(const struct routers *routers, uint32_t target,
                        uint64_t *first);

/** Lets those that lack events of a target give up what events said of it.
 * Returns whether that was all of them. */
bool routers_kv_clear(struct routers *routers, uint32_t target, uint64_t now);

/** What they counted of KV events, together. */
void routers_kv_count(const struct routers *routers, uint64_t now,
                      struct host_kv_counts *counts);

/** What went over between them, at the end. */
struct delta_counts routers_delta_counts(struct routers *routers, uint64_t now);

#endif
