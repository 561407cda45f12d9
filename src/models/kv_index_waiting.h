/* SPDX-License-Identifier: MIT */
/* Blocks that wait for the one before them to be told.
 *
 *     owner ─▶ waiting, oldest first       found by name, and by parent
 *     parent ─▶ first ─▶ next ─▶ …         in the table stands the first
 *
 * They are resident nowhere as far as prompts are concerned. When their parent
 * is stored they follow, and after them those that wait for them. Their number
 * is an eighth of that of labels at most; then the owner's oldest goes. */
#ifndef LBR_MODELS_KV_INDEX_WAITING_H
#define LBR_MODELS_KV_INDEX_WAITING_H

#include "models/kv_index.h"

struct lbr_kv_waiting {
    struct lbr_slot slot;
    struct lbr_link link;     /* of the owner's, or of those about to follow */
    struct lbr_link siblings; /* a ring of those after the same parent */
    uint64_t name, parent, content;
    uint32_t owner;
    uint8_t copies[LBR_KV_MEDIA];
    uint8_t first; /* of its siblings */
};

void lbr_kv_waiting_init(struct lbr_kv_index *index, unsigned kind,
                         uint32_t limit);
void lbr_kv_waiting_destroy(struct lbr_kv_index *index);
size_t lbr_kv_waiting_estimate(uint32_t limit);

/* Says that a block is in |medium|, after one that is not known; |counted|: one
 * copy more, else there. What waited under the name with other content is gone.
 * Returns 0 without room. */
int lbr_kv_waiting_add(struct lbr_kv_index *index, struct lbr_kv_name name,
                       uint64_t parent, uint64_t content, unsigned medium,
                       int counted);

/* Says that a block that waits is in |medium|, too; returns 0 if none of that
 * name does. */
int lbr_kv_waiting_add_copy(struct lbr_kv_index *index, struct lbr_kv_name name,
                            unsigned medium, int counted);

/* Says that a block that waits has left |medium|, or all (LBR_KV_MEDIA);
 * returns 0 if none of that name does. */
int lbr_kv_waiting_remove(struct lbr_kv_index *index, struct lbr_kv_name name,
                          unsigned medium, int counted);

/* Lets those follow that wait for |name|, which is known now. Returns the
 * number of media that they came into. */
uint32_t lbr_kv_waiting_follow(struct lbr_kv_index *index,
                               struct lbr_kv_name name);

/* Drops all of an owner's. */
void lbr_kv_waiting_forget(struct lbr_kv_index *index,
                           struct lbr_kv_owner *owner);

#endif
