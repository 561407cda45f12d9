/* SPDX-License-Identifier: MIT */
/* Which position has the lowest load: a tournament tree.
 *
 *     tree[1]            winner of all
 *     tree[2] tree[3]    winners of the halves
 *     …
 *     leaf i  =  capacity + i,  key[i] = (load, tie)
 *
 * A change costs one match a level. The latest load that fell is not played at
 * once, but compared with the winner when asked: mostly it is picked next, and
 * two changes cost one replay. Up to 16 positions there is no tree: to look at
 * every key when asked is cheaper than to keep it.
 *
 * Positions that may not win have load +infinity, as have places that are not
 * in use. Ties are decided by `tie`, a rank that a position redraws each time
 * it is used: a round number above random bits. So among equals each is used
 * once, in random order, before any is used again. */
#ifndef LBR_MODELS_LOAD_ORDER_H
#define LBR_MODELS_LOAD_ORDER_H

#include "base/memory.h"
#include "base/rng.h"

#include <string.h>

/* Ordered by load, then tie. A load that is not negative has the same order as
 * its bits, and whole numbers compare faster. */
struct lbr_order_key {
    uint64_t load_bits;
    uint64_t tie;
};

struct lbr_load_order {
    struct lbr_order_key *keys;
    uint32_t *tree;    /* 2 * capacity positions; NULL: no tree */
    uint32_t capacity; /* a power of two, 0: none */
    uint32_t count;
    uint32_t fallen; /* its load fell and was not played; LBR_ORDER_NONE */
    uint64_t round;
};

#define LBR_ORDER_NONE UINT32_MAX

/* Makes room for |count| positions. Returns 0 without memory. */
int lbr_load_order_reserve(struct lbr_load_order *order,
                           struct lbr_memory *memory, uint32_t count);

void lbr_load_order_destroy(struct lbr_load_order *order,
                            struct lbr_memory *memory);

/* Adds position |count|, with load +infinity and a fresh rank. */
void lbr_load_order_append(struct lbr_load_order *order, struct lbr_rng *rng);

/* Takes a position out; later ones move down by one. */
void lbr_load_order_delete(struct lbr_load_order *order, uint32_t position);

/* Sets a load; positions that may not win have INFINITY. */
void lbr_load_order_set(struct lbr_load_order *order, uint32_t position,
                        double load);

/* Redraws the rank of a position that was just used. Its load is about to
 * change: the matches are played then, once for both. */
void lbr_load_order_used(struct lbr_load_order *order, uint32_t position,
                         struct lbr_rng *rng);

/* The position of lowest load; some position of one may win. */
uint32_t lbr_load_order_first(const struct lbr_load_order *order);

/* The load that a position has; INFINITY if it may not win. */
static inline double lbr_load_order_load(const struct lbr_load_order *order,
                                         uint32_t position)
{
    double load;

    memcpy(&load, &order->keys[position].load_bits, sizeof load);
    return load;
}

/* Whether position |a| goes before |b| when both have the same load. */
static inline int lbr_load_order_tie(const struct lbr_load_order *order,
                                     uint32_t a, uint32_t b)
{
    return order->keys[a].tie < order->keys[b].tie;
}

/* The least-busy window: everybody but those whose load exceeds the lowest by
 * more than 2 and is above 1.5 times the lowest. */
static inline int lbr_load_in_window(double load, double lowest)
{
    return load <= lowest + 2.0 || load <= lowest * 1.5;
}

/* Upper bound of the memory for each place. */
size_t lbr_load_order_estimate(void);

#endif
