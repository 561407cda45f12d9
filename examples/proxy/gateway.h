/* SPDX-License-Identifier: MIT */
/*
 * All that one running gateway has. One thread, one event loop: nothing here
 * is locked, and the router is created single-threaded.
 *
 *     listener ──▶ exchange ──lbroute_pick──▶ upstream ──▶ engine
 *                     │  ▲                       │
 *                     │  └── bytes as they come ─┘
 *                     └── lbroute_observe, journal, counters
 *
 *     signals (scrapes, KV events, occupancy, prices) ──▶ router
 *     admin (own port) ──▶ reads all, and changes what an operator may
 *     state (a file) ◀──▶ what the router learned, over restarts
 *     cluster (Redis) ◀─▶ what other gateways send where
 */
#ifndef LBROUTE_PROXY_GATEWAY_H
#define LBROUTE_PROXY_GATEWAY_H

#include "counters.h"

#include <lbroute/lbroute.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admin;
struct cluster;
struct config;
struct event_base;
struct evdns_base;
struct exchange;
struct fleet;
struct journal;
struct listener;
struct pulse;
struct signals;
struct ssl_ctx_st;
struct state_keep;

struct gateway {
    struct event_base *base;
    struct evdns_base *dns;
    struct ssl_ctx_st *client_tls; /**< For https targets. */
    lbroute_router *router;
    char header_prefix[LBROUTE_NAME_MAX + 1]; /**< The router's, for good. */
    char attempts_name[LBROUTE_NAME_MAX + sizeof "Attempts"];
    struct config *config; /**< In force. */
    struct fleet *fleet;   /**< Pools and backends. */
    struct listener *listener;
    struct pulse *pulse; /**< Its timers. */
    struct signals *signals;
    struct admin *admin;
    struct journal *journal;
    struct state_keep *state; /**< NULL: nothing outlives this process. */
    struct cluster *cluster;  /**< NULL: nothing is shared. */
    struct ssl_ctx_st *cluster_tls;
    struct counters counters;
    struct exchange *exchanges; /**< All under way, a list. */
    uint32_t open_exchanges;
    uint32_t waiting; /**< Of these, in the router's waiting room. */
    bool draining;    /**< Since SIGTERM. */
    uint64_t started; /**< Time of the start, ns. */
};

/** Sets up all of it with a first configuration, which it takes over, and
 * listens. On an error the message says why; gateway_close() all the same. */
bool gateway_open(struct gateway *gateway, struct config *config, char *error,
                  size_t error_size);

void gateway_close(struct gateway *gateway);

/** Time of the steady clock, ns: the `now` of every call to the router. */
uint64_t gateway_now(void);

/** Puts a configuration in force, the first one and each that follows; it takes
 * it over. On an error nothing has changed, and the caller keeps it. */
bool gateway_configure(struct gateway *gateway, struct config *config,
                       char *error, size_t error_size);

/** Reads the file of the configuration in force anew. */
bool gateway_reload(struct gateway *gateway, char *error, size_t error_size);

/** Serves until a signal ends it: SIGTERM and SIGINT drain, SIGHUP reads the
 * file anew. Returns the exit status. */
int gateway_run(struct gateway *gateway);

#endif
