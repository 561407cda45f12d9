/* SPDX-License-Identifier: MIT */
/* Labels: what a source calls a block, and which block it is. Found by owner
 * and name through a fixed number of buckets of one cache line each, as nodes
 * are:
 *
 *     bucket (64 bytes):  [ tag 8 | place 24 ] × 15, passed
 *
 *     chunks ─▶ [ label label … ]  28 bytes each, chunks never move
 *
 * A label whose block is nowhere resident any more stays as a ghost while
 * labels after it say it is their parent: it knows the key that these follow.
 */
#ifndef LBR_MODELS_KV_INDEX_LABELS_H
#define LBR_MODELS_KV_INDEX_LABELS_H

#include "base/memory.h"

#include <string.h>

#define LBR_KV_MEDIA 3U
#define LBR_KV_LABELS_IN_BUCKET 15U
#define LBR_KV_MOST_BLOCKS 16777215U

/* A label by its place; 0 is none. */
typedef uint32_t lbr_kv_label;

/* Words are halved: the struct is aligned to 4 so that it has no gap. */
struct lbr_kv_record {
    uint32_t name[2];
    uint32_t key[2];
    lbr_kv_label parent; /* free: the next free one */
    uint16_t children;   /* labels with this parent; stays at the most */
    uint16_t owner;
    uint8_t copies[LBR_KV_MEDIA];
    uint8_t live; /* 0: free; else enum lbr_kv_life */
};

enum lbr_kv_life {
    LBR_KV_NAMED = 1,
    LBR_KV_NAMELESS /* only there for the labels after it */
};

struct lbr_kv_label_bucket {
    uint32_t places[LBR_KV_LABELS_IN_BUCKET]; /* 0: free */
    uint32_t passed;
};

struct lbr_kv_labels {
    struct lbr_memory *memory;
    uint64_t secret; /* engines choose names */
    void *space;     /* of the buckets, before alignment; NULL: none yet */
    struct lbr_kv_label_bucket *buckets;
    uint32_t bucket_count;
    uint32_t limit;
    struct lbr_kv_record **chunks;
    uint32_t chunk_count, chunk_capacity;
    uint32_t used; /* places ever used, from 1 on */
    uint32_t live;
    lbr_kv_label free_head;
};

#define LBR_KV_CHUNK_BITS 10U

/* For up to |limit| labels, at most LBR_KV_MOST_BLOCKS. Takes no memory yet. */
void lbr_kv_labels_init(struct lbr_kv_labels *labels, struct lbr_memory *memory,
                        uint32_t limit, uint64_t secret);

/* Takes the memory of the buckets. Returns 0 if there is none. */
int lbr_kv_labels_prepare(struct lbr_kv_labels *labels);

void lbr_kv_labels_destroy(struct lbr_kv_labels *labels);

static inline struct lbr_kv_record *lbr_kv_record(
    const struct lbr_kv_labels *labels, lbr_kv_label label)
{
    uint32_t index = label - 1;

    return &labels->chunks[index >> LBR_KV_CHUNK_BITS]
                          [index & ((1U << LBR_KV_CHUNK_BITS) - 1)];
}

static inline uint64_t lbr_kv_word(const uint32_t halves[2])
{
    return (uint64_t)halves[1] << 32 | halves[0];
}

static inline void lbr_kv_set_word(uint32_t halves[2], uint64_t word)
{
    halves[0] = (uint32_t)word;
    halves[1] = (uint32_t)(word >> 32);
}

/* What the label |name| of |owner| is found by. */
uint64_t lbr_kv_label_hash(const struct lbr_kv_labels *labels, uint32_t owner,
                           uint64_t name);

/* Hints that a label will be looked up soon. */
static inline void lbr_kv_label_prefetch(const struct lbr_kv_labels *labels,
                                         uint64_t hash)
{
#if defined(__GNUC__)
    __builtin_prefetch(
        &labels->buckets[(hash >> 32) * labels->bucket_count >> 32]);
#else
    (void)labels;
    (void)hash;
#endif
}

/* The same in a second step, when that has had its time. */
void lbr_kv_label_prefetch_record(const struct lbr_kv_labels *labels,
                                  uint64_t hash);

/* The label |name| of |owner|, or 0. |hash| is theirs. */
lbr_kv_label lbr_kv_label_find(const struct lbr_kv_labels *labels,
                               uint64_t hash, uint32_t owner, uint64_t name);

/* Makes room for one more. Returns 0 without memory, and at the limit. */
int lbr_kv_label_reserve(struct lbr_kv_labels *labels);

/* Adds a label that is not there, all else 0; there is room. */
lbr_kv_label lbr_kv_label_add(struct lbr_kv_labels *labels, uint64_t hash,
                              uint32_t owner, uint64_t name);

/* Takes its name from a label: nobody finds it any more. */
void lbr_kv_label_unname(struct lbr_kv_labels *labels, lbr_kv_label label);

/* Lets places be used from the first on again; there is no label. */
static inline void lbr_kv_labels_rewind(struct lbr_kv_labels *labels)
{
    labels->used = 0;
    labels->free_head = 0;
}

/* Removes a label that is there. */
void lbr_kv_label_remove(struct lbr_kv_labels *labels, lbr_kv_label label);

size_t lbr_kv_labels_estimate(uint32_t limit);

#endif
