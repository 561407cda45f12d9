/* SPDX-License-Identifier: MIT */
/* round_robin: the eligible member that has waited longest. */
#include "policy/strategy.h"

#include "containers/bits.h"

#include <math.h>

static struct lbr_rotation_place *place_at(const struct lbr_pick *pick,
                                           uint32_t position)
{
    return &lbr_group_member(pick->group, position)->place;
}

static void commit(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    lbr_rotation_serve(&pick->group->rotation,
                       place_at(pick, choice->position));
}

static uint32_t first_of_mask(const struct lbr_pick *pick)
{
    uint32_t count = pick->group->count;
    uint32_t best = lbr_bits_next(pick->mask, count, 0);
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, best + 1); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1))
        if (lbr_rotation_before(place_at(pick, i), place_at(pick, best)))
            best = i;
    return best;
}

static uint32_t first_of_all(const struct lbr_pick *pick)
{
    const struct lbr_member *member = LBR_OWNER(
        lbr_rotation_peek(&pick->group->rotation), struct lbr_member, place);

    return member->position;
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    choice->position =
        pick->filtered ? first_of_mask(pick) : first_of_all(pick);
    choice->rule = LBROUTE_RULE_ROUND_ROBIN;
    choice->score = (double)NAN;
    choice->commit = commit;
}

const struct lbr_strategy lbr_strategy_round_robin = {
    .name = "round_robin",
    .uses = LBR_USES_ROTATION,
    .promise = LBR_PROMISE_EQUAL,
    .choose = choose,
};
