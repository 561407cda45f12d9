/* SPDX-License-Identifier: MIT */
#include "quantiles.h"

#include <math.h>
#include <stdlib.h>

/* A number that does not exist. */
#define MISSING ((double)NAN)

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The smallest value that `share` of all values do not exceed. */
static double nearest_rank(const double *sorted, size_t count, double share)
{
    size_t rank = (size_t)ceil(share * (double)count);

    return sorted[rank > 0 ? rank - 1 : 0];
}

struct replay_quantiles quantiles_of(double *values, size_t count)
{
    struct replay_quantiles result = {MISSING, MISSING, MISSING, MISSING};
    double sum = 0.0;

    if (count == 0)
        return result;
    qsort(values, count, sizeof *values, compare);
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    result.mean = sum / (double)count;
    result.p50 = nearest_rank(values, count, 0.50);
    result.p90 = nearest_rank(values, count, 0.90);
    result.p99 = nearest_rank(values, count, 0.99);
    return result;
}
