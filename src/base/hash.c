/* SPDX-License-Identifier: MIT */
/* The only user of xxHash. */
#include "base/hash.h"

#include <assert.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t lbr_hash(const void *bytes, size_t length)
{
    return XXH3_64bits(bytes, length);
}

uint64_t lbr_hash_seeded(const void *bytes, size_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, length, seed);
}

static_assert(sizeof(XXH3_state_t) <= sizeof(struct lbr_hash_stream),
              "room for the state");
static_assert(alignof(XXH3_state_t) <= alignof(struct lbr_hash_stream),
              "alignment of the state");

void lbr_hash_begin(struct lbr_hash_stream *stream)
{
    (void)XXH3_64bits_reset((XXH3_state_t *)stream);
}

void lbr_hash_add(struct lbr_hash_stream *stream, const void *bytes,
                  size_t length)
{
    (void)XXH3_64bits_update((XXH3_state_t *)stream, bytes, length);
}

uint64_t lbr_hash_end(const struct lbr_hash_stream *stream)
{
    return XXH3_64bits_digest((const XXH3_state_t *)stream);
}

uint64_t lbr_hash_pair(uint64_t a, uint64_t b)
{
    uint64_t mixed = a ^ (b + 0x9e3779b97f4a7c15U + (a << 6) + (a >> 2));

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
}
