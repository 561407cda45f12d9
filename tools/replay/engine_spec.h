/* SPDX-License-Identifier: MIT */
/*
 * The engines that can be simulated: how long a step takes on which model and
 * hardware, and how much the KV cache holds.
 */
#ifndef LBROUTE_REPLAY_ENGINE_SPEC_H
#define LBROUTE_REPLAY_ENGINE_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One model on one kind of hardware. */
struct engine_spec {
    const char *name;
    const char *text;         /**< Model and hardware in words. */
    uint64_t cache_tokens;    /**< Default size of the KV cache. */
    double fixed_ms;          /**< Of every step. */
    double token_us;          /**< Per prefill token. */
    double chunk_context_ns;  /**< Per prefill token and token before it. */
    double decode_context_ns; /**< Per token of context of a decode. */
    double sequence_us;       /**< Per request in the step. */
    /** The fixed time hides the first tokens instead of adding to them: a step
     * takes max(fixed, tokens) where tokens counts decodes, too. */
    bool overlapped;
};

/** What one step computes. */
struct engine_work {
    uint64_t sequences;
    uint64_t prefill_tokens;
    uint64_t decode_tokens;
    double chunk_context;  /**< Sum over chunks: tokens × mean context. */
    double decode_context; /**< Sum over decodes: context. */
};

/** The index-th engine, or NULL past the last. */
const struct engine_spec *engine_spec_at(size_t index);

/** Its name, or NULL past the last. */
const char *engine_spec_name(size_t index);

/** The engine of a name, or NULL. */
const struct engine_spec *engine_spec_find(const char *name, size_t length);

/** How long a step takes, in ms. */
double engine_spec_step_ms(const struct engine_spec *spec,
                           const struct engine_work *work);

#endif
