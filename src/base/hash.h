/* SPDX-License-Identifier: MIT */
/* Fast hashes for placement and tables. Not keyed, the same on every router
 * and platform: what routers must agree on (the ring) builds on it. */
#ifndef LBR_BASE_HASH_H
#define LBR_BASE_HASH_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

/* XXH3, 64 bits. */
uint64_t lbr_hash(const void *bytes, size_t length);

/* XXH3, 64 bits, with a seed: independent hashes of the same bytes. */
uint64_t lbr_hash_seeded(const void *bytes, size_t length, uint64_t seed);

/* XXH3, 64 bits, of bytes that come in pieces: the same as lbr_hash() of all of
 * them in a row. */
struct lbr_hash_stream {
    alignas(64) unsigned char state[576];
};

void lbr_hash_begin(struct lbr_hash_stream *stream);
void lbr_hash_add(struct lbr_hash_stream *stream, const void *bytes,
                  size_t length);
uint64_t lbr_hash_end(const struct lbr_hash_stream *stream);

/* Mixes two words into one (the finaliser of splitmix64 over a combination);
 * cheap, for keys that are digests already. Of two pairs with the same |a| and
 * different |b| the results differ. */
uint64_t lbr_hash_pair(uint64_t a, uint64_t b);

#endif
