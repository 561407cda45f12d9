/* SPDX-License-Identifier: MIT */
#include "containers/heap.h"

#include <stddef.h>

static struct lbr_heap_node *meld(struct lbr_heap_node *a,
                                  struct lbr_heap_node *b)
{
    struct lbr_heap_node *above;
    struct lbr_heap_node *below;

    if (!a || !b)
        return a ? a : b;
    above = lbr_heap_above(a->value, a->order, b->value, b->order) ? a : b;
    below = above == a ? b : a;
    below->next = above->child;
    if (above->child)
        above->child->previous = below;
    below->previous = above;
    above->child = below;
    above->next = above->previous = NULL;
    return above;
}

/* Melds a list of siblings into one heap: in pairs from the left, the pairs
 * from the right. */
static struct lbr_heap_node *meld_siblings(struct lbr_heap_node *first)
{
    struct lbr_heap_node *pairs = NULL;
    struct lbr_heap_node *all = NULL;

    while (first) {
        struct lbr_heap_node *second = first->next;
        struct lbr_heap_node *rest = second ? second->next : NULL;
        struct lbr_heap_node *pair;

        first->next = first->previous = NULL;
        if (second)
            second->next = second->previous = NULL;
        pair = meld(first, second);
        pair->next = pairs;
        pairs = pair;
        first = rest;
    }
    while (pairs) {
        struct lbr_heap_node *next = pairs->next;

        pairs->next = NULL;
        all = meld(all, pairs);
        pairs = next;
    }
    return all;
}

static void cut(struct lbr_heap_node *node)
{
    if (node->previous->child == node)
        node->previous->child = node->next;
    else
        node->previous->next = node->next;
    if (node->next)
        node->next->previous = node->previous;
}

void lbr_heap_insert(struct lbr_heap_node **top, struct lbr_heap_node *node)
{
    node->child = node->next = node->previous = NULL;
    *top = meld(*top, node);
}

void lbr_heap_remove(struct lbr_heap_node **top, struct lbr_heap_node *node)
{
    struct lbr_heap_node *below = meld_siblings(node->child);

    if (node == *top) {
        *top = below;
    } else {
        cut(node);
        *top = meld(*top, below);
    }
    node->child = node->next = node->previous = NULL;
}
