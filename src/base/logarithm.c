/* SPDX-License-Identifier: MIT */
#include "base/logarithm.h"

#include <math.h>

#define LN2 0.693147180559945309417
#define SQRT_HALF 0.707106781186547524401

/* log m = 2 artanh((m - 1) / (m + 1)), for m around 1. */
double lbr_log(double value)
{
    int exponent;
    double m = frexp(value, &exponent);
    double t, square;
    double sum = 0;
    int k;

    if (m < SQRT_HALF) {
        m *= 2;
        exponent--;
    }
    t = (m - 1) / (m + 1);
    square = t * t;
    for (k = 17; k > 0; k -= 2)
        sum = sum * square + 1.0 / k;
    return exponent * LN2 + 2 * t * sum;
}

/* A power of 2, and a series for what is left, its even and its odd terms. */
double lbr_exp(double value)
{
    int exponent = (int)(value / LN2 + (value < 0 ? -0.5 : 0.5));
    double rest = value - exponent * LN2;
    double square = rest * rest;
    double even = 1.0 / 479001600;
    double odd = 1.0 / 6227020800.0;

    even = even * square + 1.0 / 3628800;
    odd = odd * square + 1.0 / 39916800;
    even = even * square + 1.0 / 40320;
    odd = odd * square + 1.0 / 362880;
    even = even * square + 1.0 / 720;
    odd = odd * square + 1.0 / 5040;
    even = even * square + 1.0 / 24;
    odd = odd * square + 1.0 / 120;
    even = even * square + 1.0 / 2;
    odd = odd * square + 1.0 / 6;
    even = even * square + 1;
    odd = odd * square + 1;
    return ldexp(even + rest * odd, exponent);
}
