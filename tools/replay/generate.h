/* SPDX-License-Identifier: MIT */
/*
 * Seeded workloads for those without a trace.
 */
#ifndef LBROUTE_REPLAY_GENERATE_H
#define LBROUTE_REPLAY_GENERATE_H

#include "workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A kind of traffic. */
struct generator {
    const char *name;
    const char *text;    /**< One line. */
    double default_rate; /**< Requests per second. */
    bool documents;      /**< It is about documents, and reads their options. */
};

/** What to generate. */
struct generator_options {
    double rate;       /**< Requests per second. */
    double duration_s; /**< Time within which requests, or sessions, arrive. */
    uint64_t seed;
    uint32_t documents; /**< How many, at least 1. */
    uint32_t document_tokens;
};

/** The index-th kind, or NULL past the last. */
const struct generator *generator_at(size_t index);

/** The kind of a name, or NULL. */
const struct generator *generator_find(const char *name);

/** Fills an empty workload. In closed loop the rate is what it comes to on the
 * mean, since sessions arrive at that rate over their mean length. */
void generator_run(const struct generator *generator,
                   const struct generator_options *options,
                   struct workload *workload);

#endif
