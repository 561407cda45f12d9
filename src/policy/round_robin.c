/* SPDX-License-Identifier: MIT */
/* round_robin: the eligible member after the one served last. */
#include "policy/strategy.h"

#include <math.h>

static void commit(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    lbr_rotation_served(&pick->group->rotation, choice->position);
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    choice->position = lbr_rotation_peek(&pick->group->rotation, pick->mask,
                                         pick->group->count);
    choice->rule = LBROUTE_RULE_ROUND_ROBIN;
    choice->score = (double)NAN;
    choice->commit = commit;
}

const struct lbr_strategy lbr_strategy_round_robin = {
    "round_robin", 0, LBR_PROMISE_EQUAL, 0, 0, choose, NULL};
