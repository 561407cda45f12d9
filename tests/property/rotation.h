/* SPDX-License-Identifier: MIT */
/*
 * Random programs for the two rules with an exact sequence.
 *
 * A program picks from one pool while targets come and go, change weight,
 * drain, fill up, are benched, excluded or too small for the request. Each
 * pick must be the one that the naive rule makes.
 */
#ifndef LBROUTE_TESTS_PROPERTY_ROTATION_H
#define LBROUTE_TESTS_PROPERTY_ROTATION_H

#include <stddef.h>
#include <stdint.h>

/** What weights a program draws. */
enum rotation_weights {
    ROTATION_EQUAL,    /**< All 1. */
    ROTATION_INTEGERS, /**< 1 to 20. */
    ROTATION_TENTHS,   /**< 0.1 to 5.0. */
    ROTATION_DECIMALS, /**< Up to nine digits, 1e-6 to 4e6. */
    ROTATION_REALS,    /**< Doubles that are no short decimal, and some that
                        * are. */
    ROTATION_EXTREMES, /**< Powers of ten, 1e-6 to 1e7. */
    ROTATION_KINDS
};

struct rotation_shape {
    const char *strategy; /**< "weighted" or "round_robin". */
    enum rotation_weights weights;
    uint32_t distinct; /**< Weights to draw from, 1 to 50. */
    uint32_t targets;  /**< Most targets, 1 to 200. */
    uint32_t churn;    /**< Changes for each 100 picks. */
    int tiers;         /**< Tiers in use, 1 to MODEL_LABELS. */
    size_t picks;
};

/** Runs a program; a difference fails a check. */
void rotation_run(const struct rotation_shape *shape, uint64_t seed);

#endif
