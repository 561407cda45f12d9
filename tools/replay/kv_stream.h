/* SPDX-License-Identifier: MIT */
/*
 * The stream of KV events of one engine: a batch for each step in which its
 * cache changed, numbered from 0 in each process.
 *
 *     log      ‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥‥│ not published yet
 *     batches  0 1 2 3 4 5 (restart) 0 1 2 3 │
 *                            process ▲       ▲ count
 *
 * All batches are kept for the run, as what changed; they are written whenever
 * one is sent, the same bytes each time.
 */
#ifndef LBROUTE_REPLAY_KV_STREAM_H
#define LBROUTE_REPLAY_KV_STREAM_H

#include "kv_log.h"
#include "kv_payload.h"
#include "workload.h"

#include <stdbool.h>

/** What one step changed: a part of the log. */
struct kv_batch {
    uint64_t seq;
    double timestamp; /**< Seconds. */
    size_t first_change;
    size_t change_count;
    size_t first_id;
};

struct kv_stream {
    const struct workload *workload;
    enum kv_form form;
    struct kv_log log; /**< The engine writes it. */
    struct kv_batch *batches;
    size_t count;
    size_t process;      /**< Index of the first batch of the process. */
    uint64_t hash_key;   /**< Each engine has hashes of its own. */
    size_t done_changes; /**< Published ones. */
    size_t done_ids;

    size_t batch_capacity;
    uint64_t *hashes; /* Of the event that is written. */
    uint32_t *tokens;
    size_t hash_capacity;
    size_t token_capacity;
};

/** Starts the stream of the engine with this number. */
void kv_stream_init(struct kv_stream *stream, const struct workload *workload,
                    enum kv_form form, uint32_t engine);

void kv_stream_release(struct kv_stream *stream);

/** Ends a step: makes a batch of what changed. Returns false if nothing did. */
bool kv_stream_publish(struct kv_stream *stream, double timestamp);

/** Starts a new process: what was not published never is. */
void kv_stream_restart(struct kv_stream *stream);

/** Writes the index-th batch. */
void kv_stream_write(struct kv_stream *stream, size_t index,
                     struct kv_payload *payload);

#endif
