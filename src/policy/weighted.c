/* SPDX-License-Identifier: MIT */
/* weighted: smooth weighted round-robin. Members that may not be chosen this
 * time gain nothing and keep their sums. */
#include "policy/strategy.h"

#include "containers/bits.h"

#include <math.h>

static struct lbr_turn *turn_at(const struct lbr_pick *pick, uint32_t position)
{
    return &lbr_group_member(pick->group, position)->turn;
}

static void commit_all(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    lbr_schedule_serve(&pick->group->schedule, turn_at(pick, choice->position));
}

/* The same among the members of the mask only, one by one. */
static void commit_some(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    struct lbr_schedule *schedule = &pick->group->schedule;
    uint32_t count = pick->group->count;
    struct lbr_wide total = {0, 0};
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        struct lbr_turn *turn = turn_at(pick, i);

        total = lbr_wide_add(total, lbr_schedule_weight_of(schedule, turn));
        lbr_schedule_gain(schedule, turn);
    }
    lbr_schedule_pay(schedule, turn_at(pick, choice->position), total);
    turn_at(pick, choice->position)->served++;
}

static struct lbr_turn *best_of_mask(const struct lbr_pick *pick,
                                     struct lbr_wide *best_bid,
                                     uint32_t *position)
{
    struct lbr_turn *best = NULL;
    uint32_t count = pick->group->count;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        struct lbr_turn *turn = turn_at(pick, i);
        struct lbr_wide bid = lbr_schedule_bid(&pick->group->schedule, turn);

        if (best &&
            !lbr_heap_above(bid, turn->node.order, *best_bid, best->node.order))
            continue;
        best = turn;
        *best_bid = bid;
        *position = i;
    }
    return best;
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    struct lbr_wide bid = {0, 0};

    if (pick->filtered) {
        (void)best_of_mask(pick, &bid, &choice->position);
        choice->commit = commit_some;
    } else {
        struct lbr_turn *turn = lbr_schedule_peek(&pick->group->schedule, &bid);
        const struct lbr_member *member =
            LBR_OWNER(turn, struct lbr_member, turn);

        choice->position = member->position;
        choice->commit = commit_all;
    }
    choice->rule = LBROUTE_RULE_WEIGHTED;
    choice->score = lbr_schedule_score(bid);
}

static double score(const struct lbr_pick *pick, uint32_t position)
{
    return lbr_schedule_score(
        lbr_schedule_bid(&pick->group->schedule, turn_at(pick, position)));
}

const struct lbr_strategy lbr_strategy_weighted = {
    .name = "weighted",
    .uses = LBR_USES_SCHEDULE,
    .promise = LBR_PROMISE_BY_WEIGHT,
    .choose = choose,
    .score = score,
};
