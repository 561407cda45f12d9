/* SPDX-License-Identifier: MIT */
#include "kv_cache.h"

#include "grow.h"

#include <stdlib.h>

#define NONE UINT32_MAX

struct block {
    uint32_t id;         /* Content, or NONE. */
    uint32_t references; /* Requests that use it. */
    uint32_t same;       /* Next block of the same id, or NONE. */
    uint32_t older;      /* Free-list neighbours; the list is a ring through */
    uint32_t newer;      /* the extra block blocks[capacity]. */
};

struct kv_cache {
    struct block *blocks;
    uint32_t *by_id; /* First block of each id, or NONE. */
    uint32_t capacity;
    uint32_t free_count;
    struct kv_log *log; /* NULL: nobody wants to know. */
};

static void push_newest(struct kv_cache *cache, uint32_t index)
{
    struct block *ring = &cache->blocks[cache->capacity];
    struct block *block = &cache->blocks[index];

    block->newer = cache->capacity;
    block->older = ring->older;
    cache->blocks[ring->older].newer = index;
    ring->older = index;
    cache->free_count++;
}

static void unlink_free(struct kv_cache *cache, uint32_t index)
{
    struct block *block = &cache->blocks[index];

    cache->blocks[block->older].newer = block->newer;
    cache->blocks[block->newer].older = block->older;
    cache->free_count--;
}

struct kv_cache *kv_cache_create(uint32_t capacity, uint32_t distinct_ids)
{
    struct kv_cache *cache = grow_zeroed(1, sizeof *cache);

    cache->blocks = grow_zeroed((size_t)capacity + 1, sizeof *cache->blocks);
    cache->by_id = grow_zeroed(distinct_ids, sizeof *cache->by_id);
    cache->capacity = capacity;
    for (uint32_t id = 0; id < distinct_ids; id++)
        cache->by_id[id] = NONE;
    cache->blocks[capacity].older = capacity;
    cache->blocks[capacity].newer = capacity;
    for (uint32_t i = 0; i < capacity; i++) {
        cache->blocks[i].id = NONE;
        cache->blocks[i].same = NONE;
        push_newest(cache, i);
    }
    return cache;
}

void kv_cache_watch(struct kv_cache *cache, struct kv_log *log)
{
    cache->log = log;
}

void kv_cache_destroy(struct kv_cache *cache)
{
    if (cache == NULL)
        return;
    free(cache->blocks);
    free(cache->by_id);
    free(cache);
}

uint32_t kv_cache_capacity(const struct kv_cache *cache)
{
    return cache->capacity;
}

uint32_t kv_cache_free(const struct kv_cache *cache)
{
    return cache->free_count;
}

bool kv_cache_has(const struct kv_cache *cache, uint32_t id)
{
    return cache->by_id[id] != NONE;
}

uint32_t kv_cache_match(const struct kv_cache *cache, const uint32_t *ids,
                        uint32_t count, uint32_t *idle)
{
    uint32_t run = 0;

    *idle = 0;
    while (run < count && cache->by_id[ids[run]] != NONE) {
        *idle += cache->blocks[cache->by_id[ids[run]]].references == 0;
        run++;
    }
    return run;
}

void kv_cache_reuse(struct kv_cache *cache, const uint32_t *ids, uint32_t count,
                    uint32_t *blocks)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = cache->by_id[ids[i]];

        if (cache->blocks[index].references++ == 0)
            unlink_free(cache, index);
        blocks[i] = index;
    }
}

/* The list of one id rarely has a second block, so a walk is cheap. */
static void forget_content(struct kv_cache *cache, uint32_t index)
{
    struct block *block = &cache->blocks[index];
    uint32_t *link;

    if (block->id == NONE)
        return;
    link = &cache->by_id[block->id];
    while (*link != index)
        link = &cache->blocks[*link].same;
    *link = block->same;
    if (cache->log != NULL)
        kv_log_removed(cache->log, block->id);
    block->id = NONE;
    block->same = NONE;
}

void kv_cache_allocate(struct kv_cache *cache, uint32_t count, uint32_t *blocks)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t oldest = cache->blocks[cache->capacity].newer;

        unlink_free(cache, oldest);
        forget_content(cache, oldest);
        cache->blocks[oldest].references = 1;
        blocks[i] = oldest;
    }
}

void kv_cache_name(struct kv_cache *cache, uint32_t block, uint32_t id)
{
    uint32_t *link = &cache->by_id[id];

    if (cache->blocks[block].id != NONE)
        return;
    while (*link != NONE)
        link = &cache->blocks[*link].same;
    *link = block;
    cache->blocks[block].id = id;
}

void kv_cache_release(struct kv_cache *cache, const uint32_t *blocks,
                      uint32_t count)
{
    while (count-- > 0)
        if (--cache->blocks[blocks[count]].references == 0)
            push_newest(cache, blocks[count]);
}
