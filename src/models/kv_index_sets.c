/* SPDX-License-Identifier: MIT */
#include "models/kv_index_sets.h"

#include "base/hash.h"

#include <string.h>

#define CHUNK_BITS 8
#define ARENA_CHUNK ((size_t)1 << 18) /* holds the largest set */

void lbr_kv_sets_init(struct lbr_kv_sets *sets, struct lbr_memory *memory,
                      unsigned kind, uint32_t limit, uint64_t secret)
{
    sets->secret = secret;
    lbr_slab_init(&sets->slab, memory, kind, sizeof(struct lbr_kv_members),
                  CHUNK_BITS, limit);
    lbr_map_init(&sets->by_hash, memory);
    lbr_arena_init(&sets->arena, memory, ARENA_CHUNK);
    memset(&sets->latest, 0, sizeof sets->latest);
}

void lbr_kv_sets_destroy(struct lbr_kv_sets *sets)
{
    lbr_arena_destroy(&sets->arena);
    lbr_map_destroy(&sets->by_hash);
    lbr_slab_destroy(&sets->slab);
}

static struct lbr_kv_members *members_of(const struct lbr_kv_sets *sets,
                                         lbr_kv_set set)
{
    return lbr_slab_at(&sets->slab, set - 1);
}

static uint64_t hash_of(const struct lbr_kv_sets *sets, uint32_t entry)
{
    return lbr_kv_entry_labels(entry) ? lbr_hash_pair(sets->secret, entry) : 0;
}

