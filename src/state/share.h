/* SPDX-License-Identifier: MIT */
/* Requests sent to one target over a sliding window, in buckets:
 *
 *     bucket = now / bucket length;   sent[bucket % 12]
 */
#ifndef LBR_STATE_SHARE_H
#define LBR_STATE_SHARE_H

#include "base/bytes.h"
#include "state/param.h"

struct lbr_share_log {
    uint64_t bucket; /* the latest one written */
    uint32_t sent[LBR_SHARE_BUCKETS];
};

/* Counts a request in |bucket|. */
void lbr_share_count(struct lbr_share_log *log, uint64_t bucket);

/* Requests in the window that ends with |bucket|. */
uint64_t lbr_share_sum(const struct lbr_share_log *log, uint64_t bucket);

/* The window that ends with |bucket| as bytes; and back, as far as it reaches
 * back from |bucket|, |shift| of which have passed since. */
void lbr_share_save(const struct lbr_share_log *log, uint64_t bucket,
                    struct lbr_writer *writer);
void lbr_share_load(struct lbr_share_log *log, uint64_t bucket, uint64_t shift,
                    struct lbr_reader *reader);

#endif
