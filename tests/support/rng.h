/* SPDX-License-Identifier: MIT */
/* Random numbers for tests (SplitMix64), independent of the library's own. */
#ifndef TESTS_SUPPORT_RNG_H
#define TESTS_SUPPORT_RNG_H

#include <stddef.h>
#include <stdint.h>

struct test_rng {
    uint64_t state;
};

static inline uint64_t test_rng_next(struct test_rng *rng)
{
    uint64_t z = (rng->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A number below |bound|, which is small enough for its bias not to count. */
static inline size_t test_rng_below(struct test_rng *rng, size_t bound)
{
    return (size_t)(test_rng_next(rng) % bound);
}

#endif
