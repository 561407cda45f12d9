/* SPDX-License-Identifier: MIT */
#include "counters.h"

#include <math.h>

/* In steps of 1, 2.5 and 5, and at the end where a client's patience is. */
static const double bounds[COUNTER_BUCKETS - 1] = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
    0.5,   1.0,    2.5,   5.0,  10.0,  25.0, 60.0};

double histogram_bound(unsigned bucket)
{
    if (bucket >= COUNTER_BUCKETS - 1)
        return (double)INFINITY;
    return bounds[bucket];
}

void histogram_add(struct histogram *histogram, double seconds)
{
    unsigned bucket = 0;

    /* What cannot be a duration must not make the sum NaN for ever. */
    if (!(seconds >= 0.0) || isinf(seconds))
        return;
    while (seconds > histogram_bound(bucket))
        bucket++;
    histogram->buckets[bucket]++;
    histogram->count++;
    histogram->sum += seconds;
}
