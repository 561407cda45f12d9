/* SPDX-License-Identifier: MIT */
/*
 * What may be said of an engine's cache after the batches that arrived, worked
 * out from what they mean and without the library: the yardstick for what the
 * router says.
 *
 *     batches   ■ ■ ■ ■ ■ □ ■ ■ · ·        ■ arrived  □ missing
 *                         ▲ next  ▲ seen   known only while next = seen
 *
 * Beside that, what the router may guess: that a prompt which it sent there is
 * there for a while, whatever events say.
 */
#ifndef LBROUTE_REPLAY_KV_SHADOW_H
#define LBROUTE_REPLAY_KV_SHADOW_H

#include "kv_stream.h"

struct kv_shadow {
    const struct kv_stream *stream;
    uint32_t *copies;  /**< Blocks by content. */
    uint64_t *guessed; /**< By content, when a guess ends; NULL: no guesses. */
    bool *arrived;     /**< By batch. */
    size_t arrived_capacity;
    size_t next;    /**< Batches before this one have been counted. */
    size_t seen;    /**< One past the newest that arrived. */
    size_t process; /**< Index of the first batch of its process. */
    bool begins;    /**< The next one is the first, whatever its number. */
};

void kv_shadow_init(struct kv_shadow *shadow, const struct kv_stream *stream);

void kv_shadow_release(struct kv_shadow *shadow);

/** The index-th batch of the stream arrived, perhaps again. */
void kv_shadow_arrive(struct kv_shadow *shadow, size_t index);

/** All is forgotten, and the next batch that arrives begins anew. */
void kv_shadow_clear(struct kv_shadow *shadow);

/** Blocks may be guessed to be there until then. */
void kv_shadow_guess(struct kv_shadow *shadow, const uint32_t *ids,
                     uint32_t count, uint64_t until);

/** Length of the leading run of `ids` that may be guessed to be there. */
uint32_t kv_shadow_guessed_run(const struct kv_shadow *shadow,
                               const uint32_t *ids, uint32_t count,
                               uint64_t now);

/** Whether nothing is missing before the newest batch. */
bool kv_shadow_known(const struct kv_shadow *shadow);

/** Length of the leading run of `ids` that is there; 0 where that is not
 * known. */
uint32_t kv_shadow_run(const struct kv_shadow *shadow, const uint32_t *ids,
                       uint32_t count);

#endif
