/* SPDX-License-Identifier: MIT */
/*
 * One inference engine that schedules as vLLM v1 does.
 *
 *     submit ──▶ waiting (FIFO) ──admit──▶ running (oldest first) ──▶ done
 *                    ▲───── preempted: newest first ─────┘
 *
 * A step has a budget of tokens. Running requests come first, each with one
 * decode token or the next chunk of its prompt; then waiting ones in order of
 * arrival, while budget, seats and cache blocks last. A waiting request is
 * admitted only if the whole of what it has so far fits into the free blocks.
 * What the prefix cache holds is not computed again, except for the last
 * token. When a running request finds no free block, the newest running one
 * goes back to the head of the queue and is recomputed later. Blocks of answers
 * are cached like those of prompts.
 *
 * A request may ask for a LoRA adapter. The engine holds a few of them; a
 * request whose adapter finds no slot, since running ones use them all, is
 * passed over by those behind it until one is free. To load an adapter is part
 * of the step in which its first request starts, and makes that step longer for
 * all who are in it.
 *
 * The engine has no clock: the caller starts a step, lets its duration pass
 * and finishes it.
 */
#ifndef LBROUTE_REPLAY_ENGINE_H
#define LBROUTE_REPLAY_ENGINE_H

#include "engine_spec.h"
#include "kv_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;

/** How an engine is run. Zero for seats or budget means vLLM's default. */
struct engine_options {
    const struct engine_spec *spec;
    uint32_t block_tokens;  /**< Tokens a block, and a content id. */
    uint32_t distinct_ids;  /**< Content ids are below this. */
    uint64_t cache_tokens;  /**< 0: the default of the spec. */
    uint32_t max_seqs;      /**< Most running requests (256). */
    uint32_t step_tokens;   /**< Token budget of a step (2,048). */
    uint32_t adapter_slots; /**< Adapters held at once; 0: none is used. */
    double adapter_load_ms; /**< Time to load one. */
    /** Receives what the prefix cache stores and evicts, with one event for
     * what a request fills in a step, and one for each evicted block; NULL:
     * nobody does. */
    struct kv_log *kv_log;
};

/** A request at an engine. The caller fills the first group, keeps the struct
 * and `ids` until it is done and may use `owner` as it likes. */
struct engine_request {
    const uint32_t *ids;    /**< Content of each full block, prompt then
                             * answer: (input + output - 1) / block_tokens. */
    uint32_t input_tokens;  /**< At least 1. */
    uint32_t output_tokens; /**< At least 1. */
    uint32_t adapter;       /**< 0: none. */
    uint32_t owner;

    /* The engine's own. */
    uint32_t computed;     /* Tokens whose keys and values exist. */
    uint32_t produced;     /* Output tokens so far. */
    uint32_t hit_tokens;   /* Found in the cache when first admitted. */
    uint32_t named_blocks; /* Leading blocks that are findable. */
    uint32_t block_count;
    uint32_t *blocks; /* NULL while waiting. */
    bool admitted;    /* At least once. */
    struct engine_request *next_waiting;
};

/** What happened to a request in a step. */
enum engine_event { ENGINE_FIRST_TOKEN, ENGINE_DONE };

/** Told about events, in order of the running requests. A request with one
 * output token gets both. After ENGINE_DONE the engine has let go of it. */
typedef void (*engine_listener)(void *context, struct engine_request *request,
                                enum engine_event event);

/** Creates an idle engine. */
struct engine *engine_create(const struct engine_options *options);

/** Frees the engine and the blocks of requests still in it. */
void engine_destroy(struct engine *engine);

/** Whether the cache can hold such a request at all. */
bool engine_fits(const struct engine *engine, uint32_t input_tokens,
                 uint32_t output_tokens);

/** Queues a request that fits. */
void engine_submit(struct engine *engine, struct engine_request *request);

/** Takes out a request that is not done, whenever its client went away: the
 * engine has let go of it, and nothing more is told of it. What it computed
 * stays in the cache for others. */
void engine_cancel(struct engine *engine, struct engine_request *request);

/** Composes the next step. Returns false if there is nothing to do, else true
 * and how long the step takes; engine_finish_step() must follow. */
bool engine_start_step(struct engine *engine, double *ms);

/** Ends the step: tokens come out. */
void engine_finish_step(struct engine *engine, engine_listener listener,
                        void *context);

/** Starts the process anew instead of finishing the step under way, or between
 * two steps: its caches are empty and all its requests wait, in the order in
 * which they came; what was computed is computed again. Answers go on where
 * they stood. */
void engine_restart(struct engine *engine);

/** Requests running, as the engine's metrics tell. */
uint32_t engine_running(const struct engine *engine);

/** Requests waiting. */
uint32_t engine_waiting(const struct engine *engine);

/** Part of the blocks in use by requests, 0 to 1. */
double engine_kv_usage(const struct engine *engine);

/** Number of blocks, and tokens of each. */
uint32_t engine_blocks(const struct engine *engine);
uint32_t engine_block_tokens(const struct engine *engine);

/** Input tokens of the requests that ran so far, and how many of them were
 * found in the prefix cache. */
uint64_t engine_queried(const struct engine *engine);
uint64_t engine_found(const struct engine *engine);

/** Prompt and recomputed tokens that steps have computed so far. */
uint64_t engine_prefilled(const struct engine *engine);

/** Requests put back to the queue so far. */
uint64_t engine_preemptions(const struct engine *engine);

/** Adapters that can be held; 0: none is used. */
uint32_t engine_adapter_slots(const struct engine *engine);

/** Adapters loaded so far. */
uint64_t engine_adapter_loads(const struct engine *engine);

/** Told of the adapter of a request. */
typedef void (*engine_adapter_listener)(void *context, uint32_t adapter);

/** Lists the adapters of the running requests, or of the waiting ones, in their
 * order and as often as there are requests for them. */
void engine_list_adapters(const struct engine *engine, bool waiting,
                          engine_adapter_listener listener, void *context);

#endif
