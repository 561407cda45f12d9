/* SPDX-License-Identifier: MIT */
/* A target: its settings, its requests in flight, and what follows from both
 * at the time its group was renewed. */
#ifndef LBR_STATE_TARGET_H
#define LBR_STATE_TARGET_H

#include "base/text.h"
#include "containers/list.h"
#include "containers/slab.h"
#include "models/adapters.h"
#include "models/health.h"
#include "models/prefix_trie_shares.h"
#include "models/price_catalog.h"
#include "models/rotation.h"
#include "models/schedule.h"
#include "state/account.h"
#include "state/cache_report.h"
#include "state/kv_source.h"
#include "state/peers.h"
#include "state/share.h"
#include "state/signal.h"

struct lbr_group;
struct lbr_model;
struct lbr_pool;

/* A target's place in a group. */
struct lbr_member {
    struct lbr_group *group; /* NULL: not in one */
    uint32_t position;
    uint32_t ring_points; /* on the group's ring, if it keeps one */
    struct lbr_turn turn; /* in the group's schedule, if it keeps one */
    struct lbr_rotation_place place; /* likewise */
};

/* What adaptive blends. */
enum { LBR_SIGNAL_LATENCY, LBR_SIGNAL_COST, LBR_SIGNAL_LOAD, LBR_SIGNAL_COUNT };

struct lbr_target {
    struct lbr_slot slot; /* spare: scratch, its number in a snapshot */

    /* Used by every pick and settle. */
    uint32_t in_flight;
    /* Most requests in flight: UINT32_MAX without a limit; 0 while it said that
     * it is full, until a renewal finds that this is over. */
    uint32_t ceiling;
    int in_service;       /* at the latest renewal: neither draining nor
                           * benched */
    uint64_t excluded_by; /* scratch: number of the pick that excludes */
    double weight_now;    /* with slow start */
    double extra;         /* load beyond in_flight */
    /* Scratch: the survey that visited it, and what it knows of the prompt. */
    uint64_t surveyed_by;
    size_t surveyed;
    struct lbr_member by_pool;
    struct lbr_member by_model;
    struct lbr_shared_owner prefixes; /* in the trie of its pool's group */
    struct lbr_health health;
    uint32_t max_concurrency;  /* its own limit; 0: none */
    uint64_t max_input_tokens; /* 0: no limit */
    uint64_t closed_until;     /* it asked to be left alone until then */
    void *user;
    struct lbr_share_log shares;
    uint64_t picks;
    struct lbr_kv_side kv;
    struct lbr_peer_load peers; /* of other routers, as they told */
    /* Scratch: the telling before which a peer had told of so many turns. */
    uint64_t told_by, told_turns;

    /* Settings. */
    struct lbr_text name, tier; /* own allocations */
    double weight;
    struct lbr_pool *pool;   /* never NULL; the router's `loose` for none */
    struct lbr_model *model; /* NULL: any */
    int draining;
    uint64_t ramp_since;       /* start of the slow start */
    uint64_t arrival;          /* its place among all targets ever added */
    struct lbr_text price_key; /* own allocation; empty: the model */

    /* Learned and counted. */
    struct lbr_signals signals;
    struct lbr_adapters adapters;
    struct lbr_cache_report cache;
    uint64_t looked_up_by;  /* scratch: number of the pick that looked up … */
    uint64_t lookup_tokens; /* … so many tokens */
    struct lbr_link sessions; /* pins to this target */
    uint64_t settled[LBROUTE_EVENT_COUNT];
    uint64_t expired;
    /* When it was last seen full, benched, draining; LBR_NEVER: not yet. */
    uint64_t full_at, benched_at, drained_at;

    /* Scratch: the pick whose stages judged it, and what they gave it; below 0
     * when a filter did not keep it. */
    uint64_t judged_by;
    double judged;

    /* What was found of its price key when the catalog had changed so often. */
    const struct lbr_price *price; /* NULL: unknown */
    uint64_t price_found_at;       /* 0: look again */

    /* Scratch of a choice. */
    int cost_known;
    struct lbr_wide cost;
    double blended[LBR_SIGNAL_COUNT]; /* NaN: unknown */

    struct lbr_latency latency;
};

static inline double lbr_target_load(const struct lbr_target *target)
{
    return target->in_flight + target->extra;
}

static inline double lbr_target_relative_load(const struct lbr_target *target)
{
    return lbr_target_load(target) / target->weight_now;
}

/* The target whose side of a trie |owner| is. */
static inline struct lbr_target *lbr_target_of(
    const struct lbr_trie_owner *owner)
{
    return LBR_OWNER(owner, struct lbr_target, prefixes.owner);
}

static inline int lbr_target_full(const struct lbr_target *target)
{
    return target->in_flight >= target->ceiling;
}

/* Whether it is full because it said so. */
static inline int lbr_target_closed(const struct lbr_target *target,
                                    uint64_t now)
{
    return now < target->closed_until;
}

/* The limit in force, its own or that of its pool's admission; 0: none. */
uint32_t lbr_target_limit(const struct lbr_target *target);

/* Call after a change of that. */
void lbr_target_set_ceiling(struct lbr_target *target);

/* Whether it is full at |now|, which need not be the time of a renewal. */
static inline int lbr_target_full_at(const struct lbr_target *target,
                                     uint64_t now)
{
    uint32_t limit;

    if (target->ceiling)
        return lbr_target_full(target);
    limit = lbr_target_limit(target);
    return lbr_target_closed(target, now) ||
           (limit && target->in_flight >= limit);
}

static inline int lbr_target_drained(const struct lbr_target *target)
{
    return target->draining || target->weight <= 0;
}

/* Whether it may get one more request, as of the latest renewal. */
static inline int lbr_target_usable(const struct lbr_target *target)
{
    return target->in_service && !lbr_target_full(target) &&
           !(target->health.unproven && target->health.trials);
}

/* The latency that its latest successes had, ns; NaN: not known. */
double lbr_target_latency(const struct lbr_target *target, uint64_t now);

/* Works out service and weight at |now|; lowers |*until| to the time at which
 * they change next. */
void lbr_target_renew(struct lbr_target *target, uint64_t now, uint64_t *until);

#endif
