/* SPDX-License-Identifier: MIT */
/* Requests sent to one target over a sliding window, in buckets:
 *
 *     bucket = now / bucket length;   sent[bucket % 12]
 */
#ifndef LBR_STATE_SHARE_H
#define LBR_STATE_SHARE_H

#include "state/param.h"

struct lbr_share_log {
    uint64_t bucket; /* the latest one written */
    uint32_t sent[LBR_SHARE_BUCKETS];
};

/* Counts a request in |bucket|. */
void lbr_share_count(struct lbr_share_log *log, uint64_t bucket);

/* Requests in the window that ends with |bucket|. */
uint64_t lbr_share_sum(const struct lbr_share_log *log, uint64_t bucket);

#endif
