/* SPDX-License-Identifier: MIT */
/* From a checked request to a choice: scope, filters, strategy. */
#ifndef LBR_POLICY_ROUTE_H
#define LBR_POLICY_ROUTE_H

#include "policy/pick.h"

/* Beside the public codes: what must be done without the lock before the
 * request can be routed. */
#define LBR_ROUTE_NEEDS_KEY 1    /* the ring key must be hashed */
#define LBR_ROUTE_NEEDS_STAGES 2 /* the pool's own stages must be called */
#define LBR_ROUTE_AGAIN 3 /* their results are about others: call again */
#define LBR_ROUTE_NEEDS_BLOCKS 4 /* the prompt's blocks must be hashed */
#define LBR_ROUTE_NEEDS_CHAINS 5 /* and their rows of keys made */
#define LBR_ROUTE_NEEDS_COPY 6   /* it must be copied, since it has to wait */

/* Chooses at |now|; moves nothing. Returns 0 with a choice;
 * LBROUTE_ERR_NO_TARGET when nobody is eligible (lbr_filter_explain() tells
 * why); LBROUTE_ERR_NOT_FOUND for a stale pool; LBROUTE_ERR_NO_MEMORY; or a
 * code above. */
int lbr_route(struct lbroute_router *router, struct lbr_ask *ask, uint64_t now,
              struct lbr_pick *pick, struct lbr_choice *choice);

/* Call first. Returns 0, or LBROUTE_ERR_BUSY in a thread that is inside one of
 * the router's stages. */
static inline int lbr_route_admit(const struct lbroute_router *router,
                                  const struct lbr_ask *ask)
{
    if (lbr_list_empty(&router->stages.under_way) || ask->run)
        return LBROUTE_OK;
    return lbr_stages_inside(&router->stages) ? LBROUTE_ERR_BUSY : LBROUTE_OK;
}

/* Does what a code above asks for and returns 1: ask again. With any other
 * result it ends what was begun and returns 0. Blocks are of |block_bytes|. The
 * lock is not held. */
int lbr_route_act(struct lbroute_router *router, struct lbr_ask *ask,
                  int result, size_t block_bytes);

/* The same; mostly there is nothing to do. */
static inline int lbr_route_supply(struct lbroute_router *router,
                                   struct lbr_ask *ask, int result,
                                   size_t block_bytes)
{
    if (result <= 0 && !ask->run && !ask->hashed.scratch &&
        !ask->chains.scratch && !ask->copy)
        return 0;
    return lbr_route_act(router, ask, result, block_bytes);
}

/* Makes a choice count: the rule moves, the slot is taken, the pin renewed,
 * the ticket filled in. */
void lbr_route_commit(struct lbr_pick *pick, const struct lbr_choice *choice,
                      struct lbr_ticket *ticket);

#endif
