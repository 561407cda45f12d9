/* SPDX-License-Identifier: MIT */
/*
 * The targets of a fleet, as written after --targets:
 *
 *     N                                          N times the default engine
 *     [COUNTx]ENGINE[@WEIGHT][:LIMIT][=KEY][,…]  e.g. 3x8b-rtx4090@1:32,8b-a100
 *
 * KEY is the key of the price; without it, the name of the engine is.
 */
#ifndef LBROUTE_REPLAY_FLEET_SPEC_H
#define LBROUTE_REPLAY_FLEET_SPEC_H

#include "engine_spec.h"

#include <lbroute/lbroute.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Most targets of a fleet. */
enum { FLEET_MAX_TARGETS = 4096 };

struct fleet_target {
    char name[64]; /**< "<engine>-<number>", numbered from 1 by engine. */
    const struct engine_spec *spec;
    uint64_t cache_tokens;
    double weight;
    uint32_t limit; /**< Most requests in flight; 0: none. */
    char price_key[LBROUTE_NAME_MAX + 1];
    const lbroute_price *price; /**< Set by the caller; NULL: unknown. */
};

struct fleet_spec {
    struct fleet_target *targets;
    size_t count;
};

/** What holds for targets whose item does not say it. */
struct fleet_defaults {
    const struct engine_spec *engine;
    uint64_t cache_tokens; /**< 0: what the engine's spec says. */
    uint32_t limit;
};

/** Parses the text. Returns false with a message; `spec` is then empty. */
bool fleet_spec_parse(const char *text, const struct fleet_defaults *defaults,
                      struct fleet_spec *spec, char *error, size_t error_size);

/** Frees the targets. */
void fleet_spec_release(struct fleet_spec *spec);

#endif
