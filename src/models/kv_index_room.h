/* SPDX-License-Identifier: MIT */
/* Room for labels: who makes it, and what retired owners have left. */
#ifndef LBR_MODELS_KV_INDEX_ROOM_H
#define LBR_MODELS_KV_INDEX_ROOM_H

#include "models/kv_index.h"

/* Makes sure that |owner| can have one more label; at the limit by taking one
 * from whoever has more than its equal part. Returns 0 when there is none to be
 * taken nearby, or no memory. */
int lbr_kv_room_make(struct lbr_kv_index *index, struct lbr_kv_owner *owner);

/* Takes all labels of retired owners away, so that an owner is free again. */
void lbr_kv_room_sweep_owner(struct lbr_kv_index *index);

/* Forgets a label, and its block if nobody else holds it. Returns 0 without
 * memory. */
int lbr_kv_label_forget(struct lbr_kv_index *index, lbr_kv_label label);

/* The same of a label without children; its parent has one child less. */
int lbr_kv_label_end(struct lbr_kv_index *index, lbr_kv_label label);

/* A label as it was saved: all it is but for its parent's place. */
struct lbr_kv_saved {
    uint64_t name, key;
    uint8_t copies[LBR_KV_MEDIA];
    int named;
};

/* Adds a label after |parent| (0: none), making no room for it. Returns the
 * label; 0: there is no room, or another of that name. */
lbr_kv_label lbr_kv_label_restore(struct lbr_kv_index *index,
                                  struct lbr_kv_owner *owner,
                                  const struct lbr_kv_saved *saved,
                                  lbr_kv_label parent);

#endif