/* Where the entry of |owner| is, or would be. */
static uint32_t place_of(const uint32_t *entries, uint32_t count,
                         uint32_t owner)
{
    uint32_t first = 0;

    while (count) {
        uint32_t half = count / 2;

        if (lbr_kv_entry_owner(entries[first + half]) < owner) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first;
}

/* A set with one entry replaced, as it is being looked for. */
struct wanted {
    const uint32_t *entries; /* of the old one */
    uint32_t before;         /* of these, those before the entry */
    uint32_t skipped;        /* 1: the old one has an entry of the owner */
    uint32_t after;
    uint32_t entry;
    uint32_t kept; /* 0: the new one has none */
    uint64_t hash;
};

static struct wanted want(const struct lbr_kv_sets *sets, lbr_kv_set set,
                          uint32_t owner, uint32_t labels)
{
    struct wanted wanted = {NULL,        0, 0, 0, lbr_kv_entry(owner, labels),
                            labels != 0, 0};

    if (set) {
        const struct lbr_kv_members *old = lbr_kv_set_members(sets, set);
        uint32_t place = place_of(old->entries, old->count, owner);

        wanted.entries = old->entries;
        wanted.before = place;
        wanted.skipped = place < old->count &&
                         lbr_kv_entry_owner(old->entries[place]) == owner;
        wanted.after = old->count - place - wanted.skipped;
        wanted.hash = old->hash;
        if (wanted.skipped)
            wanted.hash -= hash_of(sets, old->entries[place]);
    }
    wanted.hash += hash_of(sets, wanted.entry);
    return wanted;
}

static uint32_t wanted_count(const struct wanted *wanted)
{
    return wanted->before + wanted->kept + wanted->after;
}

static const uint32_t *rest_of(const struct wanted *wanted)
{
    return wanted->entries + wanted->before + wanted->skipped;
}

static int equals(const struct lbr_kv_members *members,
                  const struct wanted *wanted)
{
    const uint32_t *entries = members->entries;

    if (members->count != wanted_count(wanted) || members->hash != wanted->hash)
        return 0;
    if (wanted->before &&
        memcmp(entries, wanted->entries, wanted->before * sizeof *entries) != 0)
        return 0;
    entries += wanted->before;
    if (wanted->kept && *entries != wanted->entry)
        return 0;
    return !wanted->after || !memcmp(entries + wanted->kept, rest_of(wanted),
                                     wanted->after * sizeof *entries);
}

static void fill(uint32_t *entries, const struct wanted *wanted)
{
    if (wanted->before)
        memcpy(entries, wanted->entries, wanted->before * sizeof *entries);
    entries += wanted->before;
    if (wanted->kept)
        *entries++ = wanted->entry;
    if (wanted->after)
        memcpy(entries, rest_of(wanted), wanted->after * sizeof *entries);
}

static lbr_kv_set find(const struct lbr_kv_sets *sets,
                       const struct wanted *wanted)
{
    uint32_t cursor = 0;
    uint32_t index;

    while ((index = lbr_map_next(&sets->by_hash, wanted->hash, &cursor)) !=
           LBR_MAP_NONE)
        if (equals(lbr_slab_at(&sets->slab, index), wanted))
            return index + 1;
    return 0;
}

static lbr_kv_set make(struct lbr_kv_sets *sets, const struct wanted *wanted)
{
    uint32_t count = wanted_count(wanted);
    struct lbr_kv_members *members;
    uint32_t *entries;
    void *object;
    uint32_t index;

    if (!lbr_map_reserve(&sets->by_hash) || lbr_slab_reserve(&sets->slab))
        return LBR_KV_NO_SET;
    entries = lbr_arena_take(&sets->arena, count * sizeof *entries);
    if (!entries)
        return LBR_KV_NO_SET;
    (void)lbr_slab_take(&sets->slab, &object);
    members = object;
    index = lbr_slab_index(members->slot.handle);
    members->hash = wanted->hash;
    members->references = 0;
    members->count = count;
    members->entries = entries;
    fill(entries, wanted);
    lbr_map_add(&sets->by_hash, members->hash, index);
    return index + 1;
}

static void release(struct lbr_kv_sets *sets, lbr_kv_set set)
{
    struct lbr_kv_members *members;

    if (!set)
        return;
    members = members_of(sets, set);
    if (--members->references)
        return;
    if (sets->latest.from == set || sets->latest.to == set)
        sets->latest.to = 0;
    lbr_map_remove(&sets->by_hash, members->hash, set - 1);
    lbr_arena_give(&sets->arena, members->entries);
    lbr_slab_give(&sets->slab, members);
}

uint32_t lbr_kv_set_labels(const struct lbr_kv_sets *sets, lbr_kv_set set,
                           uint32_t owner)
{
    const struct lbr_kv_members *members;
    uint32_t place;

    if (!set)
        return 0;
    members = lbr_kv_set_members(sets, set);
    place = place_of(members->entries, members->count, owner);
    if (place == members->count ||
        lbr_kv_entry_owner(members->entries[place]) != owner)
        return 0;
    return lbr_kv_entry_labels(members->entries[place]);
}

/* The set that is wanted, made if there is none. */
static lbr_kv_set get(struct lbr_kv_sets *sets, lbr_kv_set set, uint32_t owner,
                      uint32_t labels)
{
    struct wanted wanted = want(sets, set, owner, labels);
    lbr_kv_set found;

    if (!wanted_count(&wanted))
        return 0;
    found = find(sets, &wanted);
    return found ? found : make(sets, &wanted);
}

lbr_kv_set lbr_kv_set_change(struct lbr_kv_sets *sets, lbr_kv_set set,
                             uint32_t owner, uint32_t labels)
{
    struct lbr_kv_change change = {set, sets->latest.to,
                                   lbr_kv_entry(owner, labels)};

    if (!change.to || sets->latest.from != set ||
        sets->latest.entry != change.entry)
        change.to = get(sets, set, owner, labels);
    if (change.to == LBR_KV_NO_SET)
        return LBR_KV_NO_SET;
    sets->latest = change;
    if (change.to)
        members_of(sets, change.to)->references++;
    release(sets, set);
    return change.to;
}

size_t lbr_kv_sets_estimate(uint32_t blocks)
{
    /* The worst is a set of its own for every block; growing and shrinking, an
     * arena of pieces of all sizes may stand half empty. */
    size_t entries = lbr_arena_cost(sizeof(uint32_t)) * (size_t)blocks;

    return lbr_slab_estimate(sizeof(struct lbr_kv_members), CHUNK_BITS,
                             blocks) +
           lbr_map_estimate(blocks) + 2 * entries + 2 * ARENA_CHUNK;
}
