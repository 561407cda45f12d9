/* SPDX-License-Identifier: MIT */
/* Bit sets over positions 0 … n - 1 in words of 64. */
#ifndef LBR_CONTAINERS_BITS_H
#define LBR_CONTAINERS_BITS_H

#include <stdint.h>

#define LBR_BITS_NONE UINT32_MAX

static inline uint32_t lbr_bits_words(uint32_t n)
{
    return (n + 63) / 64;
}

static inline int lbr_bits_has(const uint64_t *bits, uint32_t position)
{
    return (int)(bits[position / 64] >> (position % 64) & 1);
}

static inline void lbr_bits_set(uint64_t *bits, uint32_t position)
{
    bits[position / 64] |= (uint64_t)1 << (position % 64);
}

static inline void lbr_bits_clear(uint64_t *bits, uint32_t position)
{
    bits[position / 64] &= ~((uint64_t)1 << (position % 64));
}

/* First set position at or after |from| and below |n|, or LBR_BITS_NONE. Who
 * walks over a set mostly finds the very next position set. */
uint32_t lbr_bits_seek(const uint64_t *bits, uint32_t n, uint32_t from);

static inline uint32_t lbr_bits_next(const uint64_t *bits, uint32_t n,
                                     uint32_t from)
{
    if (from < n && lbr_bits_has(bits, from))
        return from;
    return lbr_bits_seek(bits, n, from);
}

/* Position of the set bit of rank |rank| (0 is the first). There must be more
 * than |rank| set bits. */
uint32_t lbr_bits_select(const uint64_t *bits, uint32_t rank);

/* Takes position |position| out of a set of |n|: later ones move down by one.
 */
void lbr_bits_delete(uint64_t *bits, uint32_t n, uint32_t position);

#endif
