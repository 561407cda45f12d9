/* SPDX-License-Identifier: MIT */
/*
 * Paged KV cache of one engine with prefix reuse, as in vLLM.
 *
 *     by_id[id] ──▶ block ──same──▶ block          blocks that hold content id
 *     free list: oldest ⇄ … ⇄ newest              blocks nobody refers to
 *
 * Memory is `capacity` blocks. A content id names a full block *together with
 * everything before it*, so a request may reuse exactly its leading run of
 * cached ids. A block is counted by reference; without references it sits in
 * the free list, still findable, until it is taken for something else: least
 * recently used first. Two requests that compute the same content at the same
 * time hold two blocks of one id.
 */
#ifndef LBROUTE_REPLAY_KV_CACHE_H
#define LBROUTE_REPLAY_KV_CACHE_H

#include "kv_log.h"

#include <stdbool.h>
#include <stdint.h>

struct kv_cache;

/** Creates an empty cache for ids 0 to `distinct_ids` - 1. */
struct kv_cache *kv_cache_create(uint32_t capacity, uint32_t distinct_ids);

/** Lets evictions be noted from now on. */
void kv_cache_watch(struct kv_cache *cache, struct kv_log *log);

/** Frees the cache; NULL does nothing. */
void kv_cache_destroy(struct kv_cache *cache);

/** Number of blocks. */
uint32_t kv_cache_capacity(const struct kv_cache *cache);

/** Number of blocks without a reference, cached content included. */
uint32_t kv_cache_free(const struct kv_cache *cache);

/** Whether a block holds this content. */
bool kv_cache_has(const struct kv_cache *cache, uint32_t id);

/** Length of the leading run of `ids` that is cached. `*idle` receives how
 * many blocks of that run nobody refers to. */
uint32_t kv_cache_match(const struct kv_cache *cache, const uint32_t *ids,
                        uint32_t count, uint32_t *idle);

/** Takes a reference to the blocks of `count` cached ids. */
void kv_cache_reuse(struct kv_cache *cache, const uint32_t *ids, uint32_t count,
                    uint32_t *blocks);

/** Takes `count` blocks for new content, at most kv_cache_free(); what they
 * held is forgotten. */
void kv_cache_allocate(struct kv_cache *cache, uint32_t count,
                       uint32_t *blocks);

/** Makes a block that is now full findable as `id`. A block keeps its first
 * id. */
void kv_cache_name(struct kv_cache *cache, uint32_t block, uint32_t id);

/** Gives a reference back on each block. The last block becomes the oldest of
 * them in the free list, so that a chain loses its tail first. */
void kv_cache_release(struct kv_cache *cache, const uint32_t *blocks,
                      uint32_t count);

#endif
