/* SPDX-License-Identifier: MIT */
/* Objects of one size in chunks that never move, named by 64-bit handles that
 * go stale when the object is freed.
 *
 *     handle:  kind (4) | generation (36) | index + 1 (24)
 *
 *     chunks ─▶ [ chunk 0 ][ chunk 1 ] …      chunk: slot slot slot …
 *     free list: last freed first, so a busy slot stays in cache
 *
 * The kind keeps a handle of one table from naming an object of another. A
 * slot whose generations are used up is retired: no handle ever comes back. */
#ifndef LBR_CONTAINERS_SLAB_H
#define LBR_CONTAINERS_SLAB_H

#include "base/memory.h"

/* Every object begins with this. */
struct lbr_slot {
    uint64_t handle;    /* of the object, or of the next one in this slot */
    uint32_t next_free; /* LBR_SLOT_LIVE while in use */
    uint32_t spare;     /* for the object */
};

#define LBR_SLOT_LIVE UINT32_MAX

struct lbr_slab {
    struct lbr_memory *memory;
    unsigned char **chunks;
    size_t object_size;
    uint64_t kind; /* already shifted */
    uint32_t chunk_bits;
    uint32_t chunk_count, chunk_capacity;
    uint32_t limit;
    uint32_t live;      /* objects in use */
    uint32_t used;      /* slots ever used */
    uint32_t free_head; /* index + 1, 0: none */
};

/* |kind| is 1 to 15; chunks hold 2^|chunk_bits| objects. */
void lbr_slab_init(struct lbr_slab *slab, struct lbr_memory *memory,
                   unsigned kind, size_t object_size, unsigned chunk_bits,
                   uint32_t limit);

void lbr_slab_destroy(struct lbr_slab *slab);

/* Takes an object: its slot is set, the rest is what it was. Returns 0,
 * LBROUTE_ERR_LIMIT or LBROUTE_ERR_NO_MEMORY. */
int lbr_slab_take(struct lbr_slab *slab, void **object);

/* Makes sure that the next object needs no memory. Returns as
 * lbr_slab_take(). */
int lbr_slab_reserve(struct lbr_slab *slab);

/* Frees an object; its handle is stale from now on. */
void lbr_slab_give(struct lbr_slab *slab, void *object);

/* The live object after the slot that |previous| names (0: the first), or
 * NULL. |previous| may be stale. */
void *lbr_slab_next(const struct lbr_slab *slab, uint64_t previous);

/* Upper bound of the memory of a slab with |limit| objects. */
size_t lbr_slab_estimate(size_t object_size, unsigned chunk_bits,
                         uint32_t limit);

static inline void *lbr_slab_at(const struct lbr_slab *slab, uint32_t index)
{
    return slab->chunks[index >> slab->chunk_bits] +
           (index & ((1U << slab->chunk_bits) - 1)) * slab->object_size;
}

static inline uint32_t lbr_slab_index(uint64_t handle)
{
    return (uint32_t)(handle & 0xffffff) - 1;
}

/* The live object of a handle, or NULL. */
static inline void *lbr_slab_find(const struct lbr_slab *slab, uint64_t handle)
{
    uint32_t index = lbr_slab_index(handle);
    struct lbr_slot *slot;

    if (index >= slab->used)
        return NULL;
    slot = lbr_slab_at(slab, index);
    if (slot->handle != handle || slot->next_free != LBR_SLOT_LIVE)
        return NULL;
    return slot;
}

#endif
