/* SPDX-License-Identifier: MIT */
/* The targets of a pool (or model) that share a tier, with everything that
 * picks among them need: positions 0 … count - 1 in the order of arrival.
 *
 * What depends on time (benches that end, loads that fade, weights that ramp)
 * is worked out by lbr_group_renew() and holds until a known time; in between
 * only the in-flight counts move, one target at a time. */
#ifndef LBR_STATE_GROUP_H
#define LBR_STATE_GROUP_H

#include "models/forecast.h"
#include "models/load_order.h"
#include "models/prefix_trie_shares.h"
#include "models/ring.h"
#include "models/throughput.h"
#include "state/comparison.h"
#include "state/room.h"
#include "state/target.h"

/* What a group keeps, besides members and usable bits. */
enum {
    LBR_USES_ORDER = 1,     /* load order */
    LBR_USES_SCHEDULE = 2,  /* smooth weighted round-robin */
    LBR_USES_RING = 4,      /* hash ring */
    LBR_USES_ROTATION = 8,  /* round robin */
    LBR_USES_TRIE = 16,     /* prefixes that members have seen */
    LBR_USES_FORECAST = 32, /* latencies to expect */
    LBR_USES_PACE = 64      /* how long work takes, besides a forecast */
};

struct lbr_group {
    struct lbr_group *next; /* of the same pool or model */
    struct lbr_target **members;
    uint64_t *usable; /* bits: in service, not full, not waiting for a trial */
    uint64_t *mask;   /* scratch of a pick: usable for this request */
    uint32_t count, capacity;
    uint32_t usable_count;
    struct lbr_room *room; /* where requests wait; NULL: nobody has yet */
    unsigned uses;
    int by_pool; /* members are by_pool, not by_model */

    /* What renewal worked out, valid from |renewed_at| until |valid_until|. */
    uint64_t renewed_at, valid_until;
    int stale;          /* something else changed since */
    double others_mean; /* known load of others, on average */
    double whole_mean;  /* the same of reports that lack nothing; 0: none */
    double load_sum;    /* of the members in service */
    double weight_sum;  /* of the members in service */
    uint64_t smallest_input; /* least token limit of all; UINT64_MAX: none */
    const struct lbr_model *model; /* what all members serve … */
    int mixed_models;              /* … unless they differ */

    struct lbr_load_order order;
    struct lbr_schedule schedule;
    struct lbr_rotation rotation;
    struct lbr_shared_trie *prefixes; /* NULL: not kept */
    struct lbr_trie *trie;            /* of |prefixes| */
    enum lbr_trie_kind trie_kind;
    uint64_t secret; /* of its tables */
    struct lbr_ring ring;
    struct lbr_ring spare_ring; /* between preparing and adopting */
    int weighted_points;        /* ring points follow weights */
    uint64_t share_bucket, share_from, share_until; /* current bucket */
    struct lbr_text tier;                           /* own allocation */
    struct lbr_forecast forecast;
    struct lbr_latency_mean latency_mean;
    uint64_t room_key; /* a group of the same key takes the room over */
    struct lbr_throughput throughput;
    uint64_t saved_by; /* scratch: number of the snapshot that wrote it */
    uint64_t told_by;  /* scratch: telling that charged its sequence */
};

struct lbr_member *lbr_group_member(const struct lbr_group *group,
                                    uint32_t position);

/* Makes a group of |tier| that keeps what |uses| says, a trie of bytes if any,
 * or returns NULL without memory. |targets| resolves the owners of ring points;
 * the trie's tables are keyed by |secret|. */
struct lbr_group *lbr_group_create(struct lbr_memory *memory,
                                   const struct lbr_slab *targets,
                                   struct lbr_text tier, unsigned uses,
                                   int by_pool, uint64_t secret);
void lbr_group_destroy(struct lbr_group *group, struct lbr_memory *memory);

/* Joining takes two steps, so that a target can move without a moment at which
 * it could get lost: admission makes room and sets the ring points (returns 0
 * without memory; then nothing changed), joining adds the target at the end
 * and cannot fail. In between, dismissal takes the points back. */
