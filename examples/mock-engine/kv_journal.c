/* SPDX-License-Identifier: MIT */
#include "kv_journal.h"

#include "clocks.h"
#include "replay/block_ids.h"
#include "replay/grow.h"

#include <stdlib.h>
#include <string.h>

/* The name of a block, which any number may be. */
static uint64_t hash_of(const struct kv_journal *journal, uint32_t id)
{
    return block_key_mix(journal->process, block_table_key(journal->table, id));
}

static void gather(struct kv_journal *journal, const uint32_t *ids,
                   uint32_t count)
{
    uint32_t size = journal->block_tokens;

    journal->hashes = grow_array(journal->hashes, &journal->hash_capacity,
                                 count, sizeof *journal->hashes);
    journal->tokens = grow_array(journal->tokens, &journal->token_capacity,
                                 (size_t)count * size, sizeof *journal->tokens);
    for (uint32_t i = 0; i < count; i++) {
        journal->hashes[i] = hash_of(journal, ids[i]);
        memcpy(journal->tokens + (size_t)i * size,
               block_table_tokens(journal->table, ids[i]),
               size * sizeof *journal->tokens);
    }
}

static void write_stored(struct kv_journal *journal,
                         const struct kv_change *change, const uint32_t *ids)
{
    struct kv_stored stored = {
        .hash_count = change->count,
        .has_parent = change->parent != KV_NO_PARENT,
        .token_count = (size_t)change->count * journal->block_tokens,
        .block_size = journal->block_tokens,
        .adapter = change->adapter,
    };

    gather(journal, ids, change->count);
    stored.hashes = journal->hashes;
    stored.tokens = journal->tokens;
    if (stored.has_parent)
        stored.parent = hash_of(journal, change->parent);
    if (change->adapter != 0)
        stored.adapter_name = journal->names->adapters[change->adapter - 1];
    kv_payload_stored(&journal->payload, journal->form, &stored);
}

static void publish(struct kv_journal *journal)
{
    const struct kv_log *log = &journal->log;
    const uint32_t *ids = log->ids;

    kv_payload_begin(&journal->payload, clock_day(), log->change_count);
    for (size_t i = 0; i < log->change_count; i++) {
        const struct kv_change *change = &log->changes[i];

        if (change->kind == KV_STORED)
            write_stored(journal, change, ids);
        else
            kv_payload_removed(&journal->payload, journal->form,
                               hash_of(journal, *ids));
        ids += change->count;
    }
    kv_payload_end(&journal->payload, 0);
    kv_publisher_send(journal->publisher, journal->payload.bytes,
                      journal->payload.length);
}

static void count_copies(struct kv_journal *journal)
{
    const struct kv_log *log = &journal->log;
    const uint32_t *id = log->ids;

    for (size_t i = 0; i < log->change_count; i++)
        for (uint32_t k = 0; k < log->changes[i].count; k++, id++)
            if (log->changes[i].kind == KV_STORED)
                block_table_stored(journal->table, *id);
            else
                block_table_removed(journal->table, *id);
}

void kv_journal_step(struct kv_journal *journal)
{
    if (journal->log.change_count > 0) {
        count_copies(journal);
        if (journal->publisher != NULL)
            publish(journal);
        kv_log_cut(&journal->log, 0, 0);
    }
    block_table_settle(journal->table);
}

void kv_journal_release(struct kv_journal *journal)
{
    kv_log_release(&journal->log);
    kv_payload_release(&journal->payload);
    free(journal->hashes);
    free(journal->tokens);
    *journal = (struct kv_journal){0};
}
