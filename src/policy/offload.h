/* SPDX-License-Identifier: MIT */
/* What is known of the caches that members offload to: how much of the prompt
 * the request's lookup found in them, and how much room they have. */
#ifndef LBR_POLICY_OFFLOAD_H
#define LBR_POLICY_OFFLOAD_H

#include "policy/pick.h"

/* Whether a member's cache is known to be of no use, or was reported and is not
 * heard of any more. */
int lbr_offload_lost(const struct lbr_pick *pick, uint32_t position);

/* Leading tokens that the lookup found for a member; 0 where the cache is
 * lost. */
uint64_t lbr_offload_matched(const struct lbr_pick *pick, uint32_t position);

/* The same as a part of the prompt; of the longest match, which is noted in
 * |pick| and not 0, where the prompt's length is not known or was given too
 * small. */
double lbr_offload_part(const struct lbr_pick *pick, uint32_t position);

/* Free part of a member's cache; NaN: unknown. */
double lbr_offload_free(const struct lbr_pick *pick, uint32_t position);

#endif
