/* SPDX-License-Identifier: MIT */
/*
 * Routers of several processes that tell each other what they send where, over
 * a channel of Redis:
 *
 *     every `interval`:  router ──lbroute_delta_export()──▶ PUBLISH ──┐
 *                                                                     ▼
 *     router ◀──lbroute_delta_apply()── all others' ◀── SUBSCRIBE ── Redis
 *
 * One thread, one event loop. Redis keeps nothing: what is lost is lost, and
 * while it is gone each router goes on alone.
 */
#ifndef LBROUTE_CLUSTER_H
#define LBROUTE_CLUSTER_H

#include "cluster_peers.h"
#include "redis_link.h"

#include <lbroute/lbroute.h>

#include <sys/time.h>

struct cluster;

struct cluster_options {
    struct event_base *base;
    struct evdns_base *dns;
    lbroute_router *router; /**< With `max_delta_bytes`; outlives it. */
    struct redis_server server;
    const char *channel;
    struct timeval interval;
    uint64_t peer_ttl;         /**< The router's. */
    uint64_t (*now)(void);     /**< The router's clock, ns. */
    uint64_t (*wall_ns)(void); /**< Since 1970. */
    void (*log)(const char *format, ...);
};

/** Messages on the channel. */
struct cluster_counts {
    uint64_t sent, sent_bytes;
    uint64_t held; /**< Times that nothing was sent: Redis was gone, or had not
                    * taken what was sent before. */
    uint64_t received, received_bytes; /**< All but this router's own. */
    uint64_t repeated;
    uint64_t missing; /**< That were passed over in a sequence. */
    uint64_t failed;  /**< That could not be used. */
};

/** Begins to share; the strings are copied. NULL: out of memory. */
struct cluster *cluster_open(const struct cluster_options *options);

/** Whether it can both speak and listen. */
bool cluster_connected(const struct cluster *cluster);

const char *cluster_channel(const struct cluster *cluster);
const struct cluster_counts *cluster_counts(const struct cluster *cluster);

/** Those who were heard lately, one for each index from 0; NULL: no more. */
const struct cluster_peer *cluster_peer(const struct cluster *cluster,
                                        size_t index);

/** Sends what is new now. */
void cluster_send(struct cluster *cluster);

/** NULL does nothing. */
void cluster_close(struct cluster *cluster);

#endif
