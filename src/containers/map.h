/* SPDX-License-Identifier: MIT */
/* Hash map from 64-bit keys, which are hashes already, to 32-bit values.
 * Several values may share a key: the caller tells them apart.
 *
 *     home = key's top bits;  [ key value ][ empty ][ key value ] …
 *
 * Linear probing at a load of at most 3/4; removal shifts back, so no markers
 * pile up under churn. */
#ifndef LBR_CONTAINERS_MAP_H
#define LBR_CONTAINERS_MAP_H

#include "base/memory.h"

struct lbr_map_entry {
    uint64_t key;
    uint32_t value; /* index + 1, 0: empty */
};

struct lbr_map {
    struct lbr_memory *memory;
    struct lbr_map_entry *entries;
    uint32_t bits; /* 2^bits entries; 0: none yet */
    uint32_t count;
};

#define LBR_MAP_NONE UINT32_MAX

void lbr_map_init(struct lbr_map *map, struct lbr_memory *memory);
void lbr_map_destroy(struct lbr_map *map);

/* Makes room for |count| entries in all. Returns 0 without memory. */
int lbr_map_reserve_all(struct lbr_map *map, uint32_t count);

/* Makes room for one more entry. Returns 0 without memory. */
static inline int lbr_map_reserve(struct lbr_map *map)
{
    return lbr_map_reserve_all(map, map->count + 1);
}

/* Adds an entry; lbr_map_reserve() has made room. */
void lbr_map_add(struct lbr_map *map, uint64_t key, uint32_t value);

/* Removes the entry of |key| and |value|, which must exist. */
void lbr_map_remove(struct lbr_map *map, uint64_t key, uint32_t value);

/* Values of |key| one after the other: start with |*cursor| 0, stop at
 * LBR_MAP_NONE. The map must not change in between. */
uint32_t lbr_map_next(const struct lbr_map *map, uint64_t key,
                      uint32_t *cursor);

/* Upper bound of the memory for |limit| entries, growth included. */
size_t lbr_map_estimate(uint32_t limit);

#endif
