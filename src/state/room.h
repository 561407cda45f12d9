/* SPDX-License-Identifier: MIT */
/* Requests that wait for a slot, and where they do: a room for each group that
 * somebody has waited for.
 *
 *     waiting ─┬─ places  ─▶ waiter: its request, its turn, its time limit
 *              ├─ rooms   ─▶ room ── group, order of its waiters
 *              ├─ awake   ─▶ rooms in which somebody may be able to go
 *              ├─ timers     time limits, and when a room is to be looked at
 *              └─ ended   ─▶ waiters whose time is over, not yet reported
 *
 * A waiter is in the order of its room (waits), or somebody works on it without
 * the lock (claimed), or its time is over. A room sleeps while nobody in it can
 * go; whatever may change that wakes it. It outlives its group for as long as
 * somebody waits. */
#ifndef LBR_STATE_ROOM_H
#define LBR_STATE_ROOM_H

#include "models/fair_queue.h"
#include "state/request_copy.h"

struct lbr_group;
struct lbr_room;

struct lbr_timer {
    struct lbr_heap_node node; /* order: its time */
    int set;
    int of_room;
};

enum lbr_waiter_state {
    LBR_WAITER_WAITS,
    LBR_WAITER_CLAIMED,
    LBR_WAITER_CANCELLED, /* while claimed */
    LBR_WAITER_OVER
};

struct lbr_waiter {
    struct lbr_slot slot; /* its handle is the place; spare: the reason */
    enum lbr_waiter_state state;
    struct lbr_room *room;
    lbroute_pool pool; /* whose strategy was asked; 0: none */
    struct lbr_fair_entry entry;
    struct lbr_timer expiry;
    int misses_deadline;  /* it is that which expires, not the time limit */
    struct lbr_link link; /* in tried, or in ended */
    struct lbr_request_copy *copy; /* NULL: over */
    uint64_t tag;
    uint32_t input, output; /* tokens that its cost is made of */
};

struct lbr_room {
    struct lbr_waiting *waiting;
    struct lbr_group *group; /* NULL: it is gone */
    uint64_t key;
    struct lbr_link siblings;
    uint32_t count; /* waiters, claimed ones included */
    struct lbr_fair_queue queue;
    double input_cost, output_cost; /* of the latest to come */
    uint64_t aging;                 /* likewise */

    struct lbr_link awake; /* in the list of these, if */
    int is_awake;
    uint64_t wakes;         /* so far … */
    uint64_t wakes_at_scan; /* … and when the present round began */
    uint32_t tries;         /* in this round */
    struct lbr_link tried;  /* claimed in this round, in vain */
    struct lbr_timer look;
};

/* What happened to waiters so far. */
struct lbr_waiting_counts {
    uint64_t queued, served, timed_out, cancelled, refused;
};

struct lbr_waiting {
    uint64_t *alarm; /* not after the earliest timer */
    int used;        /* somebody has waited, or was full */
    struct lbr_memory *memory;
    struct lbr_slab places;
    struct lbr_fair_table fair;
    struct lbr_link rooms, awake, ended;
    struct lbr_heap_node *timers; /* the earliest on top */
    uint64_t bytes, most_bytes;   /* of copies */
    uint32_t count;               /* waiters in rooms */
    struct lbr_waiting_counts counts;
    struct lbr_waiting_counts loose; /* of those without a pool */
    const struct lbr_slab *pools;
};

/* |*alarm| is kept no later than the earliest timer. */
void lbr_waiting_init(struct lbr_waiting *waiting, struct lbr_memory *memory,
                      const struct lbr_slab *pools, uint64_t *alarm,
                      uint32_t most_places, uint64_t most_bytes);
void lbr_waiting_destroy(struct lbr_waiting *waiting);
size_t lbr_waiting_estimate(uint32_t most_places, uint64_t most_bytes,
                            size_t groups);

/* ---- copies ---- */

/* Takes memory for a copy of so many bytes. Returns 0; LBROUTE_ERR_LIMIT beyond
 * the bound on all copies; LBROUTE_ERR_NO_MEMORY. */
int lbr_waiting_take_copy(struct lbr_waiting *waiting, size_t bytes,
                          struct lbr_request_copy **copy);
void lbr_waiting_free_copy(struct lbr_waiting *waiting,
                           struct lbr_request_copy *copy);

/* ---- rooms ---- */

/* The room of a group, made if there is none; NULL without memory. */
struct lbr_room *lbr_room_of(struct lbr_waiting *waiting,
                             struct lbr_group *group);

/* A group with a room key came: whoever waited for one like it does so again.
 * A group goes: its waiters remain. */
void lbr_waiting_adopt(struct lbr_waiting *waiting, struct lbr_group *group);
void lbr_room_orphan(struct lbr_room *room);

/* Something changed that may let somebody go. */
void lbr_room_wake(struct lbr_room *room);

/* The next waiter to try at |now|, now claimed; NULL: nobody in this round,
 * which has ended: the room sleeps, unless it was woken meanwhile. */
struct lbr_waiter *lbr_room_claim(struct lbr_room *room, uint64_t now);

/* ---- waiters ---- */

/* A new waiter with all that needs memory, in no room yet. Returns 0,
 * LBROUTE_ERR_LIMIT or LBROUTE_ERR_NO_MEMORY. */
int lbr_waiter_create(struct lbr_waiting *waiting, struct lbr_waiter **waiter);

/* Its place in the order of a room. */
struct lbr_turn_asked {
    uint64_t client, kind;
    unsigned band;
    double cost;
};

/* Lets it wait in |room| until |until|. */
void lbr_waiter_enter(struct lbr_waiter *waiter, struct lbr_room *room,
                      const struct lbr_turn_asked *turn, uint64_t now,
                      uint64_t until);

/* A claimed waiter found nobody: it waits on. */
void lbr_waiter_return(struct lbr_waiter *waiter, int tried);

/* A claimed waiter goes: its client pays. Returns the client's handle. */
uint64_t lbr_waiter_served(struct lbr_waiter *waiter);

/* A waiter in any state is given up; a claimed one is freed by whoever has
 * claimed it. */
void lbr_waiter_cancel(struct lbr_waiting *waiting, struct lbr_waiter *waiter);

/* Nobody may take a claimed waiter any more. */
void lbr_waiter_refuse(struct lbr_waiter *waiter);

/* Frees a waiter whose end was reported. */
void lbr_waiter_bury(struct lbr_waiting *waiting, struct lbr_waiter *waiter);

/* The live waiter of a place, or NULL. */
static inline struct lbr_waiter *lbr_waiter_find(
    const struct lbr_waiting *waiting, lbroute_place place)
{
    struct lbr_waiter *waiter = lbr_slab_find(&waiting->places, place);

    return waiter && waiter->state != LBR_WAITER_CANCELLED ? waiter : NULL;
}

/* ---- time ---- */

/* Lets everything end whose time is over at |now|. */
void lbr_waiting_expire(struct lbr_waiting *waiting, uint64_t now);

/* Time of the earliest timer, LBR_NEVER without any. */
static inline uint64_t lbr_waiting_deadline(const struct lbr_waiting *waiting)
{
    return waiting->timers ? waiting->timers->order : UINT64_MAX;
}

/* Waiters of a room whose time will be over at |now|. */
uint32_t lbr_room_expiring(const struct lbr_room *room, uint64_t now);

#endif
