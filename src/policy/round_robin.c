/* SPDX-License-Identifier: MIT */
/* round_robin: rotation in list order. It is the smooth schedule with equal
 * weights, not a cursor: who is passed over keeps its turn, so whatever the
 * pattern of outages and exclusions, a missing share goes to all others and
 * not to a neighbour. */
#include "policy/strategy.h"

const struct lbr_strategy lbr_strategy_round_robin = {"round_robin",
                                                      LBR_USES_SCHEDULE |
                                                          LBR_USES_EQUALS,
                                                      LBR_PROMISE_EQUAL,
                                                      LBROUTE_RULE_ROUND_ROBIN,
                                                      0,
                                                      0,
                                                      lbr_schedule_choose,
                                                      lbr_score_turn};
