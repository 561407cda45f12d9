/* SPDX-License-Identifier: MIT */
/* The rule of least_work, for itself and as a fallback. */
#ifndef LBR_POLICY_LEAST_WORK_H
#define LBR_POLICY_LEAST_WORK_H

#include "policy/strategy.h"

/* The eligible member with the least work left; its work in |score|, kilotokens
 * until the group's times are known, then ns. The prompt was looked up. */
uint32_t lbr_least_work_choose(struct lbr_pick *pick,
                               const struct lbr_affinity *affinity,
                               double *score);

#endif
