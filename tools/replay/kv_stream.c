/* SPDX-License-Identifier: MIT */
#include "kv_stream.h"

#include "block_ids.h"
#include "block_tokens.h"
#include "grow.h"
#include "workload_adapters.h"

#include <stdlib.h>

void kv_stream_init(struct kv_stream *stream, const struct workload *workload,
                    enum kv_form form, uint32_t engine)
{
    *stream = (struct kv_stream){
        .workload = workload,
        .form = form,
        .hash_key = block_key_mix(1, engine),
    };
}

void kv_stream_release(struct kv_stream *stream)
{
    kv_log_release(&stream->log);
    free(stream->batches);
    free(stream->hashes);
    free(stream->tokens);
    *stream = (struct kv_stream){0};
}

static void mark_published(struct kv_stream *stream)
{
    stream->done_changes = stream->log.change_count;
    stream->done_ids = stream->log.id_count;
}

bool kv_stream_publish(struct kv_stream *stream, double timestamp)
{
    struct kv_batch batch = {
        .seq = stream->count - stream->process,
        .timestamp = timestamp,
        .first_change = stream->done_changes,
        .change_count = stream->log.change_count - stream->done_changes,
        .first_id = stream->done_ids,
    };

    if (batch.change_count == 0)
        return false;
    stream->batches = grow_array(stream->batches, &stream->batch_capacity,
                                 stream->count + 1, sizeof *stream->batches);
    stream->batches[stream->count++] = batch;
    mark_published(stream);
    return true;
}

void kv_stream_restart(struct kv_stream *stream)
{
    kv_log_cut(&stream->log, stream->done_changes, stream->done_ids);
    stream->process = stream->count;
}

/* The name of a block is the engine's own matter, another one in each process:
 * any number will do. */
static uint64_t process_key(const struct kv_stream *stream, size_t index)
{
    return block_key_mix(stream->hash_key,
                         index - (size_t)stream->batches[index].seq);
}

static void make_room(struct kv_stream *stream, uint32_t blocks)
{
    stream->hashes = grow_array(stream->hashes, &stream->hash_capacity, blocks,
                                sizeof *stream->hashes);
    stream->tokens = grow_array(stream->tokens, &stream->token_capacity,
                                (size_t)blocks * stream->workload->block_tokens,
                                sizeof *stream->tokens);
}

static void write_stored(struct kv_stream *stream,
                         const struct kv_change *change, const uint32_t *ids,
                         uint64_t key, struct kv_payload *payload)
{
    uint32_t size = stream->workload->block_tokens;
    char adapter[ADAPTER_NAME_MAX];
    struct kv_stored stored = {
        .hash_count = change->count,
        .has_parent = change->parent != KV_NO_PARENT,
        .token_count = (size_t)change->count * size,
        .block_size = size,
        .adapter = change->adapter,
    };

    make_room(stream, change->count);
    for (uint32_t i = 0; i < change->count; i++) {
        stream->hashes[i] = block_key_mix(key, ids[i]);
        block_tokens_write(stream->workload, ids[i],
                           stream->tokens + (size_t)i * size, size);
    }
    stored.hashes = stream->hashes;
    stored.tokens = stream->tokens;
    if (stored.has_parent)
        stored.parent = block_key_mix(key, change->parent);
    if (change->adapter != 0) {
        adapter_name(change->adapter, adapter);
        stored.adapter_name = adapter;
    }
    kv_payload_stored(payload, stream->form, &stored);
}

void kv_stream_write(struct kv_stream *stream, size_t index,
                     struct kv_payload *payload)
{
    const struct kv_batch *batch = &stream->batches[index];
    const uint32_t *ids = stream->log.ids + batch->first_id;
    uint64_t key = process_key(stream, index);

    kv_payload_begin(payload, batch->timestamp, batch->change_count);
    for (size_t i = 0; i < batch->change_count; i++) {
        const struct kv_change *change =
            &stream->log.changes[batch->first_change + i];

        if (change->kind == KV_STORED)
            write_stored(stream, change, ids, key, payload);
        else
            kv_payload_removed(payload, stream->form, block_key_mix(key, *ids));
        ids += change->count;
    }
    kv_payload_end(payload, 0);
}
