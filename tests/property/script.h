/* SPDX-License-Identifier: MIT */
/*
 * A scripted life of a router, for runs in which allocations fail.
 *
 * The script is drawn once from a seed and then played as often as wanted. It
 * adds pools and targets, grows every table, picks under every strategy with
 * sessions, scorers, prices and, if wanted, prompts, moves, re-weighs and
 * removes. Each
 * operation leaves one number in a trace (whom a pick went to, what a call
 * returned), so that two lives can be compared.
 */
#ifndef LBROUTE_TESTS_PROPERTY_SCRIPT_H
#define LBROUTE_TESTS_PROPERTY_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include <lbroute/lbroute.h>

#include "heap.h"

enum {
    SCRIPT_OPERATIONS = 600,
    SCRIPT_POOLS = 4,
    SCRIPT_TARGETS = 40,
    SCRIPT_OPEN = 64
};

struct script_operation {
    int kind;
    uint32_t a, b, c;
};

struct script {
    int prompts; /**< Requests have prompts. */
    struct script_operation operations[SCRIPT_OPERATIONS];
};

/** One playing of a script. */
struct script_life {
    struct heap heap;
    lbroute_router *router;
    lbroute_pool pools[SCRIPT_POOLS];
    lbroute_target targets[SCRIPT_TARGETS];
    lbroute_ticket open[SCRIPT_OPEN];
    size_t open_count;
    uint64_t told[SCRIPT_TARGETS]; /**< Batches of KV events. */
    uint64_t now;
    int recorded; /**< The last pick's strategy remembers its prompt. */
    lbroute_scorer scorers[SCRIPT_POOLS];
    uint64_t created, destroyed; /**< Scorers, failed registrations too. */
    int64_t trace[SCRIPT_OPERATIONS];
};

void script_draw(struct script *script, uint64_t seed, int prompts);

/** Creates the router, with the heap as it stands. Returns the result. */
int script_begin(struct script_life *life);

/**
 * Performs an operation and writes its trace.
 *
 * @return the call's result. After #LBROUTE_ERR_NO_MEMORY the operation may be
 *     performed again.
 */
int script_perform(struct script_life *life, const struct script *script,
                   size_t number);

/** Whether the operation just performed is an observe, which may lose a pin for
 * want of memory and nothing else, a pick that may have remembered only the
 * head of its prompt, or a batch of KV events, of which blocks may be left
 * out. */
int script_may_forget(const struct script_life *life,
                      const struct script *script, size_t number);

#endif
