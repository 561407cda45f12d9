/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static void *heap_allocate(void *user, size_t bytes)
{
    (void)user;
    return malloc(bytes);
}

static void heap_release(void *user, void *object, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(object);
}

void lbr_memory_init(struct lbr_memory *memory,
                     const lbroute_allocator *allocator)
{
    memory->allocator = *allocator;
    if (!allocator->allocate) {
        memory->allocator.allocate = heap_allocate;
        memory->allocator.release = heap_release;
    }
    memory->held = 0;
    memory->allocations = 0;
    memory->limit = UINT64_MAX;
    memory->failures = 0;
}

static void *part_allocate(void *user, size_t bytes)
{
    return lbr_memory_new(user, 1, bytes);
}

static void part_release(void *user, void *object, size_t bytes)
{
    lbr_memory_free(user, object, 1, bytes);
}

void lbr_memory_init_part(struct lbr_memory *memory, struct lbr_memory *parent,
                          uint64_t limit)
{
    lbroute_allocator allocator = {part_allocate, part_release, parent};

    lbr_memory_init(memory, &allocator);
    memory->limit = limit;
}

void *lbr_memory_new(struct lbr_memory *memory, size_t count, size_t size)
{
    void *object;

    if (count > SIZE_MAX / size)
        return NULL;
    if (memory->held > memory->limit ||
        count * size > memory->limit - memory->held)
        return NULL;
    memory->allocations++;
    object = memory->allocator.allocate(memory->allocator.user, count * size);
    if (!object) {
        memory->failures++;
        return NULL;
    }
    memset(object, 0, count * size);
    memory->held += count * size;
    return object;
}

void lbr_memory_free(struct lbr_memory *memory, void *object, size_t count,
                     size_t size)
{
    if (!object)
        return;
    memory->held -= count * size;
    memory->allocator.release(memory->allocator.user, object, count * size);
}

int lbr_memory_grow(struct lbr_memory *memory, void **array, size_t old_count,
                    size_t new_count, size_t size)
{
    void *grown = lbr_memory_new(memory, new_count, size);

    if (!grown)
        return 0;
    if (old_count)
        memcpy(grown, *array, old_count * size);
    lbr_memory_free(memory, *array, old_count, size);
    *array = grown;
    return 1;
}
