/* SPDX-License-Identifier: MIT */
/* Sets of owners, each kept once: blocks that follow each other are mostly held
 * by the same owners, so that a whole prompt is a few sets.
 *
 *     set:  hash | references | count | entries: [ owner 16 | labels 16 ] …
 *                                       ascending by owner
 *     labels of the owner for the block, 4 bits each:
 *           ghosts | disk | host | GPU
 *
 * A set is known by its content: its hash is the sum of its entries' hashes, so
 * that the hash of a set with one entry more or less follows without looking at
 * the others. */
#ifndef LBR_MODELS_KV_INDEX_SETS_H
#define LBR_MODELS_KV_INDEX_SETS_H

#include "containers/arena.h"
#include "containers/map.h"
#include "containers/slab.h"

/* Labels by kind, in an entry: those that are resident in each medium, and
 * those that are nowhere but keep the block's place. */
#define LBR_KV_GHOST 3U
#define LBR_KV_KINDS 4U
#define LBR_KV_MOST_LABELS 15U

/* Some label of the entry is resident. */
#define LBR_KV_RESIDENT 0xfffU

#define LBR_KV_OWNERS 65535U

/* A set by its number; 0 is the empty one. */
typedef uint32_t lbr_kv_set;

#define LBR_KV_NO_SET UINT32_MAX

struct lbr_kv_members {
    struct lbr_slot slot;
    uint64_t hash;
    uint32_t references;
    uint32_t count;
    uint32_t *entries;
};

/* The latest change: blocks in a row mostly go through the same ones. */
struct lbr_kv_change {
    lbr_kv_set from, to; /* to 0: none */
    uint32_t entry;
};

struct lbr_kv_sets {
    struct lbr_slab slab;
    struct lbr_map by_hash;
    struct lbr_arena arena; /* entries */
    struct lbr_kv_change latest;
    uint64_t secret; /* engines choose who holds what */
};

void lbr_kv_sets_init(struct lbr_kv_sets *sets, struct lbr_memory *memory,
                      unsigned kind, uint32_t limit, uint64_t secret);
void lbr_kv_sets_destroy(struct lbr_kv_sets *sets);

static inline uint32_t lbr_kv_entry(uint32_t owner, uint32_t labels)
{
    return owner << 16 | labels;
}

static inline uint32_t lbr_kv_entry_owner(uint32_t entry)
{
    return entry >> 16;
}

static inline uint32_t lbr_kv_entry_labels(uint32_t entry)
{
    return entry & 0xffffU;
}

static inline const struct lbr_kv_members *lbr_kv_set_members(
    const struct lbr_kv_sets *sets, lbr_kv_set set)
{
    return lbr_slab_at(&sets->slab, set - 1);
}

/* The labels of |owner| in |set|; 0: it is not in it. */
uint32_t lbr_kv_set_labels(const struct lbr_kv_sets *sets, lbr_kv_set set,
                           uint32_t owner);

/* The set that differs from |set| in that |owner| has |labels| (0: is not in
 * it), in exchange for one reference to |set|. Returns LBR_KV_NO_SET without
 * memory; then nothing changed. Taking an owner out needs memory, too. */
lbr_kv_set lbr_kv_set_change(struct lbr_kv_sets *sets, lbr_kv_set set,
                             uint32_t owner, uint32_t labels);

/* Upper bound of the memory of the sets of |blocks| blocks, each of which is in
 * one entry. */
size_t lbr_kv_sets_estimate(uint32_t blocks);

#endif
