/* SPDX-License-Identifier: MIT */
/* consistent_hash: the ring's owner of the session, else of the whole
 * conversation. An owner that may not be chosen, or is above its bound, passes
 * the key to the next point; without any key the load decides.
 *
 * Bound: Mirrokni, Thorup, Zadimoghaddam, "Consistent Hashing with Bounded
 * Loads", 2018. */
#include "policy/strategy.h"

#include "containers/bits.h"

#include <math.h>

/* Whether one more request keeps a member within its bound: a multiple of its
 * fair share, by weight, of all requests in service. */
static int within_bound(const struct lbr_pick *pick,
                        const struct lbr_target *target)
{
    const struct lbr_group *group = pick->group;
    double bound = target->pool->params.load_bound;
    double fair;

    if (bound <= 0 || group->weight_sum <= 0)
        return 1;
    fair = (group->load_sum + 1) * target->weight_now / group->weight_sum;
    return lbr_target_load(target) + 1 <= ceil(bound * fair);
}

/* The member that a point belongs to, or LBR_BITS_NONE if it is not
 * eligible. */
static uint32_t eligible_owner(const struct lbr_pick *pick, uint32_t slot)
{
    const struct lbr_target *target = lbr_slab_at(
        &pick->router->targets, lbr_ring_owner(&pick->group->ring, slot));
    uint32_t position = target->by_pool.position;

    return lbr_bits_has(pick->mask, position) ? position : LBR_BITS_NONE;
}

/* First owner along the ring that is eligible and within its bound; when all
 * are above it, the first eligible one. |*passed| tells whether the key was
 * passed on on the way. */
static uint32_t walk(const struct lbr_pick *pick, uint32_t slot, int *passed)
{
    uint32_t first = LBR_BITS_NONE;
    uint32_t steps;

    for (steps = 0; steps < pick->group->ring.points; steps++) {
        uint32_t position = eligible_owner(pick, slot);

        if (position != LBR_BITS_NONE) {
            int fits = within_bound(pick, lbr_pick_target(pick, position));

            if (fits || first == LBR_BITS_NONE) {
                first = position;
                *passed = steps > 0;
            }
            if (fits)
                break;
        }
        slot = lbr_ring_next(&pick->group->ring, slot);
    }
    return first;
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    int passed = 0;
    uint32_t slot;

    if (!pick->ask->ring_key_known) {
        lbr_least_connections_choose(pick, choice);
        return;
    }
    slot = lbr_ring_find(&pick->group->ring, pick->ask->ring_key);
    choice->position = walk(pick, slot, &passed);
    choice->rule =
        passed ? LBROUTE_RULE_RING_NEXT : LBROUTE_RULE_CONSISTENT_HASH;
    choice->score = (double)NAN;
    choice->commit = NULL;
}

const struct lbr_strategy lbr_strategy_consistent_hash = {
    .name = "consistent_hash",
    .uses = LBR_USES_RING | LBR_USES_ORDER,
    .promise = LBR_PROMISE_NONE,
    .needs_ring_key = 1,
    .choose = choose,
};
