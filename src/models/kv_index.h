/* SPDX-License-Identifier: MIT */
/* Which blocks of prompts are resident at which owner, exactly, from what the
 * owners say of them.
 *
 *     (owner, name) ─▶ label: key, copies in each medium, parent
 *                        │ key
 *                        ▼
 *                      node ─▶ set of (owner, its labels for the block)
 *
 * A **key** tells what stands in a block, and in all blocks before it: it is
 * mixed from the key before and the hash of the block's content, so that a
 * prompt is the row of its keys, and blocks need no links between them. What
 * the owner calls a block, its **name**, only matters for removing it and for
 * saying what follows. Two labels of an owner with one key are two copies.
 *
 * A prompt is looked up along its keys. Blocks in a row are mostly held by the
 * same owners, that is, the same set, which is only looked at where it changes.
 * What nearly everybody holds, such as a system prompt, comes first in a
 * prompt; those who hold no more than that are only listed if somebody asks:
 *
 *     prompt:  [ many holders | some | few … ]      met: the few
 *                heads ──────────────┘
 *
 *
 * A block after one that is not known waits; see kv_index_waiting.h. Labels are
 * bounded. When there is no room, a hand goes round all labels and takes one
 * that has no child, of an owner with more than its part, and from there on up;
 * a prompt loses its end before its head. An owner is retired in constant time:
 * what it held counts for nobody, and the same hand takes it away, a few labels
 * with each that is added. */
#ifndef LBR_MODELS_KV_INDEX_H
#define LBR_MODELS_KV_INDEX_H

#include "containers/list.h"
#include "models/kv_index_labels.h"
#include "models/kv_index_nodes.h"
#include "models/kv_index_sets.h"

struct lbr_kv_owner {
    struct lbr_slot slot;
    void *context; /* of whoever keeps the index */
    uint8_t retired;
    uint8_t guessing; /* for whoever keeps the index */

    /* The latest match that met it: leading blocks, and how many of them are in
     * which medium, the fastest of each. */
    uint32_t run;
    uint32_t found[LBR_KV_MEDIA];
    uint64_t met_by;

    uint32_t labels;               /* ghosts included */
    uint32_t resident;             /* labels with a copy */
    uint32_t blocks[LBR_KV_MEDIA]; /* those with one there */
    uint32_t waiting_count;
    struct lbr_link waiting; /* oldest first */
    uint64_t evicted;        /* labels that made room */
};

#define LBR_KV_HEADS 4U

/* Blocks in a row with the same holders. */
struct lbr_kv_stretch {
    lbr_kv_set set;
    uint32_t begin, length;
};

struct lbr_kv_index {
    struct lbr_memory *memory;
    struct lbr_kv_nodes nodes;
    struct lbr_kv_labels labels;
    struct lbr_kv_sets sets;
    struct lbr_slab owners;
    struct lbr_slab waiting;
    struct lbr_map waiting_names, waiting_parents;

    uint32_t holders;        /* owners with a label, retired ones apart */
    uint32_t retired_labels; /* labels of retired owners */
    uint32_t resident;       /* labels with a copy, of the others */
    lbr_kv_label hand;       /* the label looked at last */
    lbr_kv_label end;        /* became the end of a prompt when room was made */
    uint64_t evicted;

    uint64_t matches; /* so far */
    /* What the latest one found: first stretches with many holders, … */
    struct lbr_kv_stretch heads[LBR_KV_HEADS];
    uint32_t head_count;
    uint32_t *met; /* … and owners that hold these and more, by index … */
    uint32_t met_count;
    uint32_t met_capacity; /* … as many as there are owners */
};

/* What became of a block. */
enum lbr_kv_fate {
    LBR_KV_FATE_DONE,    /* as asked: it came into the medium, or left it */
    LBR_KV_FATE_NOTHING, /* it was there already; or was not there */
    LBR_KV_FATE_UNKNOWN, /* no such label */
    LBR_KV_FATE_NO_ROOM, /* there is no room for it */
    LBR_KV_FATE_LOST     /* no memory to remove it: what the owner is said to
                          * hold is not true any more */
};

/* A place in a prompt: after the block of a label, or at the beginning (0). */
struct lbr_kv_spot {
    uint64_t key;
    lbr_kv_label label;
};

/* A block of an owner, by name. */
struct lbr_kv_name {
    struct lbr_kv_owner *owner;
    uint64_t name;
};

