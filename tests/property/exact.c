/* SPDX-License-Identifier: MIT */
#include "exact.h"

#include <math.h>

enum { SCALE_SHIFT = 72 };

static const uint32_t billion = 1000000000;

struct exact exact_zero(void)
{
    struct exact zero = {{0, 0, 0}};
    return zero;
}

struct exact exact_add(struct exact a, struct exact b)
{
    struct exact sum;
    uint64_t carry = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t part = a.limb[i] + carry;
        carry = part < carry;
        sum.limb[i] = part + b.limb[i];
        carry += sum.limb[i] < part;
    }
    return sum;
}

static struct exact exact_negate(struct exact a)
{
    struct exact one = {{1, 0, 0}};
    for (int i = 0; i < 3; i++)
        a.limb[i] = ~a.limb[i];
    return exact_add(a, one);
}

struct exact exact_sub(struct exact a, struct exact b)
{
    return exact_add(a, exact_negate(b));
}

int exact_less(struct exact a, struct exact b)
{
    return (int)(exact_sub(a, b).limb[2] >> 63);
}

static struct exact exact_shift_left(struct exact a, int bits)
{
    for (int i = 0; i < bits; i++)
        a = exact_add(a, a);
    return a;
}

static struct exact exact_times(struct exact a, uint32_t factor)
{
    struct exact product = exact_zero();
    for (int bit = 0; bit < 32; bit++) {
        if ((factor >> bit) & 1)
            product = exact_add(product, exact_shift_left(a, bit));
    }
    return product;
}

/* Value of a double that is no short decimal: mantissa × 2^exponent. */
static struct exact double_value(double weight)
{
    int exponent = 0;
    double mantissa = frexp(weight, &exponent);
    struct exact value = {{(uint64_t)ldexp(mantissa, 53), 0, 0}};
    return exact_shift_left(exact_times(value, billion),
                            SCALE_SHIFT + exponent - 53);
}

struct exact exact_weight(double weight)
{
    if (!(weight > 0))
        return exact_zero();
    double nearest = nearbyint(weight * 1e9);
    static const double offsets[] = {0, -1, 1};
    for (int i = 0; i < 3; i++) {
        double billionths = nearest + offsets[i];
        double decimal = billionths / 1e9;
        if (!(decimal < weight) && !(decimal > weight)) {
            struct exact value = {{(uint64_t)billionths, 0, 0}};
            return exact_shift_left(value, SCALE_SHIFT);
        }
    }
    return double_value(weight);
}
