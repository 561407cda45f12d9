/* SPDX-License-Identifier: MIT */
/* random: uniform over the eligible, whatever their weights. */
#include "policy/strategy.h"

#include <math.h>

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    choice->position =
        lbr_pick_nth(pick, lbr_rng_below(&pick->rng, pick->eligible));
    choice->rule = LBROUTE_RULE_RANDOM;
    choice->score = (double)NAN;
    choice->commit = NULL;
}

const struct lbr_strategy lbr_strategy_random = {
    .name = "random",
    .promise = LBR_PROMISE_EQUAL,
    .choose = choose,
};
