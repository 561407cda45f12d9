/* SPDX-License-Identifier: MIT */
/*
 * The targets as the gateway sees them. Each router target's user pointer is
 * its backend.
 *
 *     fleet ── backend ── backend ── …       one for each target in force
 *                │ settings (config), handle, idle connections, counts
 *
 * A backend that a reload removed lives on until its last exchange is over.
 */
#ifndef LBROUTE_PROXY_FLEET_H
#define LBROUTE_PROXY_FLEET_H

#include "config.h"

#include <lbroute/lbroute.h>

#include <stdbool.h>
#include <stdint.h>

struct evkeyvalq;
struct gateway;
struct upstream_pool;

struct backend {
    lbroute_target target; /**< 0 once it was removed. */
    struct gateway *gateway;
    const struct config_target *settings; /**< In the configuration in force;
                                           * NULL once removed. */
    char *name;
    char *host;
    uint16_t port;
    bool tls;
    char *base_path;
    char *api_key; /**< Secret; NULL: the client's goes through. */
    struct upstream_pool *connections;
    uint32_t references; /**< The fleet's and each exchange's. */
    uint64_t scrapes, scrape_failures;
    uint64_t tokenize_after; /**< Not asked for token ids before, ns. */
    uint64_t kv_batches, kv_gaps, kv_replays;
    uint64_t complained_at; /**< Time of the latest line in the log about it,
                             * ns; 0: none. */
    int64_t scraped_at;     /**< Time of the last good one, ns; -1: none. */
    struct backend *next;
};

/** A model name that clients may ask for. */
struct fleet_name {
    const char *name;
    const char *model;
    const char *adapter; /**< Empty: it is a model. */
};

struct fleet {
    struct backend *backends; /**< In the order of the configuration. */
    size_t count;
    struct fleet_name *names; /**< Sorted, each once. */
    size_t name_count;
    bool tokenizes;            /**< Some target tells token ids. */
    size_t tokenize_turn;      /**< Counts requests for token ids. */
    lbroute_pool default_pool; /**< 0: none. */
    const char *only_model;    /**< That all targets serve; NULL: none is. */
};

/**
 * Brings pools and targets of the router in line with a configuration: adds,
 * updates, removes, by name. What stays keeps all that was learned. A target
 * whose address changed is a new one.
 *
 * Only what differs from the configuration applied before is set: weights,
 * strategies and parameters that an operator changed since stay as they are
 * where the file says the same as before; draining always stays.
 *
 * The configuration applied before is the one in force. Both must live until
 * the next one was applied, or until fleet_release(). The first call makes the
 * fleet.
 *
 * @return false with a message; then everything is as before.
 */
bool fleet_apply(struct gateway *gateway, const struct config *config,
                 char *error, size_t error_size);

/** Removes all. */
void fleet_release(struct gateway *gateway);

/** The backend of that name, or NULL. */
struct backend *fleet_find(const struct fleet *fleet, const char *name);

/** A backend for connections only, to a server that is no target; NULL: out of
 * memory. Its one reference is the caller's. */
struct backend *backend_new_address(struct gateway *gateway, const char *host,
                                    uint16_t port);

void backend_hold(struct backend *backend);
void backend_drop(struct backend *backend);

/** Adds the Authorization that its engine asks for; nothing, and true, where it
 * has no key of its own. false: out of memory. */
bool backend_add_key(const struct backend *backend, struct evkeyvalq *headers);

/** That name; NULL: nobody serves it. */
const struct fleet_name *fleet_find_name(const struct fleet *fleet,
                                         const char *name);

/** What stands behind a model name that a client asked for. */
struct fleet_route {
    lbroute_pool pool;   /**< Not 0: ask by pool (the default pool). */
    const char *model;   /**< Else by model. */
    const char *adapter; /**< Empty: none. */
};

/** Resolves a model name; false: nobody serves it. An empty name is served by
 * the default pool, or where all targets serve one model. The strings live
 * until the next fleet_apply(): resolve again before another pick. */
bool fleet_resolve(const struct gateway *gateway, const char *model,
                   struct fleet_route *route);

#endif
