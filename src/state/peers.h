/* SPDX-License-Identifier: MIT */
/* Other routers in front of the same targets, and the load that each told of
 * last. Deltas are told apart by their origin and its count of them:
 *
 *     bits of `before`:  latest - 64 … latest - 1     1: has come
 *
 * so that each is applied once, whatever the order. A peer that falls silent
 * takes its load along; it is known on until others need its place. */
#ifndef LBR_STATE_PEERS_H
#define LBR_STATE_PEERS_H

#include "containers/list.h"
#include "containers/slab.h"

struct lbroute_router;

/* What a peer has on a target. */
struct lbr_peer_row {
    lbroute_target target;
    uint32_t in_flight;
    uint32_t waiting; /* of these, without a first token … */
    uint64_t tokens;  /* … and their uncached input */
    uint64_t turns;   /* that it had in the weighted sequence, ever */
};

/* What all of them have there. */
struct lbr_peer_load {
    uint64_t in_flight, waiting, tokens;
};

static inline void lbr_peer_load_add(struct lbr_peer_load *load,
                                     const struct lbr_peer_row *row)
{
    load->in_flight += row->in_flight;
    load->waiting += row->waiting;
    load->tokens += row->tokens;
}

static inline void lbr_peer_load_take(struct lbr_peer_load *load,
                                      const struct lbr_peer_row *row)
{
    load->in_flight -= row->in_flight;
    load->waiting -= row->waiting;
    load->tokens -= row->tokens;
}

struct lbr_peer {
    struct lbr_slot slot;
    struct lbr_link heard; /* among all, silent for longest first */
    uint64_t origin;
    uint64_t first, latest; /* deltas that have come */
    uint64_t before;
    uint64_t until; /* its load counts; LBR_NEVER: it does not */
    struct lbr_peer_row *rows;
    uint32_t row_count;
};

struct lbr_peers {
    struct lbr_slab slab;
    struct lbr_link heard;
    uint64_t ttl;
    uint64_t until; /* when the next load ends; LBR_NEVER: none */
};

void lbr_peers_init(struct lbr_peers *peers, struct lbr_memory *memory,
                    uint32_t limit, uint64_t ttl);
void lbr_peers_destroy(struct lbr_peers *peers);
size_t lbr_peers_estimate(uint32_t limit, size_t targets);

/* The peer of that origin, or NULL. */
struct lbr_peer *lbr_peer_find(const struct lbr_peers *peers, uint64_t origin);

/* Takes in a peer that is not known yet; the one that was silent for longest
 * makes room. NULL without memory. */
struct lbr_peer *lbr_peer_add(struct lbroute_router *router, uint64_t origin);

/* Whether a delta has come before, or must be taken to have. */
int lbr_peer_has(const struct lbr_peer *peer, uint64_t sequence);

/* Notes that a delta has come which had not. */
void lbr_peer_note(struct lbr_peers *peers, struct lbr_peer *peer,
                   uint64_t sequence);

/* Of the deltas before |sequence| that count, those that have not come. */
uint32_t lbr_peer_missing(const struct lbr_peer *peer, uint64_t sequence);

/* Replaces the load of a peer by |rows|, which it takes over (NULL: nothing),
 * until |until|. What has become more of its turns is charged to the weighted
 * sequences here. */
void lbr_peer_set_load(struct lbroute_router *router, struct lbr_peer *peer,
                       struct lbr_peer_row *rows, uint32_t count,
                       uint64_t until);

/* Drops the load of those that were silent for too long. */
void lbr_peers_expire(struct lbroute_router *router);

/* Leaves out of account for a moment what will be over at |then|, and takes it
 * in again. */
void lbr_peers_hide(struct lbroute_router *router, uint64_t then);
void lbr_peers_show(struct lbroute_router *router, uint64_t then);

/* Peers whose load counts at |now|. */
uint32_t lbr_peers_counting(const struct lbr_peers *peers, uint64_t now);

#endif
