/* SPDX-License-Identifier: MIT */
/*
 * Seeded workloads for those without a trace.
 */
#ifndef LBROUTE_REPLAY_GENERATE_H
#define LBROUTE_REPLAY_GENERATE_H

#include "workload.h"

#include <stddef.h>
#include <stdint.h>

/** A kind of traffic. */
struct generator {
    const char *name;
    const char *text;    /**< One line. */
    double default_rate; /**< Requests per second. */
};

/** The index-th kind, or NULL past the last. */
const struct generator *generator_at(size_t index);

/** The kind of a name, or NULL. */
const struct generator *generator_find(const char *name);

/** Fills an empty workload. In closed loop `rate` is what it comes to on the
 * mean, since sessions arrive at that rate over their mean length.
 *
 * @param rate requests per second.
 * @param duration_s time within which requests, or sessions, arrive.
 */
void generator_run(const struct generator *generator, double rate,
                   double duration_s, uint64_t seed, struct workload *workload);

#endif
