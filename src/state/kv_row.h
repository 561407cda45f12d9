/* SPDX-License-Identifier: MIT */
/* The operations of a batch, one after the other. */
#ifndef LBR_STATE_KV_ROW_H
#define LBR_STATE_KV_ROW_H

#include "state/kv_source.h"

/* Fetches what the operations will ask for. */
void lbr_kv_row_expect(const struct lbr_kv_store *store,
                       const struct lbr_kv_source *source,
                       const struct lbr_kv_op *ops, size_t count);

/* Goes on with a row of blocks after others may have had their turn. */
void lbr_kv_row_resume(const struct lbr_kv_store *store,
                       struct lbr_kv_source *source);

/* Takes an operation over (any but LBR_KV_EMPTY). Returns 0 when there was no
 * memory to remove something: what the source is known for is not true then. */
int lbr_kv_row_apply(struct lbr_kv_store *store, struct lbr_kv_source *source,
                     const struct lbr_kv_op *op,
                     const struct lbr_kv_rules *rules,
                     lbroute_kv_result *result);

#endif
