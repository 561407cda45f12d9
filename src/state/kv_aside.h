/* SPDX-License-Identifier: MIT */
/* Batches behind a gap, in the order of their numbers. All together hold an
 * eighth as many operations as there may be blocks; one for which there is no
 * room has to come again. */
#ifndef LBR_STATE_KV_ASIDE_H
#define LBR_STATE_KV_ASIDE_H

#include "state/kv_source.h"

/* Most operations that are kept aside where there may be |blocks|. */
uint32_t lbr_kv_aside_limit(uint32_t blocks);
size_t lbr_kv_aside_estimate(uint32_t blocks);

/* The one with the lowest number, or NULL. */
struct lbr_kv_aside *lbr_kv_aside_first(const struct lbr_kv_source *source);

/* Whether the batch with |number| is there. */
int lbr_kv_aside_has(const struct lbr_kv_source *source, uint64_t number);

/* Operations of all. */
uint64_t lbr_kv_aside_ops(const struct lbr_kv_source *source);

/* A new, empty one; NULL without room or memory. */
struct lbr_kv_aside *lbr_kv_aside_begin(struct lbr_kv_store *store,
                                        struct lbr_kv_source *source,
                                        const struct lbr_kv_stamp *stamp);

/* Adds operations. Returns 0 without room or memory. */
int lbr_kv_aside_append(struct lbr_kv_store *store, struct lbr_kv_aside *aside,
                        const struct lbr_kv_op *ops, size_t count);

void lbr_kv_aside_drop(struct lbr_kv_store *store, struct lbr_kv_aside *aside);

/* Drops those with numbers up to |number|; or all. */
void lbr_kv_aside_drop_until(struct lbr_kv_store *store,
                             struct lbr_kv_source *source, uint64_t number);
void lbr_kv_aside_drop_all(struct lbr_kv_store *store,
                           struct lbr_kv_source *source);

#endif
