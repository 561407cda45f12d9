/* SPDX-License-Identifier: MIT */
/*
 * Where the blocks of prompts are: by KV events where they arrive, else by what
 * was sent where.
 */
#ifndef LBROUTE_REPLAY_PEER_INDEX_H
#define LBROUTE_REPLAY_PEER_INDEX_H

#include "peer.h"
#include "peer_memory.h"

struct peer_index {
    const struct peer_view *view;
    bool guesses;                 /**< Whatever events say. */
    struct peer_memory *memories; /**< By target; NULL until it guesses. */
    uint64_t capacity;            /**< In tokens; 0: each target's cache. */
    uint64_t ttl_ns;
};

/** An index that believes events, and without them remembers as much as
 * `capacity_tokens` of each target for `ttl_s` seconds (0: for ever). */
void peer_index_init(struct peer_index *index, const struct peer_view *view,
                     uint64_t capacity_tokens, double ttl_s);

/** One that never reads events. */
void peer_index_init_guessing(struct peer_index *index,
                              const struct peer_view *view,
                              uint64_t capacity_tokens, double ttl_s);

void peer_index_release(struct peer_index *index);

/** Leading blocks of the prompt that are there. */
uint32_t peer_index_run(struct peer_index *index, uint32_t target,
                        const struct peer_request *request);

/** The same in tokens. */
uint32_t peer_index_tokens(struct peer_index *index, uint32_t target,
                           const struct peer_request *request);

/** A request was sent; what is too much is forgotten. */
void peer_index_sent(struct peer_index *index, uint32_t target,
                     const struct peer_request *request);

#endif
