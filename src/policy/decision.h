/* SPDX-License-Identifier: MIT */
/* Writing down what was decided. */
#ifndef LBR_POLICY_DECISION_H
#define LBR_POLICY_DECISION_H

#include "policy/pick.h"

/* Whether a result comes with a decision: a choice or a rejection. */
static inline int lbr_decision_made(int result)
{
    return result == LBROUTE_OK || result == LBROUTE_ERR_NO_TARGET ||
           result == LBROUTE_ERR_SATURATED || result == LBROUTE_ERR_QUEUED;
}

/* Writes down a choice, before it is committed. */
void lbr_decision_accept(lbroute_decision *decision,
                         const struct lbr_pick *pick,
                         const struct lbr_choice *choice);

/* Writes down how a candidate stands where the lowest load is |lowest|; the
 * score is left unknown. */
void lbr_candidate_describe(lbroute_candidate *candidate,
                            const struct lbr_pick *pick,
                            struct lbr_target *target, int verdict,
                            double lowest);

/* Writes down why there is none. */
void lbr_decision_reject(lbroute_decision *decision,
                         const struct lbr_pick *pick,
                         const struct lbr_rejection *rejection);

/* Says that nothing was decided for a request that waited in |pool| (NULL:
 * gone, or none), but that |reason| ended its waiting. */
void lbr_decision_give_up(lbroute_decision *decision,
                          const struct lbr_pool *pool, int reason);

#endif
