/* SPDX-License-Identifier: MIT */
/* What the lookup of a request found for each target. */
#ifndef LBR_POLICY_LOOKUP_H
#define LBR_POLICY_LOOKUP_H

#include "policy/pick.h"

/* Spreads the request's lookup over its targets. */
void lbr_lookup_spread(struct lbr_pick *pick);

/* Leading tokens that the lookup found for a member; 0: none, or no lookup. */
static inline uint64_t lbr_lookup_tokens(const struct lbr_pick *pick,
                                         uint32_t position)
{
    const struct lbr_target *target = lbr_pick_target(pick, position);

    if (!pick->lookup || target->looked_up_by != pick->lookup)
        return 0;
    return target->lookup_tokens;
}

#endif
