/* SPDX-License-Identifier: MIT */
/*
 * Turns 64-bit keys of blocks into the dense ids of a workload.
 *
 * A hash table with open addressing; the same key always gives the same id.
 */
#ifndef LBROUTE_REPLAY_BLOCK_IDS_H
#define LBROUTE_REPLAY_BLOCK_IDS_H

#include "workload.h"

#include <stddef.h>
#include <stdint.h>

struct block_ids {
    struct workload *workload; /**< Gives out the ids. */
    struct block_id_slot *slots;
    size_t slot_count;
    size_t used;
};

/** Starts without any key. */
void block_ids_init(struct block_ids *ids, struct workload *workload);

/** Frees the table; the ids stay valid. */
void block_ids_release(struct block_ids *ids);

/** The id of a key. */
uint32_t block_ids_get(struct block_ids *ids, uint64_t key);

/** Mixes a value into a key: keys of (a, b, …) are made by mixing one after
 * the other. Collisions of 64 bits are left to chance. */
uint64_t block_key_mix(uint64_t key, uint64_t value);

/** Mixes in text. */
uint64_t block_key_mix_text(uint64_t key, const char *text, size_t length);

#endif
