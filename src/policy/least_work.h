/* SPDX-License-Identifier: MIT */
/* The rule of least_work, for itself, as a fallback, and for whoever wants to
 * see what it goes by. */
#ifndef LBR_POLICY_LEAST_WORK_H
#define LBR_POLICY_LEAST_WORK_H

#include "policy/strategy.h"

/* Chooses the eligible member with the least work left; the score is that work,
 * ns, or kilotokens until the group's times are known. The scale of the pick
 * says how far the prompt is known. */
void lbr_least_work_choose(struct lbr_pick *pick, struct lbr_choice *choice);

/* Factor of what must be computed of a prompt, for what it drives out. */
double lbr_least_work_eviction(const struct lbr_work_times *times);

/* What each running request counts, besides what it costs a first token, ns; 0
 * until that is known. */
double lbr_least_work_sharing(const struct lbr_work_times *times);

#endif
