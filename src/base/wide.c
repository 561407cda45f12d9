/* SPDX-License-Identifier: MIT */
#include "base/wide.h"

struct lbr_wide lbr_wide_scaled(uint64_t factor, uint32_t word, int shift)
{
    uint64_t low_part = (factor & 0xffffffffU) * word;
    uint64_t high_part = (factor >> 32) * word + (low_part >> 32);
    struct lbr_wide product;

    product.low = (high_part << 32) | (low_part & 0xffffffffU);
    product.high = high_part >> 32;
    if (shift > 0) {
        product.high = (product.high << shift) | (product.low >> (64 - shift));
        product.low <<= shift;
    } else if (shift < 0) {
        product.low = (product.low >> -shift) | (product.high << (64 + shift));
        product.high >>= -shift;
    }
    return product;
}

struct lbr_wide lbr_wide_product(uint64_t a, uint64_t b)
{
    struct lbr_wide low, high;

    if ((a | b) >> 32 == 0) {
        low.high = 0;
        low.low = a * b;
        return low;
    }
    low = lbr_wide_scaled(a, (uint32_t)b, 0);
    high = lbr_wide_scaled(a, (uint32_t)(b >> 32), 0);
    high.high = high.high << 32 | high.low >> 32;
    high.low <<= 32;
    return lbr_wide_add(low, high);
}

struct lbr_wide lbr_wide_divide(struct lbr_wide value, uint32_t divisor)
{
    struct lbr_wide quotient;
    uint64_t rest = value.high % divisor;
    uint64_t part;

    quotient.high = value.high / divisor;
    part = rest << 32 | value.low >> 32;
    quotient.low = part / divisor << 32;
    part = part % divisor << 32 | (value.low & 0xffffffffU);
    quotient.low |= part / divisor;
    return quotient;
}

double lbr_wide_to_double(struct lbr_wide value)
{
    static const struct lbr_wide nothing = {0, 0};
    int negative = lbr_wide_less(value, nothing);
    double magnitude;

    /* A small negative number would lose its digits against 2^64. */
    if (negative)
        value = lbr_wide_sub(nothing, value);
    magnitude = (double)value.high * 18446744073709551616.0 + (double)value.low;
    return negative ? -magnitude : magnitude;
}

/* Whether it is from -2^126 up to 2^126. */
static int is_moderate(struct lbr_wide value)
{
    return value.high + (UINT64_C(1) << 62) < UINT64_C(1) << 63;
}

void lbr_wide_save(struct lbr_wide value, struct lbr_writer *writer)
{
    static const struct lbr_wide nothing = {0, 0};

    if (!is_moderate(value))
        value = nothing;
    lbr_put_u64(writer, value.high);
    lbr_put_u64(writer, value.low);
}

struct lbr_wide lbr_wide_load(struct lbr_reader *reader)
{
    struct lbr_wide value;

    value.high = lbr_get_u64(reader);
    value.low = lbr_get_u64(reader);
    lbr_demand(reader, is_moderate(value));
    return value;
}
