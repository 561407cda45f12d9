/* SPDX-License-Identifier: MIT */
/* power_of_two: two distinct random members, the lower relative load wins.
 * Their order is random too, so the first may win a tie.
 *
 * Source: Mitzenmacher, "The Power of Two Choices in Randomized Load
 * Balancing", 2001. */
#include "policy/strategy.h"

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    uint32_t first = lbr_rng_below(&pick->rng, pick->eligible);

    choice->rule = LBROUTE_RULE_POWER_OF_TWO;
    choice->commit = NULL;
    choice->position = lbr_pick_nth(pick, first);
    choice->score = lbr_score_load(pick, choice->position);
    if (pick->eligible > 1) {
        uint32_t other = lbr_rng_below(&pick->rng, pick->eligible - 1);
        double score;

        other = lbr_pick_nth(pick, other + (other >= first));
        score = lbr_score_load(pick, other);
        if (score < choice->score) {
            choice->position = other;
            choice->score = score;
        }
    }
}

const struct lbr_strategy lbr_strategy_power_of_two = {
    .name = "power_of_two",
    .promise = LBR_PROMISE_NONE,
    .choose = choose,
    .score = lbr_score_load,
};
