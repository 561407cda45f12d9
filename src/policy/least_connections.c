/* SPDX-License-Identifier: MIT */
/* least_connections: the lowest load relative to weight; equals are used in
 * random order, each once before any again. */
#include "policy/strategy.h"

#include "containers/bits.h"

static uint32_t lowest_of_mask(const struct lbr_pick *pick)
{
    uint32_t count = pick->group->count;
    uint32_t best = lbr_bits_next(pick->mask, count, 0);
    double lowest = lbr_score_load(pick, best);
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, best + 1); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        double load = lbr_score_load(pick, i);

        if (load > lowest ||
            (load == lowest &&
             !lbr_load_order_tie(&pick->group->order, i, best)))
            continue;
        best = i;
        lowest = load;
    }
    return best;
}

void lbr_least_connections_choose(struct lbr_pick *pick,
                                  struct lbr_choice *choice)
{
    const struct lbr_load_order *order = &pick->group->order;

    if (pick->filtered) {
        choice->position = lowest_of_mask(pick);
        choice->score = lbr_score_load(pick, choice->position);
    } else {
        choice->position = lbr_load_order_first(order);
        choice->score = lbr_load_order_load(order, choice->position);
    }
    choice->rule = LBROUTE_RULE_LEAST_CONNECTIONS;
    choice->commit = lbr_commit_rank;
}

const struct lbr_strategy lbr_strategy_least_connections = {
    .name = "least_connections",
    .uses = LBR_USES_ORDER,
    .promise = LBR_PROMISE_NONE,
    .choose = lbr_least_connections_choose,
    .score = lbr_score_load,
};
