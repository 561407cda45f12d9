/* SPDX-License-Identifier: MIT */
/* Blocks by key: what stands in them, and after what. A fixed number of buckets
 * of one cache line each, so that a lookup costs one cache miss and no change a
 * pause.
 *
 *     bucket (64 bytes):  [ key key key key key ][ set set set set set ] passed
 *
 * An entry that does not fit into its bucket goes to the next one with room;
 * each bucket counts the entries that have passed it, so that a search ends at
 * the first one that none has passed; where few buckets are all passed, once it
 * has seen them all. Nothing is ever moved, and nothing is left behind by what
 * is removed.
 *
 * Source: the counters are those of F14, Bronson and Shi, "Open-sourcing F14
 * for faster, more memory-efficient hash tables", 2019. */
#ifndef LBR_MODELS_KV_INDEX_NODES_H
#define LBR_MODELS_KV_INDEX_NODES_H

#include "models/kv_index_sets.h"

#define LBR_KV_NODES_IN_BUCKET 5U

struct lbr_kv_node_bucket {
    uint64_t keys[LBR_KV_NODES_IN_BUCKET];
    lbr_kv_set sets[LBR_KV_NODES_IN_BUCKET]; /* 0: free */
    uint32_t passed;
};

struct lbr_kv_nodes {
    struct lbr_memory *memory;
    void *space; /* of the buckets, before alignment; NULL: none yet */
    struct lbr_kv_node_bucket *buckets;
    uint32_t bucket_count;
    uint32_t count;
};

/* For up to |limit| nodes. Takes no memory yet. */
void lbr_kv_nodes_init(struct lbr_kv_nodes *nodes, struct lbr_memory *memory,
                       uint32_t limit);

/* Takes the memory. Returns 0 if there is none. */
int lbr_kv_nodes_prepare(struct lbr_kv_nodes *nodes);

void lbr_kv_nodes_destroy(struct lbr_kv_nodes *nodes);

static inline struct lbr_kv_node_bucket *lbr_kv_node_home(
    const struct lbr_kv_nodes *nodes, uint64_t key)
{
    return &nodes->buckets[(key >> 32) * nodes->bucket_count >> 32];
}

/* Hints that a node will be looked up soon. */
static inline void lbr_kv_node_prefetch(const struct lbr_kv_nodes *nodes,
                                        uint64_t key)
{
#if defined(__GNUC__)
    __builtin_prefetch(lbr_kv_node_home(nodes, key));
#else
    (void)nodes;
    (void)key;
#endif
}

/* The set of a node, where it stands; NULL: there is no such node. */
lbr_kv_set *lbr_kv_node_find(const struct lbr_kv_nodes *nodes, uint64_t key);

/* Adds a node that is not there; fewer than |limit| are. */
void lbr_kv_node_add(struct lbr_kv_nodes *nodes, uint64_t key, lbr_kv_set set);

/* Removes a node that is there. */
void lbr_kv_node_remove(struct lbr_kv_nodes *nodes, uint64_t key);

size_t lbr_kv_nodes_estimate(uint32_t limit);

#endif
