/* SPDX-License-Identifier: MIT */
/* The pipeline's scores of latency: the lowest / a member's own, so that the
 * fastest has 1; unknown is the mean of the known. */
#ifndef LBR_POLICY_LATENCY_SCORERS_H
#define LBR_POLICY_LATENCY_SCORERS_H

#include "policy/latency.h"

/* Works out what the scores of this pick are relative to. The scale of prompts
 * is known by then. */
void lbr_latency_scorers_begin(struct lbr_pick *pick);

/* Both scores of a member, times their weights. */
double lbr_latency_scorers_sum(const struct lbr_pick *pick, uint32_t position);

#endif
