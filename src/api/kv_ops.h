/* SPDX-License-Identifier: MIT */
/* KV events as operations, one a block; without the lock. */
#ifndef LBR_API_KV_OPS_H
#define LBR_API_KV_OPS_H

#include "state/kv_source.h"

/* Where the reading of a batch is. */
struct lbr_kv_reader {
    const unsigned char *row; /* of the caller's events */
    size_t rows, row_size;
    uint64_t secret;
    lbroute_kv_event event; /* the one being read, completed … */
    size_t block, blocks;   /* … and where in it; at the end: take the next */
    uint64_t reasons[LBROUTE_KV_REASON_COUNT];
};

/* Checks the events of a batch. Returns 0 or an error code. */
int lbr_kv_events_check(const lbroute_kv_batch *batch);

/* Begins with the events of a checked batch. */
void lbr_kv_reader_init(struct lbr_kv_reader *reader,
                        const lbroute_kv_batch *batch, uint64_t secret);

/* Makes up to |capacity| operations; fewer only at the end. Returns their
 * number. */
size_t lbr_kv_reader_next(struct lbr_kv_reader *reader, struct lbr_kv_op *ops,
                          size_t capacity);

/* A digest of operations, to know a batch again. */
uint64_t lbr_kv_ops_digest(const struct lbr_kv_op *ops, size_t count);

#endif
