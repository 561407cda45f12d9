/* SPDX-License-Identifier: MIT */
/* What the request of a pick costs on targets, by the router's catalog. */
#ifndef LBR_POLICY_COST_H
#define LBR_POLICY_COST_H

#include "policy/pick.h"

/* The cost on a target, pico-USD. Returns 0 when it is unknown. */
int lbr_cost_of(const struct lbr_pick *pick, struct lbr_target *target,
                struct lbr_wide *cost);

/* The same as decisions say it: -1 for unknown, INT64_MAX for more. */
int64_t lbr_cost_expected(const struct lbr_pick *pick,
                          struct lbr_target *target);

/* Notes the cost of every eligible member at its target. */
struct lbr_costs lbr_cost_survey(const struct lbr_pick *pick);

/* Lowest cost / cost of a target whose cost is noted and known: 1 for the
 * cheapest, 0 next to one that is free. */
double lbr_cost_ratio(const struct lbr_costs *costs,
                      const struct lbr_target *target);

#endif
