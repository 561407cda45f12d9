/* SPDX-License-Identifier: MIT */
/* sticky_session: where the session, else the client, was last served with
 * success; without such a pin, or while its target may not be chosen, least
 * connections. */
#include "policy/strategy.h"

#include "containers/bits.h"

#include <math.h>

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    uint32_t position = lbr_pick_pinned(pick);

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
    .name = "sticky_session",
    .uses = LBR_USES_ORDER,
    .promise = LBR_PROMISE_NONE,
    .pins = LBR_PINS_SESSIONS_OR_CLIENTS,
    .choose = choose,
    .score = lbr_score_load,
};
