/* SPDX-License-Identifier: MIT */
#include "policy/lookup.h"

static void note(const struct lbr_pick *pick, struct lbr_target *target,
                 uint64_t tokens)
{
    if (target->looked_up_by == pick->lookup && target->lookup_tokens >= tokens)
        return;
    target->looked_up_by = pick->lookup;
    target->lookup_tokens = tokens;
}

void lbr_lookup_spread(struct lbr_pick *pick)
{
    const lbroute_request *request = pick->ask->request;
    size_t i;

    if (!request->lookup_len)
        return;
    pick->lookup = ++pick->router->lookups;
    for (i = 0; i < request->lookup_len; i++) {
        struct lbr_target *target =
            lbr_router_target(pick->router, request->lookup_targets[i]);

        if (target)
            note(pick, target, request->lookup_tokens[i]);
    }
}
