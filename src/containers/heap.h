/* SPDX-License-Identifier: MIT */
/* Pairing heap with its links inside the objects: highest value on top, the
 * lower order first among equals. Arbitrary removal; no recursion, no memory
 * of its own.
 *
 *     top ──child──▶ node ──next──▶ node …      previous: the sibling before,
 *                     └─child─▶ …               or the parent of a first child
 *
 * Source: Fredman, Sedgewick, Sleator, Tarjan, "The pairing heap", 1986. */
#ifndef LBR_CONTAINERS_HEAP_H
#define LBR_CONTAINERS_HEAP_H

#include "base/wide.h"

struct lbr_heap_node {
    struct lbr_wide value;
    uint64_t order;
    struct lbr_heap_node *child, *next, *previous;
};

/* Whether value |a| of order |a_order| stands above |b|. */
static inline int lbr_heap_above(struct lbr_wide a, uint64_t a_order,
                                 struct lbr_wide b, uint64_t b_order)
{
    if (!lbr_wide_equal(a, b))
        return lbr_wide_less(b, a);
    return a_order < b_order;
}

void lbr_heap_insert(struct lbr_heap_node **top, struct lbr_heap_node *node);
void lbr_heap_remove(struct lbr_heap_node **top, struct lbr_heap_node *node);

#endif