int lbr_group_admit(struct lbr_group *group, struct lbr_memory *memory,
                    const struct lbr_target *target);
void lbr_group_dismiss(struct lbr_group *group,
                       const struct lbr_target *target);
void lbr_group_join(struct lbr_group *group, struct lbr_rng *rng,
                    struct lbr_target *target);
void lbr_group_leave(struct lbr_group *group, struct lbr_target *target);

/* Starts keeping what |uses| adds, from scratch. Returns 0 without memory;
 * then nothing changed. lbr_group_keep_only() drops the rest; it cannot
 * fail. */
int lbr_group_extend(struct lbr_group *group, struct lbr_memory *memory,
                     struct lbr_rng *rng, unsigned uses);
void lbr_group_keep_only(struct lbr_group *group, struct lbr_memory *memory,
                         unsigned uses);

/* Lets the trie be of another kind from now on, empty; nothing if it is of that
 * kind already. */
void lbr_group_set_trie_kind(struct lbr_group *group, struct lbr_memory *memory,
                             enum lbr_trie_kind kind);

/* How a group that keeps a trie compares prompts. */
struct lbr_comparison lbr_group_comparison(const struct lbr_group *group);

/* Whether a group (NULL: none) keeps a trie that compares so. */
int lbr_group_compares(const struct lbr_group *group,
                       const struct lbr_comparison *comparison);

/* Lets ring points follow weights, or not, in two steps: preparation builds the
 * new ring (returns 0 without memory), adoption takes it or throws it away. */
int lbr_group_prepare_ring(struct lbr_group *group, int weighted);
void lbr_group_adopt_ring(struct lbr_group *group, int weighted);
void lbr_group_drop_spare(struct lbr_group *group);

/* Gives a member the ring points of another weight. Returns 0 without memory;
 * then nothing changed. */
int lbr_group_place(struct lbr_group *group, struct lbr_member *member,
                    double weight);

/* Call after the configured weights of the members have shrunk: nobody keeps
 * more credit or debt in the schedule than one round of the new weights. */
void lbr_group_clamp_turns(struct lbr_group *group);

/* Call after turns were given sums from elsewhere: what no service could have
 * led to is no credit or debt. */
void lbr_group_accept_turns(struct lbr_group *group);

/* Brings what depends on time to |now|. */
void lbr_group_renew(struct lbr_group *group, uint64_t now);

static inline void lbr_group_ensure(struct lbr_group *group, uint64_t now)
{
    if (group->stale || now < group->renewed_at || now >= group->valid_until)
        lbr_group_renew(group, now);
}

/* Requests in flight on the members; linear. */
uint64_t lbr_group_in_flight(const struct lbr_group *group);

/* Tells those who wait for a member that a slot may be free. */
static inline void lbr_group_wake(const struct lbr_group *group)
{
    if (group && group->room)
        lbr_room_wake(group->room);
}

/* Number of the current bucket of the traffic shares. */
uint64_t lbr_group_share_bucket(struct lbr_group *group, uint64_t now,
                                uint64_t bucket_length);

/* Passes a change of a target's in-flight count on to its groups. */
void lbr_target_moved(struct lbr_target *target, double load_change);

/* Upper bound of the memory of all groups of |targets| targets. */
size_t lbr_groups_estimate(size_t targets);

/* Tells those who wait for a target that it may have a slot. */
static inline void lbr_target_wake(const struct lbr_target *target)
{
    lbr_group_wake(target->by_pool.group);
    lbr_group_wake(target->by_model.group);
}

/* Marks a target's groups for renewal. */
static inline void lbr_target_stale(const struct lbr_target *target)
{
    if (target->by_pool.group)
        target->by_pool.group->stale = 1;
    if (target->by_model.group)
        target->by_model.group->stale = 1;
}

/* The same for a change that may give somebody a slot. */
static inline void lbr_target_changed(const struct lbr_target *target)
{
    lbr_target_stale(target);
    lbr_target_wake(target);
}

#endif
