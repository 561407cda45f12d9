/* SPDX-License-Identifier: MIT */
/* What a router shares with others: who it is, what it has to tell, and what it
 * was told. */
#ifndef LBR_STATE_SHARING_H
#define LBR_STATE_SHARING_H

#include "state/news.h"
#include "state/peers.h"

struct lbr_sharing {
    uint64_t origin;
    uint64_t exported, applied, repeated; /* deltas */
    uint64_t tellings; /* of loads that were taken over, so far */
    struct lbr_news news;
    struct lbr_peers peers;
};

#endif
