/* SPDX-License-Identifier: MIT */
/* Round robin: whoever has waited longest is next, and then waits behind all
 * others. With nobody passed over that is the order of the list. One that is
 * passed over keeps its turn, so a missing share goes to all others and not to
 * a neighbour, whatever the pattern of outages.
 *
 *     longest wait ─▶ C  D  A  B ◀─ served last      heap: idle ones are out
 *
 * A newcomer goes behind the last of the list (E after D above), or is next if
 * that one was served last. */
#ifndef LBR_MODELS_ROTATION_H
#define LBR_MODELS_ROTATION_H

#include "containers/heap.h"

struct lbr_rotation_place {
    struct lbr_heap_node node; /* value: the lower, the later its turn */
    int active;                /* in the heap */
};

struct lbr_rotation {
    struct lbr_heap_node *top;
    const struct lbr_rotation_place *last; /* served last; NULL: none */
    uint64_t served;                       /* in all */
};

/* Adds an idle place to a list whose last place is |before| (NULL: none) and
 * whose longest waiting place is |front|. */
void lbr_rotation_add(struct lbr_rotation *rotation,
                      struct lbr_rotation_place *place,
                      const struct lbr_rotation_place *before,
                      const struct lbr_rotation_place *front);
void lbr_rotation_remove(struct lbr_rotation *rotation,
                         struct lbr_rotation_place *place);

/* Lets a place take part, or not; its turn stays. */
void lbr_rotation_set_active(struct lbr_rotation *rotation,
                             struct lbr_rotation_place *place, int active);

/* The active place that is next, or NULL. */
struct lbr_rotation_place *lbr_rotation_peek(
    const struct lbr_rotation *rotation);

/* Whether |a| has its turn before |b|. */
static inline int lbr_rotation_before(const struct lbr_rotation_place *a,
                                      const struct lbr_rotation_place *b)
{
    return lbr_wide_less(b->node.value, a->node.value);
}

/* Serves a place: it is last from now on. */
void lbr_rotation_serve(struct lbr_rotation *rotation,
                        struct lbr_rotation_place *place);

/* How far a place's turn is before that of whoever was just served, and how it
 * is put there. */
struct lbr_wide lbr_rotation_lead(const struct lbr_rotation *rotation,
                                  const struct lbr_rotation_place *place);
void lbr_rotation_set_lead(struct lbr_rotation *rotation,
                           struct lbr_rotation_place *place,
                           struct lbr_wide lead);

#endif
