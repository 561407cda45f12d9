/* SPDX-License-Identifier: MIT */
/* 128-bit two's complement integers: sum, difference, order. Sums wrap, so
 * only values closer than 2^127 to each other may be compared. */
#ifndef LBR_BASE_WIDE_H
#define LBR_BASE_WIDE_H

#include "base/bytes.h"

#include <stdint.h>

struct lbr_wide {
    uint64_t high, low;
};

static inline struct lbr_wide lbr_wide_add(struct lbr_wide a, struct lbr_wide b)
{
    struct lbr_wide sum;

    sum.low = a.low + b.low;
    sum.high = a.high + b.high + (sum.low < a.low);
    return sum;
}

static inline struct lbr_wide lbr_wide_sub(struct lbr_wide a, struct lbr_wide b)
{
    struct lbr_wide difference;

    difference.low = a.low - b.low;
    difference.high = a.high - b.high - (a.low < b.low);
    return difference;
}

/* Whether a comes before b: the sign of their difference, which is right even
 * where one of them has wrapped. */
static inline int lbr_wide_less(struct lbr_wide a, struct lbr_wide b)
{
    return (int64_t)lbr_wide_sub(a, b).high < 0;
}

static inline int lbr_wide_equal(struct lbr_wide a, struct lbr_wide b)
{
    return a.high == b.high && a.low == b.low;
}

/* |factor| * |word|, shifted left by |shift| (right when negative, cut off).
 * The result must fit 127 bits; |shift| is between -63 and 63. */
struct lbr_wide lbr_wide_scaled(uint64_t factor, uint32_t word, int shift);

/* The product of two words, in full. It is negative to lbr_wide_less() unless
 * it fits 127 bits. */
struct lbr_wide lbr_wide_product(uint64_t a, uint64_t b);

/* |value| / |divisor|, cut off; neither is negative, |divisor| is not 0. */
struct lbr_wide lbr_wide_divide(struct lbr_wide value, uint32_t divisor);

/* As a double, within one unit in the last place. */
double lbr_wide_to_double(struct lbr_wide value);

/* As bytes, and back: nothing that is so large that it could not be compared
 * with its like. */
void lbr_wide_save(struct lbr_wide value, struct lbr_writer *writer);
struct lbr_wide lbr_wide_load(struct lbr_reader *reader);

#endif
