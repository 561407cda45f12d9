/* SPDX-License-Identifier: MIT */
/*
 * Between the engine model and the world: what the cache stored and evicted in
 * a step goes to the table of blocks and, as one batch, to the publisher.
 *
 *     engine ──log──▶ journal ──▶ copies in the table
 *                        ╰─────▶ batch ──▶ publisher
 */
#ifndef LBROUTE_MOCK_KV_JOURNAL_H
#define LBROUTE_MOCK_KV_JOURNAL_H

#include "block_table.h"
#include "kv_publisher.h"
#include "names.h"
#include "replay/kv_log.h"
#include "replay/kv_payload.h"

struct kv_journal {
    struct kv_log log; /**< The engine writes it. */
    struct block_table *table;
    const struct names *names;
    struct kv_publisher *publisher; /**< NULL: events go nowhere. */
    enum kv_form form;
    uint32_t block_tokens;
    uint64_t process; /**< Names of blocks are others in each process. */

    struct kv_payload payload;
    uint64_t *hashes;
    uint32_t *tokens;
    size_t hash_capacity;
    size_t token_capacity;
};

/** A step is over. */
void kv_journal_step(struct kv_journal *journal);

void kv_journal_release(struct kv_journal *journal);

#endif
