/* SPDX-License-Identifier: MIT */
/* Smooth weighted round-robin, the sequence of nginx, without its scan.
 *
 * nginx: at each pick every usable peer gains its weight; the one with the
 * highest sum is served and pays the total of the weights. Peers of one
 * weight gain alike, so their order among themselves only changes when one is
 * served. Hence:
 *
 *     schedule ── class (weight 3): gained, heap of turns by own value
 *              ── class (weight 1): gained, heap …
 *
 *     a turn's current sum = its own value + what its class has gained
 *
 * A pick looks at the top of each class and moves one turn: distinct weights
 * + log(turns). A turn that is out ("idle") holds its current sum unchanged.
 *
 * Sums are 128-bit integers in units of 10^-9 / 2^46, so no pick ever rounds:
 * weights that are decimals of up to nine digits (and fifteen in all) count as
 * these (0.3 and 0.1 alternate like 3 and 1), others as the doubles they are,
 * of which bits below 2^-76 are cut once. Sums wrap together and are compared
 * by difference, so they never run out.
 *
 * Source: nginx, ngx_http_upstream_round_robin.c. */
#ifndef LBR_MODELS_SCHEDULE_H
#define LBR_MODELS_SCHEDULE_H

#include "base/memory.h"
#include "containers/heap.h"

struct lbr_turn {
    /* Value: in a heap without the class's gain. Order: place in the list, the
     * earlier wins a tie. */
    struct lbr_heap_node node;
    uint32_t class_index;
    int active;      /* in the heap */
    uint64_t served; /* times, by this router */
};

struct lbr_weight_class {
    struct lbr_wide weight;
    struct lbr_wide gained;
    struct lbr_heap_node *top;
    uint32_t turns;     /* active and idle */
    uint32_t next_free; /* index + 1 */
};

struct lbr_schedule {
    struct lbr_weight_class *classes; /* one for each turn, if need be */
    uint32_t *live;                   /* indexes of classes in use */
    uint32_t live_count, capacity;
    uint32_t used, free_head;
    struct lbr_wide total; /* weights of all active turns */
};

/* The weight in the schedule's unit. */
struct lbr_wide lbr_schedule_weight(double weight);

/* Makes room for |turns| turns. Returns 0 without memory. */
int lbr_schedule_reserve(struct lbr_schedule *schedule,
                         struct lbr_memory *memory, uint32_t turns);
void lbr_schedule_destroy(struct lbr_schedule *schedule,
                          struct lbr_memory *memory);

/* Adds an idle turn with sum 0, or takes one out. */
void lbr_schedule_add(struct lbr_schedule *schedule, struct lbr_turn *turn,
                      uint64_t order, double weight);
void lbr_schedule_remove(struct lbr_schedule *schedule, struct lbr_turn *turn);

/* Changes a turn's weight; its current sum stays. */
void lbr_schedule_reweigh(struct lbr_schedule *schedule, struct lbr_turn *turn,
                          double weight);

/* Lets a turn take part, or makes it idle; its current sum stays. */
void lbr_schedule_set_active(struct lbr_schedule *schedule,
                             struct lbr_turn *turn, int active);

/* The active turn to serve, or NULL; |score| receives its sum. Changes
 * nothing. */
struct lbr_turn *lbr_schedule_peek(const struct lbr_schedule *schedule,
                                   struct lbr_wide *score);

/* Serves the turn that lbr_schedule_peek() gave: everybody active gains, it
 * pays. */
void lbr_schedule_serve(struct lbr_schedule *schedule, struct lbr_turn *turn);

/* The same for any turn, active or idle, that was served by another router. */
void lbr_schedule_serve_elsewhere(struct lbr_schedule *schedule,
                                  struct lbr_turn *turn);

/* For picks among an arbitrary subset of turns, active or idle: what a turn
 * would compete with; the turn gains its weight; the served one pays. */
struct lbr_wide lbr_schedule_bid(const struct lbr_schedule *schedule,
                                 const struct lbr_turn *turn);
void lbr_schedule_gain(struct lbr_schedule *schedule, struct lbr_turn *turn);
void lbr_schedule_pay(struct lbr_schedule *schedule, struct lbr_turn *turn,
                      struct lbr_wide total);

/* Brings a turn's sum within |total| of zero. While weights stay, sums never
 * leave that range; when the total shrinks, credit or debt of its former size
 * would serve or starve one turn for as long. */
void lbr_schedule_clamp(struct lbr_schedule *schedule, struct lbr_turn *turn,
                        struct lbr_wide total);

/* A turn's sum, and how it is given another one. */
struct lbr_wide lbr_schedule_sum(const struct lbr_schedule *schedule,
                                 const struct lbr_turn *turn);
void lbr_schedule_set_sum(struct lbr_schedule *schedule, struct lbr_turn *turn,
                          struct lbr_wide sum);

static inline struct lbr_wide lbr_schedule_weight_of(
    const struct lbr_schedule *schedule, const struct lbr_turn *turn)
{
    return schedule->classes[turn->class_index].weight;
}

/* A sum in weights, for reports. */
double lbr_schedule_score(struct lbr_wide sum);

#endif
