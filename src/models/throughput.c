/* SPDX-License-Identifier: MIT */
#include "models/throughput.h"

#include <math.h>

#define SAMPLES 32 /* that the mean is made of, by their weights */

void lbr_throughput_ended(struct lbr_throughput *throughput, uint64_t duration)
{
    if (throughput->samples < SAMPLES)
        throughput->samples++;
    throughput->mean +=
        ((double)duration - throughput->mean) / throughput->samples;
}

double lbr_throughput_gap(const struct lbr_throughput *throughput,
                          uint64_t in_flight)
{
    if (!throughput->samples || !in_flight)
        return (double)NAN;
    return throughput->mean / (double)in_flight;
}
