/* SPDX-License-Identifier: MIT */
/* From a checked request to a choice: scope, filters, strategy. */
#ifndef LBR_POLICY_ROUTE_H
#define LBR_POLICY_ROUTE_H

#include "policy/pick.h"

/* Beside the public codes: the strategy wants the ring key, or the blocks of
 * the prompt (of pick->block_bytes). The caller hashes them without the lock
 * and asks again; see lbr_request_supply(). */
enum { LBR_ROUTE_NEEDS_KEY = 1, LBR_ROUTE_NEEDS_BLOCKS = 2 };

/* Chooses at |now|; moves nothing. Returns 0 with a choice;
 * LBROUTE_ERR_NO_TARGET when nobody is eligible (lbr_filter_explain() tells
 * why); LBROUTE_ERR_NOT_FOUND for a stale pool; or what it needs. */
int lbr_route(struct lbroute_router *router, const struct lbr_ask *ask,
              uint64_t now, struct lbr_pick *pick, struct lbr_choice *choice);

/* Makes a choice count: the rule moves, the slot is taken, the pin renewed,
 * the ticket filled in. */
void lbr_route_commit(struct lbr_pick *pick, const struct lbr_choice *choice,
                      struct lbr_ticket *ticket);

#endif
