/* SPDX-License-Identifier: MIT */
/* Writing down what was decided. */
#ifndef LBR_POLICY_DECISION_H
#define LBR_POLICY_DECISION_H

#include "policy/pick.h"

/* Makes |decision| say "nothing decided". */
void lbr_decision_clear(lbroute_decision *decision);

/* Writes down a choice, before it is committed. */
void lbr_decision_accept(lbroute_decision *decision,
                         const struct lbr_pick *pick,
                         const struct lbr_choice *choice);

/* Writes down why there is none. */
void lbr_decision_reject(lbroute_decision *decision,
                         const struct lbr_pick *pick,
                         const struct lbr_rejection *rejection);

#endif
