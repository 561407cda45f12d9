/* SPDX-License-Identifier: MIT */
#include "containers/bits.h"

static uint32_t count_ones(uint64_t word)
{
    word -= word >> 1 & 0x5555555555555555U;
    word = (word & 0x3333333333333333U) + (word >> 2 & 0x3333333333333333U);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fU;
    return (uint32_t)((word * 0x0101010101010101U) >> 56);
}

/* Position of the lowest set bit: all bits below it are counted. */
static uint32_t lowest_one(uint64_t word)
{
    return count_ones((word & (0 - word)) - 1);
}

uint32_t lbr_bits_seek(const uint64_t *bits, uint32_t n, uint32_t from)
{
    uint32_t word = from / 64;
    uint32_t words = lbr_bits_words(n);
    uint64_t rest;

    if (from >= n)
        return LBR_BITS_NONE;
    rest = bits[word] & (UINT64_MAX << (from % 64));
    while (!rest && ++word < words)
        rest = bits[word];
    return rest ? word * 64 + lowest_one(rest) : LBR_BITS_NONE;
}

uint32_t lbr_bits_select(const uint64_t *bits, uint32_t rank)
{
    uint32_t word = 0;
    uint32_t ones;
    uint64_t rest;

    while ((ones = count_ones(bits[word])) <= rank) {
        rank -= ones;
        word++;
    }
    for (rest = bits[word]; rank; rank--)
        rest &= rest - 1;
    return word * 64 + lowest_one(rest);
}

void lbr_bits_delete(uint64_t *bits, uint32_t n, uint32_t position)
{
    uint32_t words = lbr_bits_words(n);
    uint32_t word = position / 64;
    uint64_t below = ((uint64_t)1 << (position % 64)) - 1;

    bits[word] = (bits[word] & below) | (bits[word] >> 1 & ~below);
    for (; word + 1 < words; word++) {
        bits[word] |= bits[word + 1] << 63;
        bits[word + 1] >>= 1;
    }
}
