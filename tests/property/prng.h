/* SPDX-License-Identifier: MIT */
/*
 * Random numbers and the size of the tests.
 */
#ifndef LBROUTE_TESTS_PROPERTY_PRNG_H
#define LBROUTE_TESTS_PROPERTY_PRNG_H

#include <stddef.h>
#include <stdint.h>

/** xorshift64*: not the generator of the library. */
struct rng {
    uint64_t state;
};

void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);

/** 0 … bound - 1; bound is at least 1. */
uint32_t rng_below(struct rng *rng, uint32_t bound);

/** lowest … highest, both included. */
uint32_t rng_between(struct rng *rng, uint32_t lowest, uint32_t highest);

/** 1 in `percent` of 100 cases. */
int rng_chance(struct rng *rng, uint32_t percent);

/**
 * `count` times the environment variable LBROUTE_TEST_SCALE, at least 1.
 * Without it the scale is 1, and 0.5 under a sanitizer.
 */
size_t scaled(size_t count);

#endif
