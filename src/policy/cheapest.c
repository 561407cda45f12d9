/* SPDX-License-Identifier: MIT */
/* cheapest: the member on which the request costs least. Costs within 1 % of
 * the lowest are equal, and among equals the load decides. A member of unknown
 * cost comes after all others; where no cost is known, least connections.
 *
 * The tie is measured from the lowest cost and not from neighbour to
 * neighbour: steps of 1 % must not add up to a dear target. */
#include "policy/affinity.h"
#include "policy/cost.h"

#include "containers/bits.h"

#include <math.h>

#define TIE_PART 100

/* The least busy of those that cost at most |most|. */
static uint32_t least_busy(const struct lbr_pick *pick, struct lbr_wide most)
{
    uint32_t count = pick->group->count;
    uint32_t best = LBR_BITS_NONE;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        const struct lbr_target *target = lbr_pick_target(pick, i);

        if (target->cost_known && !lbr_wide_less(most, target->cost) &&
            (best == LBR_BITS_NONE || lbr_affinity_less_busy(pick, i, best)))
            best = i;
    }
    return best;
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    struct lbr_costs costs = lbr_cost_survey(pick);
    struct lbr_wide most =
        lbr_wide_add(costs.lowest, lbr_wide_divide(costs.lowest, TIE_PART));

    if (!costs.known) {
        lbr_least_connections_choose(pick, choice);
        choice->score = (double)NAN;
        return;
    }
    choice->position = least_busy(pick, most);
    choice->rule = LBROUTE_RULE_CHEAPEST;
    choice->score =
        lbr_wide_to_double(lbr_pick_target(pick, choice->position)->cost);
    choice->commit = lbr_commit_rank;
}

static double score(const struct lbr_pick *pick, uint32_t position)
{
    struct lbr_wide cost;

    if (!lbr_cost_of(pick, lbr_pick_target(pick, position), &cost))
        return (double)NAN;
    return lbr_wide_to_double(cost);
}

const struct lbr_strategy lbr_strategy_cheapest = {
    .name = "cheapest",
    .uses = LBR_USES_ORDER,
    .promise = LBR_PROMISE_NONE,
    .choose = choose,
    .score = score,
};
