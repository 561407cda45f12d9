/* SPDX-License-Identifier: MIT */
#include "base/digest.h"

static uint64_t rotate(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

/* Up to 8 bytes, least significant first. */
static uint64_t load(const uint8_t *bytes, size_t count)
{
    uint64_t word = 0;
    size_t i;

    for (i = 0; i < count; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static void rounds(uint64_t v[4], int count)
{
    while (count--) {
        v[0] += v[1];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[0] = rotate(v[0], 32);
        v[2] += v[3];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[2] = rotate(v[2], 32);
    }
}

static void absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rounds(v, 2);
    v[0] ^= word;
}

struct lbr_digest_key lbr_digest_key(const uint8_t bytes[16])
{
    struct lbr_digest_key key;

    key.k0 = load(bytes, 8);
    key.k1 = load(bytes + 8, 8);
    return key;
}

uint64_t lbr_digest(struct lbr_digest_key key, const void *bytes, size_t length)
{
    const uint8_t *next = bytes;
    size_t left = length;
    uint64_t v[4];

    v[0] = key.k0 ^ 0x736f6d6570736575U;
    v[1] = key.k1 ^ 0x646f72616e646f6dU;
    v[2] = key.k0 ^ 0x6c7967656e657261U;
    v[3] = key.k1 ^ 0x7465646279746573U;
    for (; left >= 8; left -= 8, next += 8)
        absorb(v, load(next, 8));
    absorb(v, load(next, left) | (uint64_t)(length & 0xff) << 56);
    v[2] ^= 0xff;
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
