/* SPDX-License-Identifier: MIT */
/* The labels of an index as bytes, and back: one after the other, each after
 * the one that it follows in its prompt, else in the order of their places, by
 * which room is made.
 *
 *     label:  owner's mark, whether it is named, name, key, number of its
 *             parent from 1 (0: none), copies in each medium
 *
 * Owners have marks from 1 on; what is of an owner without a mark is left out.
 */
#ifndef LBR_MODELS_KV_INDEX_SAVED_H
#define LBR_MODELS_KV_INDEX_SAVED_H

#include "base/bytes.h"
#include "models/kv_index.h"

/* Takes all marks away; then owners are marked. */
void lbr_kv_marks_clear(struct lbr_kv_index *index);
static inline void lbr_kv_mark(struct lbr_kv_owner *owner, uint32_t mark)
{
    owner->slot.spare = mark;
}

/* Returns 0 without memory: a word for each place. */
int lbr_kv_index_save(struct lbr_kv_index *index, struct lbr_writer *writer);

struct lbr_kv_loading {
    struct lbr_kv_index *index;   /* NULL: only read */
    struct lbr_kv_owner **owners; /* by mark; NULL: not restored */
    uint32_t marks;               /* the highest */
    uint64_t added, dropped;
};

/* Without memory what is left unread tells that it is not whole. */
void lbr_kv_index_load(struct lbr_kv_loading *loading,
                       struct lbr_reader *reader);

/* The same of what waits for an owner's blocks; |index| may be NULL. */
void lbr_kv_waiting_save(struct lbr_kv_owner *owner, struct lbr_writer *writer);
void lbr_kv_waiting_load(struct lbr_kv_index *index, struct lbr_kv_owner *owner,
                         struct lbr_reader *reader);

#endif
