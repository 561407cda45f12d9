/* SPDX-License-Identifier: MIT */
/*
 * Writes batches of KV events as vLLM publishes them, in MessagePack:
 *
 *     [ timestamp, [ event, … ], rank ]
 *
 * where an event is an array that begins with its name (vLLM to 0.23), or a map
 * with its name under "type" (from 0.24).
 */
#ifndef LBROUTE_REPLAY_KV_PAYLOAD_H
#define LBROUTE_REPLAY_KV_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kv_form { KV_FORM_ARRAY, KV_FORM_MAP };

/** Bytes that grow; zeroed, there are none. */
struct kv_payload {
    unsigned char *bytes;
    size_t length;
    size_t capacity;
};

/** Blocks that came. */
struct kv_stored {
    const uint64_t *hashes;
    size_t hash_count;
    bool has_parent;
    uint64_t parent;
    const uint32_t *tokens;
    size_t token_count;
    uint32_t block_size;
    uint32_t adapter;         /**< Its number; 0: none. */
    const char *adapter_name; /**< NULL: none. */
};

/** Starts a payload with a batch of `events` events, which must follow. */
void kv_payload_begin(struct kv_payload *payload, double timestamp,
                      size_t events);

/** Adds an event: blocks are in GPU memory, in group 0 of the engine's caches,
 * one of full attention. */
void kv_payload_stored(struct kv_payload *payload, enum kv_form form,
                       const struct kv_stored *stored);

/** Adds an event: a block left GPU memory. */
void kv_payload_removed(struct kv_payload *payload, enum kv_form form,
                        uint64_t hash);

/** Ends the batch with the rank of its publisher. */
void kv_payload_end(struct kv_payload *payload, uint32_t rank);

void kv_payload_release(struct kv_payload *payload);

#endif
