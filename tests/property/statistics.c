/* SPDX-License-Identifier: MIT */
#include "statistics.h"

#include <math.h>

/* Standard normal deviate of one in a million. */
static const double deviate = 4.753;

double chi_square(const uint64_t *counts, const double *parts, size_t cells)
{
    double total = 0;
    double sum = 0;
    for (size_t i = 0; i < cells; i++)
        total += (double)counts[i];
    for (size_t i = 0; i < cells; i++) {
        double expected = total * parts[i];
        double difference = (double)counts[i] - expected;
        if (expected > 0)
            sum += difference * difference / expected;
        else if (counts[i] > 0)
            return HUGE_VAL;
    }
    return sum;
}

/* Wilson and Hilferty: the cube root of chi-square / degrees is almost normal.
 */
static double quantile(size_t degrees, double normal)
{
    double k = (double)degrees;
    double root = 1 - 2 / (9 * k) + normal * sqrt(2 / (9 * k));
    return root > 0 ? k * root * root * root : 0;
}

double chi_square_limit(size_t degrees)
{
    return quantile(degrees, deviate);
}

double chi_square_floor(size_t degrees)
{
    return quantile(degrees, -deviate);
}
