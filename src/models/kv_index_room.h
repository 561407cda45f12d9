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

#endif
