/* SPDX-License-Identifier: MIT */
#include "base/rng.h"

#include "base/hash.h"

void lbr_rng_init(struct lbr_rng *rng, uint64_t seed)
{
    rng->state = lbr_hash_pair(seed, 0x70636733);
    (void)lbr_rng_next(rng);
}
