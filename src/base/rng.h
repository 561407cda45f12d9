/* SPDX-License-Identifier: MIT */
/* A small seeded generator: PCG-XSH-RR 64/32, O'Neill, "PCG: A Family of
 * Simple Fast Space-Efficient Statistically Good Algorithms", 2014. A plain
 * value: a copy draws the same numbers without moving the original. */
#ifndef LBR_BASE_RNG_H
#define LBR_BASE_RNG_H

#include <stdint.h>

struct lbr_rng {
    uint64_t state;
};

/* Any seed is good, neighbouring ones give unrelated sequences. */
void lbr_rng_init(struct lbr_rng *rng, uint64_t seed);

static inline uint32_t lbr_rng_next(struct lbr_rng *rng)
{
    uint64_t old = rng->state;
    uint32_t shifted = (uint32_t)(((old >> 18) ^ old) >> 27);
    uint32_t turn = (uint32_t)(old >> 59);

    rng->state = old * 6364136223846793005U + 1442695040888963407U;
    return (shifted >> turn) | (shifted << ((32 - turn) & 31));
}

/* Uniform in 0 … bound - 1 without bias (Lemire, 2019). |bound| > 0. */
static inline uint32_t lbr_rng_below(struct lbr_rng *rng, uint32_t bound)
{
    uint64_t product = (uint64_t)lbr_rng_next(rng) * bound;

    if ((uint32_t)product < bound) {
        uint32_t reject = (0U - bound) % bound;

        while ((uint32_t)product < reject)
            product = (uint64_t)lbr_rng_next(rng) * bound;
    }
    return (uint32_t)(product >> 32);
}

#endif
