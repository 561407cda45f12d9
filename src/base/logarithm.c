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

/* A power of 2, and a series for what is left. */
double lbr_exp(double value)
{
    int exponent = (int)(value / LN2 + (value < 0 ? -0.5 : 0.5));
    double rest = value - exponent * LN2;
    double sum = 1;
    int k;

    for (k = 14; k > 0; k--)
        sum = 1 + rest * sum / k;
    return ldexp(sum, exponent);
}
