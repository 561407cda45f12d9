/* SPDX-License-Identifier: MIT */
/* A router: every table, under one lock. */
#ifndef LBR_STATE_ROUTER_H
#define LBR_STATE_ROUTER_H

#include "base/digest.h"
#include "base/lock.h"
#include "base/published.h"
#include "base/rng.h"
#include "containers/map.h"
#include "state/kv_guess.h"
#include "state/kv_sizes.h"
#include "state/kv_source.h"
#include "state/pool.h"
#include "state/room.h"
#include "state/scratch.h"
#include "state/session.h"
#include "state/sharing.h"
#include "state/stage.h"
#include "state/ticket.h"

/* Pools whose block sizes are published; others share places. */
#define LBR_PUBLISHED_POOLS 64

struct lbroute_router {
    struct lbr_lock lock;
    struct lbr_memory memory;
    struct lbr_rng rng;
    uint64_t clock; /* the latest time seen */
    uint64_t alarm; /* nothing is to be done by itself before that */
    struct lbr_waiting waiting;

    struct lbr_slab pools, targets, models;
    struct lbr_map pool_names, target_names, model_names;
    struct lbr_pool loose; /* stands for "no pool"; has no groups */
    struct lbr_tickets tickets;
    struct lbr_sessions sessions;
    struct lbr_scratches scratches;
    struct lbr_stages stages;
    struct lbr_price_catalog prices;
    struct lbr_kv_store kv;
    struct lbr_kv_guesses guesses;
    struct lbr_sharing sharing;
    int adaptive_off;

    uint64_t arrivals; /* targets ever added */
    uint64_t picks, expired, orphans;
    uint64_t rejections[LBROUTE_REASON_COUNT];
    uint64_t settled[LBROUTE_EVENT_COUNT];
    uint64_t exclusions; /* picks with exclusions so far */
    uint64_t surveys;    /* of who knows a prompt, so far */
    uint64_t lookups;    /* picks with lookups so far */
    uint64_t snapshots;  /* written so far */

    /* Block sizes of pools that compare hashes of blocks, so that picks can
     * make these before they take the lock. */
    struct lbr_published block_sizes[LBR_PUBLISHED_POOLS];
    /* The same of pools that ask what is resident. */
    struct lbr_published kv_sizes[LBR_PUBLISHED_POOLS];

    /* Never change after creation: read without the lock. */
    struct lbr_digest_key session_key, client_key;
    struct lbr_digest_key own_key; /* of nothing that is shown */
    uint64_t trial_seed;           /* of the trials of adaptive pools */
    uint64_t kv_secret;            /* keys of blocks begin with it */
    /* Mixed into the keys of every table that strangers can fill, so that they
     * cannot know which of them share a place. */
    uint64_t table_secret;
    char header_prefix[LBROUTE_NAME_MAX + 1];
};

/* Take and give back the lock; the latter passes |result| through. */
static inline void lbr_router_enter(struct lbroute_router *router)
{
    lbr_lock_take(&router->lock);
}

static inline int lbr_router_leave(struct lbroute_router *router, int result)
{
    lbr_lock_give(&router->lock);
    return result;
}

/* Ends what is over: tickets, whose slots are released, and waiting. Sets the
 * alarm anew. */
void lbr_router_expire(struct lbroute_router *router);

/* Lets time pass until |now|. Time that runs backward stands still. */
static inline void lbr_router_advance(struct lbroute_router *router,
                                      uint64_t now)
{
    if (now > router->clock)
        router->clock = now;
    if (router->clock >= router->alarm)
        lbr_router_expire(router);
    lbr_kv_guesses_expire(&router->guesses, &router->kv, router->clock);
}

/* Ends an open ticket: releases its slot and the ticket. Returns its target,
 * or NULL when that was removed. |mark| receives the health mark. How long it
 * took tells how soon others get slots, unless it |expires|. */
struct lbr_target *lbr_router_close_ticket(struct lbroute_router *router,
                                           struct lbr_ticket *ticket,
                                           int expires, lbr_health_mark *mark);

/* The price of a target, or NULL. */
const struct lbr_price *lbr_router_find_price(
    const struct lbroute_router *router, struct lbr_target *target);

static inline const struct lbr_price *lbr_router_price(
    const struct lbroute_router *router, struct lbr_target *target)
{
    if (!router->prices.slab.live)
        return NULL;
    if (target->price_found_at != router->prices.changes)
        return lbr_router_find_price(router, target);
    return target->price;
}
/* The first token of an open ticket came, |latency_ns| after the pick (-1: just
 * now; 0 or less otherwise: not measured). Only the first one counts. */
void lbr_router_first_token(struct lbroute_router *router,
                            struct lbr_ticket *ticket, int64_t latency_ns);

/* A success of an open ticket of which there is an account: what it teaches
 * about latency. */
void lbr_router_learn_latency(struct lbroute_router *router,
                              const struct lbr_ticket *ticket,
                              const lbroute_event *success);

/* The same in all routers whose digests are of the same key. */
static inline uint64_t lbr_router_key_check(const struct lbroute_router *router)
{
    return lbr_digest(router->own_key, "snapshot", 8);
}

/* Where the block sizes of a pool are published. */
static inline struct lbr_published *lbr_router_block_sizes(
    struct lbroute_router *router, lbroute_pool pool)
{
    return &router->block_sizes[pool % LBR_PUBLISHED_POOLS];
}

static inline struct lbr_published *lbr_router_kv_sizes(
    struct lbroute_router *router, lbroute_pool pool)
{
    return &router->kv_sizes[pool % LBR_PUBLISHED_POOLS];
}

/* Live objects of handles, or NULL. */
static inline struct lbr_pool *lbr_router_pool(struct lbroute_router *router,
                                               lbroute_pool pool)
{
    return lbr_slab_find(&router->pools, pool);
}

static inline struct lbr_target *lbr_router_target(
    struct lbroute_router *router, lbroute_target target)
{
    return lbr_slab_find(&router->targets, target);
}

#endif
