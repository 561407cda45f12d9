/* SPDX-License-Identifier: MIT */
#include "containers/slab.h"

#include <string.h>

#define GENERATION_STEP ((uint64_t)1 << 24)
#define GENERATION_MASK (((uint64_t)1 << 36) - 1)

void lbr_slab_init(struct lbr_slab *slab, struct lbr_memory *memory,
                   unsigned kind, size_t object_size, unsigned chunk_bits,
                   uint32_t limit)
{
    memset(slab, 0, sizeof *slab);
    slab->memory = memory;
    slab->object_size = object_size;
    slab->kind = (uint64_t)kind << 60;
    slab->chunk_bits = chunk_bits;
    slab->limit = limit;
}

void lbr_slab_destroy(struct lbr_slab *slab)
{
    uint32_t i;

    for (i = 0; i < slab->chunk_count; i++)
        lbr_memory_free(slab->memory, slab->chunks[i],
                        (size_t)1 << slab->chunk_bits, slab->object_size);
    lbr_memory_free(slab->memory, slab->chunks, slab->chunk_capacity,
                    sizeof *slab->chunks);
}

static int grow_directory(struct lbr_slab *slab)
{
    uint32_t capacity = slab->chunk_capacity ? slab->chunk_capacity * 2 : 4;
    void *chunks = slab->chunks;

    if (slab->chunk_count < slab->chunk_capacity)
        return 1;
    if (!lbr_memory_grow(slab->memory, &chunks, slab->chunk_capacity, capacity,
                         sizeof *slab->chunks))
        return 0;
    slab->chunks = chunks;
    slab->chunk_capacity = capacity;
    return 1;
}

static int add_chunk(struct lbr_slab *slab)
{
    unsigned char *chunk;

    if (!grow_directory(slab))
        return 0;
    chunk = lbr_memory_new(slab->memory, (size_t)1 << slab->chunk_bits,
                           slab->object_size);
    if (!chunk)
        return 0;
    slab->chunks[slab->chunk_count++] = chunk;
    return 1;
}

int lbr_slab_reserve(struct lbr_slab *slab)
{
    if (slab->free_head)
        return LBROUTE_OK;
    if (slab->used >= slab->limit)
        return LBROUTE_ERR_LIMIT;
    if (slab->used >> slab->chunk_bits == slab->chunk_count && !add_chunk(slab))
        return LBROUTE_ERR_NO_MEMORY;
    return LBROUTE_OK;
}

/* A slot never used before; there is one. */
static struct lbr_slot *fresh_slot(struct lbr_slab *slab)
{
    struct lbr_slot *slot = lbr_slab_at(slab, slab->used);

    slot->handle = slab->kind | GENERATION_STEP | (slab->used + 1);
    slab->used++;
    return slot;
}

int lbr_slab_take(struct lbr_slab *slab, void **object)
{
    int result = lbr_slab_reserve(slab);
    struct lbr_slot *slot;

    if (result)
        return result;
    if (slab->free_head) {
        slot = lbr_slab_at(slab, slab->free_head - 1);
        slab->free_head = slot->next_free;
    } else {
        slot = fresh_slot(slab);
    }
    slot->next_free = LBR_SLOT_LIVE;
    slab->live++;
    *object = slot;
    return LBROUTE_OK;
}

void lbr_slab_give(struct lbr_slab *slab, void *object)
{
    struct lbr_slot *slot = object;
    uint64_t generation = slot->handle >> 24 & GENERATION_MASK;
    uint32_t index = lbr_slab_index(slot->handle);

    slab->live--;
    slot->next_free = 0;
    if (generation == GENERATION_MASK)
        return; /* retired */
    slot->handle += GENERATION_STEP;
    slot->next_free = slab->free_head;
    slab->free_head = index + 1;
}

void *lbr_slab_next(const struct lbr_slab *slab, uint64_t previous)
{
    uint32_t index = previous ? lbr_slab_index(previous) + 1 : 0;

    for (; index < slab->used; index++) {
        struct lbr_slot *slot = lbr_slab_at(slab, index);

        if (slot->next_free == LBR_SLOT_LIVE)
            return slot;
    }
    return NULL;
}

size_t lbr_slab_estimate(size_t object_size, unsigned chunk_bits,
                         uint32_t limit)
{
    size_t chunks = ((size_t)limit >> chunk_bits) + 1;

    /* The directory doubles, and the old one lives until it is copied. */
    return (chunks << chunk_bits) * object_size +
           (4 * chunks + 8) * sizeof(unsigned char *);
}
