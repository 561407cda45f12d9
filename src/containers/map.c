/* SPDX-License-Identifier: MIT */
#include "containers/map.h"

#include <string.h>

#define FIRST_BITS 4

void lbr_map_init(struct lbr_map *map, struct lbr_memory *memory)
{
    memset(map, 0, sizeof *map);
    map->memory = memory;
}

void lbr_map_destroy(struct lbr_map *map)
{
    if (map->bits)
        lbr_memory_free(map->memory, map->entries, (size_t)1 << map->bits,
                        sizeof *map->entries);
}

static uint32_t mask_of(const struct lbr_map *map)
{
    return (1U << map->bits) - 1;
}

static uint32_t home_of(const struct lbr_map *map, uint64_t key)
{
    return (uint32_t)(key >> (64 - map->bits));
}

static int rebuild(struct lbr_map *map, uint32_t bits)
{
    struct lbr_map old = *map;
    uint32_t i;

    map->entries =
        lbr_memory_new(map->memory, (size_t)1 << bits, sizeof *map->entries);
    if (!map->entries) {
        map->entries = old.entries;
        return 0;
    }
    map->bits = bits;
    map->count = 0;
    for (i = 0; old.bits && i <= mask_of(&old); i++)
        if (old.entries[i].value)
            lbr_map_add(map, old.entries[i].key, old.entries[i].value - 1);
    lbr_map_destroy(&old);
    return 1;
}

int lbr_map_reserve_all(struct lbr_map *map, uint32_t count)
{
    uint32_t bits = map->bits ? map->bits : FIRST_BITS;

    while ((uint64_t)count * 4 > (uint64_t)3 << bits)
        bits++;
    return bits == map->bits || rebuild(map, bits);
}

void lbr_map_add(struct lbr_map *map, uint64_t key, uint32_t value)
{
    uint32_t mask = mask_of(map);
    uint32_t i = home_of(map, key);

    while (map->entries[i].value)
        i = (i + 1) & mask;
    map->entries[i].key = key;
    map->entries[i].value = value + 1;
    map->count++;
}

/* Moves later entries of the run into the hole where their home allows. */
static void close_hole(struct lbr_map *map, uint32_t hole)
{
    uint32_t mask = mask_of(map);
    uint32_t i;

    for (i = (hole + 1) & mask; map->entries[i].value; i = (i + 1) & mask) {
        uint32_t home = home_of(map, map->entries[i].key);

        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->entries[hole] = map->entries[i];
            hole = i;
        }
    }
    map->entries[hole].value = 0;
}

void lbr_map_remove(struct lbr_map *map, uint64_t key, uint32_t value)
{
    uint32_t mask = mask_of(map);
    uint32_t i = home_of(map, key);

    while (map->entries[i].key != key || map->entries[i].value != value + 1)
        i = (i + 1) & mask;
    close_hole(map, i);
    map->count--;
}

uint32_t lbr_map_next(const struct lbr_map *map, uint64_t key, uint32_t *cursor)
{
    uint32_t mask;

    if (!map->bits)
        return LBR_MAP_NONE;
    mask = mask_of(map);
    for (;;) {
        const struct lbr_map_entry *entry =
            &map->entries[(home_of(map, key) + *cursor) & mask];

        if (!entry->value)
            return LBR_MAP_NONE;
        ++*cursor;
        if (entry->key == key)
            return entry->value - 1;
    }
}

size_t lbr_map_estimate(uint32_t limit)
{
    size_t entries = (size_t)1 << FIRST_BITS;

    while (entries * 3 / 4 < (size_t)limit + 1)
        entries *= 2;
    /* Old and new table live side by side while one grows into the other. */
    return (entries + entries / 2) * sizeof(struct lbr_map_entry);
}
