/* SPDX-License-Identifier: MIT */
/*
 * What a router guesses a target's cache holds: the blocks of the prompts that
 * it sent there, the latest ones.
 *
 *     newest ⇄ head of a prompt ⇄ … ⇄ its tail ⇄ earlier prompt ⇄ … ⇄ oldest
 *
 * A block that is sent again becomes the newest. The tail of a prompt is older
 * than its head, so that what is left of it can be found.
 */
#ifndef LBROUTE_REPLAY_PEER_MEMORY_H
#define LBROUTE_REPLAY_PEER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peer_memory {
    uint64_t capacity; /**< Blocks that are kept; may be changed. */
    uint64_t count;
    uint64_t ttl_ns; /**< Time for which a block is believed; 0: for ever. */
    uint32_t *newer; /**< By id, what follows it; PEER_ABSENT: not there. */
    uint32_t *older;
    uint64_t *sent_at; /**< By id; NULL without a time to live. */
    uint32_t newest;
    uint32_t oldest;
};

#define PEER_ABSENT UINT32_MAX
#define PEER_END (UINT32_MAX - 1)

void peer_memory_init(struct peer_memory *memory, uint32_t distinct_ids,
                      uint64_t capacity, uint64_t ttl_ns);

void peer_memory_release(struct peer_memory *memory);

bool peer_memory_has(const struct peer_memory *memory, uint32_t id,
                     uint64_t now);

/** Length of the leading run of blocks that are there. */
uint32_t peer_memory_run(const struct peer_memory *memory, const uint32_t *ids,
                         uint32_t count, uint64_t now);

/** A prompt was sent. What is too much for the capacity stays until
 * peer_memory_trim(). */
void peer_memory_add(struct peer_memory *memory, const uint32_t *ids,
                     uint32_t count, uint64_t now);

/** Drops the oldest blocks above the capacity. */
void peer_memory_trim(struct peer_memory *memory);

#endif
