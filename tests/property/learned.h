/* SPDX-License-Identifier: MIT */
/*
 * Gateways that have learned something of every kind, and such as begin.
 *
 * A gateway is a router with a pool for each strategy and four targets in each,
 * with models, tiers, prices and sources of KV events. Its configuration is the
 * same whenever it is started, but for the order in which things are added.
 */
#ifndef LBROUTE_TESTS_PROPERTY_LEARNED_H
#define LBROUTE_TESTS_PROPERTY_LEARNED_H

#include <stddef.h>
#include <stdint.h>

#include <lbroute/lbroute.h>

#include "heap.h"
#include "prng.h"

enum { LEARNED_POOLS = 24, LEARNED_TARGETS = 4 };

struct gateway {
    lbroute_router *router;
    struct heap heap;
    size_t pools;
    lbroute_pool pool[LEARNED_POOLS];
    lbroute_target target[LEARNED_POOLS][LEARNED_TARGETS];
    uint64_t told[LEARNED_POOLS][LEARNED_TARGETS]; /**< Batches so far. */
    struct rng rng;
    uint64_t now;
};

enum { TIGHT_BOUNDS = 1, TIGHT_PROMPTS = 2 };

struct gateway_options {
    uint64_t seed;
    uint8_t key;      /**< Each byte of the digest key. */
    uint32_t shuffle; /**< Of the order; 0: none. */
    uint32_t tight;   /**< Bits: small bounds, small memories of prompts. */
};

/** Starts one at `now`; it has learned nothing. */
void gateway_start(struct gateway *gateway,
                   const struct gateway_options *options, uint64_t now);

/** Ends it; all memory must have come back. */
void gateway_end(struct gateway *gateway);

/** Lives through random traffic, all of which is settled at the end. |forced|:
 * chance has no say in the picks, and engines say nothing. */
void gateway_live(struct gateway *gateway, uint64_t seed, size_t steps,
                  int forced);

/** Asks both the same; all that they say of each candidate must agree. */
void gateways_compare(const struct gateway *a, const struct gateway *b,
                      uint64_t seed, size_t questions);

/** Its snapshot, which the caller frees. */
uint8_t *gateway_snapshot(const struct gateway *gateway, size_t *length);

/** Whether two snapshots are the same. */
int same_bytes(const uint8_t *a, size_t a_length, const uint8_t *b,
               size_t b_length);

/** Restores what must be taken over. */
lbroute_restore_result gateway_restore(struct gateway *gateway,
                                       const uint8_t *bytes, size_t length,
                                       uint64_t elapsed);

/** Writes the right checksum and length over those of a snapshot. */
void mend_snapshot(uint8_t *bytes, size_t length);

#endif