/* For up to |limit| labels. Takes no memory yet. Uses the slab kinds |kind| to
 * |kind| + 2. The tables are keyed by |secret|, which no engine may know. */
void lbr_kv_index_init(struct lbr_kv_index *index, struct lbr_memory *memory,
                       unsigned kind, uint32_t limit, uint64_t secret);
void lbr_kv_index_destroy(struct lbr_kv_index *index);

/* Upper bound of the memory for |limit| labels. */
size_t lbr_kv_index_estimate(uint32_t limit);

/* A new owner that holds nothing, or NULL without memory, or when there are too
 * many. The first one takes the memory of the tables. */
struct lbr_kv_owner *lbr_kv_owner_add(struct lbr_kv_index *index,
                                      void *context);

/* Ends an owner, and with it all that it holds. */
void lbr_kv_owner_retire(struct lbr_kv_index *index,
                         struct lbr_kv_owner *owner);

static inline uint32_t lbr_kv_owner_index(const struct lbr_kv_owner *owner)
{
    return lbr_slab_index(owner->slot.handle);
}

/* Key of the block with |content| after |key|. */
uint64_t lbr_kv_key_after(uint64_t key, uint64_t content);

/* The spot after a label, if it is known. */
int lbr_kv_index_find(const struct lbr_kv_index *index, struct lbr_kv_name name,
                      struct lbr_kv_spot *spot);

/* Hints that a label will be asked for soon; in a second step what is known of
 * it, and in a third its block. Each looks at what the one before has fetched,
 * when that has had its time. */
void lbr_kv_index_expect(const struct lbr_kv_index *index,
                         struct lbr_kv_name name);
void lbr_kv_index_expect_record(const struct lbr_kv_index *index,
                                struct lbr_kv_name name);
void lbr_kv_index_expect_block(const struct lbr_kv_index *index,
                               struct lbr_kv_name name);

/* Says that the block called |name| is the one with |key|, after that of label
 * |*last|, and is in |medium|; |counted|: one copy more there, else there.
 * Makes it |*last| unless there is no room. |renamed| receives whether the name
 * stood for another block, which it does not any more. */
enum lbr_kv_fate lbr_kv_index_put(struct lbr_kv_index *index,
                                  struct lbr_kv_name name, lbr_kv_label *last,
                                  uint64_t key, unsigned medium, int counted,
                                  int *renamed);

/* The same of a block with |content| at |spot|, which it moves on. */
enum lbr_kv_fate lbr_kv_index_store(struct lbr_kv_index *index,
                                    struct lbr_kv_name name,
                                    struct lbr_kv_spot *spot, uint64_t content,
                                    unsigned medium, int counted, int *renamed);

/* Says that a known block is in |medium|, too. */
enum lbr_kv_fate lbr_kv_index_add_copy(struct lbr_kv_index *index,
                                       struct lbr_kv_name name, unsigned medium,
                                       int counted);

/* Says that a block has left |medium|, or all (LBR_KV_MEDIA); |counted|: one of
 * its copies there. |left| is raised by the media that it has left. */
enum lbr_kv_fate lbr_kv_index_remove(struct lbr_kv_index *index,
                                     struct lbr_kv_name name, unsigned medium,
                                     int counted, uint32_t *left);

/* Takes a name from its block, which is resident under it no more; those after
 * it keep their places. NOTHING: it was resident nowhere. */
enum lbr_kv_fate lbr_kv_index_unname(struct lbr_kv_index *index,
                                     struct lbr_kv_name name);

/* Takes away a little of what retired owners have left behind. */
void lbr_kv_index_sweep(struct lbr_kv_index *index);

/* Walks along the |count| keys of a prompt and notes at owners how many leading
 * blocks they have: |met| lists those who have more than the heads. What it
 * found holds until the index changes. */
void lbr_kv_index_match(struct lbr_kv_index *index, const uint64_t *keys,
                        size_t count);

/* Leading blocks that an owner can have who was not met. */
uint32_t lbr_kv_index_unmet(const struct lbr_kv_index *index);

/* Makes the latest match meet an owner. Returns the number of its leading
 * blocks; 0: it was not met. */
uint32_t lbr_kv_index_meet(struct lbr_kv_index *index,
                           struct lbr_kv_owner *owner);

/* Makes it meet all who have any. */
void lbr_kv_index_meet_all(struct lbr_kv_index *index);

#endif
