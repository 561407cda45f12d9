/* SPDX-License-Identifier: MIT */
/* A small router that the fuzzers of snapshots and deltas tell things: a pool
 * for each of some strategies, with two targets, and little room. */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include <lbroute/lbroute.h>

#include "heap.h"

enum { WORLD_POOLS = 5, WORLD_TARGETS = 2 };

struct world {
    lbroute_router *router;
    struct heap heap;
    size_t count; /* of pools */
    lbroute_pool pools[WORLD_POOLS];
    lbroute_target targets[WORLD_POOLS][WORLD_TARGETS];
    uint64_t now;
};

/* Options that leave little room. */
void world_options(lbroute_router_options *options, uint64_t seed);

/* Starts a router with |count| pools; takes the allocator of |options|. */
void world_start(struct world *world, lbroute_router_options *options,
                 const char *const *strategies, size_t count);
void world_end(struct world *world);

/* The |number|-th request to a pool; its key is in the caller's |key|. */
void world_request(const struct world *world, size_t pool, uint32_t number,
                   char key[2], lbroute_request *request);

/* What it has learned; the caller frees it. */
uint8_t *world_snapshot(const struct world *world, size_t *length);

#endif
