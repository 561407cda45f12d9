/* SPDX-License-Identifier: MIT */
/*
 * Engines that send KV events at random, over a bad network, to a router and to
 * the model, which must agree after every batch.
 *
 *     engine ── log of its batches ──▶ lost, late, twice ──▶ router
 *                                                       └──▶ model
 */
#ifndef LBROUTE_TESTS_PROPERTY_KV_ENGINES_H
#define LBROUTE_TESTS_PROPERTY_KV_ENGINES_H

#include <stddef.h>
#include <stdint.h>

#include <lbroute/lbroute.h>

#include "heap.h"
#include "kv_model.h"
#include "prng.h"

enum {
    KV_TARGETS = 3,
    KV_SOURCES = 2,
    KV_PROMPTS = 24,
    KV_LOG = 60 /**< Batches that an engine can replay. */
};

/** What is tried. */
struct kv_plan {
    const char *what;
    int counts_copies;
    int timestamps;      /**< Batches say when they were made. */
    int perfect;         /**< Nothing is lost, late or comes again. */
    uint32_t labels;     /**< Of so many, with any content; 0: labels follow
                          * from the content, as in real engines. */
    uint32_t max_blocks; /**< 0: more than there can be. */
};

struct kv_engine {
    uint64_t seq;    /**< Of its next batch. */
    uint64_t oldest; /**< Of this life. */
    double clock;
    struct kv_batch log[KV_LOG];
};

struct kv_world {
    const struct kv_plan *plan;
    struct heap heap;
    struct rng rng;
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target targets[KV_TARGETS];
    struct kv_engine engines[KV_TARGETS][KV_SOURCES];
    struct kv_source models[KV_TARGETS][KV_SOURCES];
    struct kv_prompt prompts[KV_PROMPTS];
    uint64_t events;  /**< Delivered so far. */
    uint64_t matches; /**< Comparisons in which something was resident. */
    int failing;      /**< Allocations may fail: the router may know less. */
};

void kv_world_open(struct kv_world *world, const struct kv_plan *plan,
                   uint64_t seed);
void kv_world_close(struct kv_world *world);

/** Something happens, and all that concerns it is compared. */
void kv_world_step(struct kv_world *world);

/** Compares every target under every prompt. */
void kv_world_check(struct kv_world *world);

#endif
