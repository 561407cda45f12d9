/* SPDX-License-Identifier: MIT */
/*
 * What upstream.c (calls) and upstream_pool.c (connections) share.
 *
 *     pool ─ idle ──▶ link ─▶ link            kept open for the next call
 *       │                 ▲
 *       │    call ────────┘ link->call        one at a time
 *       ├─ dead ──▶ link                      freed from the event loop, since
 *       └─ cancelled ──▶ call                 libevent still works with them
 *                                             while it calls back
 */
#ifndef LBROUTE_PROXY_UPSTREAM_PARTS_H
#define LBROUTE_PROXY_UPSTREAM_PARTS_H

#include "upstream.h"

#include <event2/event.h>
#include <event2/event_struct.h>

struct bufferevent;
struct evhttp_connection;
struct evhttp_request;

struct upstream_link {
    struct upstream_pool *pool;
    struct evhttp_connection *connection;
    struct bufferevent *bufev;
    struct upstream_call *call;            /* NULL: idle or dead. */
    struct upstream_link *next, *previous; /* Among the idle, or the dead. */
    bool answered; /* At least once: the next call may find it closed. */
    bool idle, dead;
    bool tuned; /* Socket options are set. */
};

struct upstream_pool {
    struct backend *backend;
    char *authority;            /* For Host. */
    struct upstream_link *idle; /* The latest used first. */
    struct upstream_link *dead;
    struct upstream_call *cancelled;
    struct evhttp_request *spent; /* Over, but libevent may look at it until it
                                   * has returned from its callback. */
    struct event *reaper;
    uint32_t idle_count;
    uint32_t links, calls; /* All that there are. */
    bool closed;           /* By its owner; goes with its last link. */
};

enum call_state { CALL_SENT, CALL_ANSWERING, CALL_OVER };

struct upstream_call {
    struct upstream_pool *pool;
    struct upstream_link *link;
    struct evhttp_request *request; /* Owned: its headers serve again when the
                                     * connection turns out to be closed. */
    const struct upstream_listener *listener; /* NULL: cancelled. */
    void *context;
    char *target; /* Request target. */
    bool post;
    struct evbuffer *body; /* Of the caller. */
    struct event timer;
    uint64_t wakes_at; /* What the timer is set to. */
    uint64_t sent_at, heard_at, connect_limit, first_limit, idle_limit;
    uint64_t over_at; /* Time of the end, whatever comes. */
    struct upstream_call *next_cancelled;
    enum call_state state;
    bool sending;  /* Inside upstream_send(). */
    bool detached; /* libevent is done with the request. */
    bool connected, replaced, paused, cancelled, malformed;
    enum upstream_failure failure; /* Of one that failed while sending. */
};

/** An idle link, or a new one; NULL: out of memory. */
struct upstream_link *upstream_link_take(struct upstream_pool *pool,
                                         bool fresh);

/** Keeps a link whose call is over for the next one. */
void upstream_link_keep(struct upstream_link *link);

/** Closes a link, from the event loop. */
void upstream_link_kill(struct upstream_link *link);

/** Whether its connection stands, with TLS where that is due. */
bool upstream_link_connected(const struct upstream_link *link);

/** Sets socket options once there is a socket. */
void upstream_link_tune(struct upstream_link *link);

/** Has the reaper run, from the event loop. */
void upstream_reap_later(struct upstream_pool *pool);

/** Frees calls that were cancelled; the reaper calls it. */
void upstream_reap_calls(struct upstream_pool *pool);

/** Frees a request that is over as soon as libevent is done with it. */
void upstream_spend(struct upstream_pool *pool, struct evhttp_request *request);

#endif
