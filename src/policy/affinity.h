/* SPDX-License-Identifier: MIT */
/* What strategies that follow prompts share: how far a prompt is known, how
 * busy the members are, and remembering where it went. */
#ifndef LBR_POLICY_AFFINITY_H
#define LBR_POLICY_AFFINITY_H

#include "containers/bits.h"
#include "policy/pick.h"
#include "policy/strategy.h"

#include <math.h>

/* How far the prompt of a pick is known; changes nothing and leaves the
 * lowest load out. */
void lbr_affinity_find(const struct lbr_pick *pick, struct lbr_affinity *view);

/* The same with the lowest load, for a pick that is about to choose. */
void lbr_affinity_read(struct lbr_pick *pick, struct lbr_affinity *view);

/* Leading bytes of the prompt that a member knows. */
size_t lbr_affinity_known(const struct lbr_pick *pick,
                          const struct lbr_affinity *view, uint32_t position);

/* Finds out what every member knows, at the cost of those who know more than
 * all do. lbr_affinity_surveyed() then tells, until the next survey. */
void lbr_affinity_survey(const struct lbr_pick *pick,
                         struct lbr_affinity *view);

static inline size_t lbr_affinity_surveyed(const struct lbr_pick *pick,
                                           const struct lbr_affinity *view,
                                           uint32_t position)
{
    const struct lbr_target *target = lbr_pick_target(pick, position);

    return target->surveyed_by == view->survey ? target->surveyed
                                               : view->common;
}

/* What one member knows as a part of the prompt, NaN without one. */
double lbr_affinity_score(const struct lbr_pick *pick,
                          const struct lbr_affinity *view, uint32_t position);

/* Makes a member the choice, with that score; it will be remembered when it
 * counts. The rule is the caller's. */
void lbr_affinity_decide(const struct lbr_pick *pick,
                         const struct lbr_affinity *view, uint32_t position,
                         struct lbr_choice *choice);

/* The order knows the load of whoever is usable; of others, which are chosen
 * among when benching is ignored, it is worked out. */
static inline double lbr_affinity_load(const struct lbr_pick *pick,
                                       uint32_t position)
{
    double load = lbr_load_order_load(&pick->group->order, position);

    return load < (double)INFINITY ? load : lbr_score_load(pick, position);
}

/* Whether a member may be chosen and is not too busy. */
static inline int lbr_affinity_in_window(const struct lbr_pick *pick,
                                         const struct lbr_affinity *view,
                                         uint32_t position)
{
    return lbr_bits_has(pick->mask, position) &&
           lbr_load_in_window(lbr_affinity_load(pick, position), view->lowest);
}

#endif
