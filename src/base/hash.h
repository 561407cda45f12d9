/* SPDX-License-Identifier: MIT */
/* Fast hashes for placement and tables. Not keyed, the same on every router
 * and platform: what routers must agree on (the ring) builds on it. */
#ifndef LBR_BASE_HASH_H
#define LBR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* XXH3, 64 bits. */
uint64_t lbr_hash(const void *bytes, size_t length);

/* XXH3, 64 bits, with a seed: independent hashes of the same bytes. */
uint64_t lbr_hash_seeded(const void *bytes, size_t length, uint64_t seed);

/* Mixes two words into one (the finaliser of splitmix64 over a combination);
 * cheap, for keys that are digests already. Of two pairs with the same |a| and
 * different |b| the results differ. */
uint64_t lbr_hash_pair(uint64_t a, uint64_t b);

#endif
