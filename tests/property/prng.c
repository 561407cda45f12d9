/* SPDX-License-Identifier: MIT */
#include "prng.h"

#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||     \
    __has_feature(memory_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif

void rng_seed(struct rng *rng, uint64_t seed)
{
    rng->state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    if (rng->state == 0)
        rng->state = 1;
    for (int i = 0; i < 8; i++)
        (void)rng_next(rng);
}

uint64_t rng_next(struct rng *rng)
{
    rng->state ^= rng->state >> 12;
    rng->state ^= rng->state << 25;
    rng->state ^= rng->state >> 27;
    return rng->state * UINT64_C(0x2545f4914f6cdd1d);
}

uint32_t rng_below(struct rng *rng, uint32_t bound)
{
    return (uint32_t)(((rng_next(rng) >> 32) * bound) >> 32);
}

uint32_t rng_between(struct rng *rng, uint32_t lowest, uint32_t highest)
{
    return lowest + rng_below(rng, highest - lowest + 1);
}

int rng_chance(struct rng *rng, uint32_t percent)
{
    return rng_below(rng, 100) < percent;
}

static double read_scale(void)
{
    const char *text = getenv("LBROUTE_TEST_SCALE");
    if (text) {
        double scale = strtod(text, NULL);
        if (scale > 0)
            return scale;
    }
#ifdef UNDER_SANITIZER
    return 0.5;
#else
    return 1.0;
#endif
}

size_t scaled(size_t count)
{
    double size = (double)count * read_scale();
    return size < 1 ? 1 : (size_t)size;
}
