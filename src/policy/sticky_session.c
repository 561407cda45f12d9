/* SPDX-License-Identifier: MIT */
/* sticky_session: where the session, else the client, was last served with
 * success; without such a pin, or while its target may not be chosen, least
 * connections. */
#include "policy/strategy.h"

#include "containers/bits.h"

#include <math.h>

/* The pinned member if it is eligible, else LBR_BITS_NONE. */
static uint32_t pinned(const struct lbr_pick *pick)
{
    const struct lbr_target *target;

    if (!pick->session)
        return LBR_BITS_NONE;
    target = lbr_router_target(pick->router, pick->session->target);
    if (!target || target->by_pool.group != pick->group ||
        !lbr_bits_has(pick->mask, target->by_pool.position))
        return LBR_BITS_NONE;
    return target->by_pool.position;
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    uint32_t position = pinned(pick);

    if (position == LBR_BITS_NONE) {
        lbr_least_connections_choose(pick, choice);
        return;
    }
    choice->position = position;
    choice->rule = LBROUTE_RULE_STICKY_SESSION;
    choice->score = (double)NAN;
    choice->commit = NULL;
}

const struct lbr_strategy lbr_strategy_sticky_session = {
    "sticky_session", LBR_USES_ORDER, LBR_PROMISE_NONE, 0, 1,
    choose,           lbr_score_load};
