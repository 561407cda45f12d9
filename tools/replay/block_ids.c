/* SPDX-License-Identifier: MIT */
#include "block_ids.h"

#include "grow.h"

#include <stdbool.h>
#include <stdlib.h>

enum { FIRST_SLOTS = 1024 };

struct block_id_slot {
    uint64_t key;
    uint32_t id;
    bool used;
};

void block_ids_init(struct block_ids *ids, struct workload *workload)
{
    *ids = (struct block_ids){.workload = workload};
}

void block_ids_release(struct block_ids *ids)
{
    free(ids->slots);
    ids->slots = NULL;
    ids->slot_count = 0;
    ids->used = 0;
}

/* The slot of a key, or the free one where it belongs. */
static struct block_id_slot *find_slot(struct block_id_slot *slots,
                                       size_t slot_count, uint64_t key)
{
    size_t i = (size_t)block_key_mix(0, key) & (slot_count - 1);

    while (slots[i].used && slots[i].key != key)
        i = (i + 1) & (slot_count - 1);
    return &slots[i];
}

static void double_table(struct block_ids *ids)
{
    size_t count = ids->slot_count > 0 ? ids->slot_count * 2 : FIRST_SLOTS;
    struct block_id_slot *slots = grow_zeroed(count, sizeof *slots);

    for (size_t i = 0; i < ids->slot_count; i++)
        if (ids->slots[i].used)
            *find_slot(slots, count, ids->slots[i].key) = ids->slots[i];
    free(ids->slots);
    ids->slots = slots;
    ids->slot_count = count;
}

uint32_t block_ids_get(struct block_ids *ids, uint64_t key)
{
    struct block_id_slot *slot;

    if (ids->used * 2 >= ids->slot_count)
        double_table(ids);
    slot = find_slot(ids->slots, ids->slot_count, key);
    if (!slot->used) {
        slot->used = true;
        slot->key = key;
        slot->id = workload_fresh_id(ids->workload);
        ids->used++;
    }
    return slot->id;
}

/* The finaliser of splitmix64 over the running key. */
uint64_t block_key_mix(uint64_t key, uint64_t value)
{
    uint64_t x = (key ^ value) + 0x9E3779B97F4A7C15u * (key + 1);

    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

uint64_t block_key_mix_text(uint64_t key, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        key = block_key_mix(key, (unsigned char)text[i]);
    return block_key_mix(key, length);
}
