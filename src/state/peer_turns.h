/* SPDX-License-Identifier: MIT */
/* One weighted sequence for all routers: turns that peers told of are charged
 * here as if they had been served here. */
#ifndef LBR_STATE_PEER_TURNS_H
#define LBR_STATE_PEER_TURNS_H

#include "state/peers.h"

/* Charges what |rows| tell beyond the peer's present rows. Of a peer that is
 * heard for the first time, or again, nobody knows how many of its turns are
 * news: nothing. */
void lbr_peer_take_turns(struct lbroute_router *router,
                         const struct lbr_peer *peer,
                         const struct lbr_peer_row *rows, uint32_t count);

#endif
