/* SPDX-License-Identifier: MIT */
#include "draw.h"

#include <math.h>

static const double two_pi = 6.283185307179586;

/* splitmix64 */
static uint64_t next_word(struct draw *draw)
{
    uint64_t x = draw->state += 0x9E3779B97F4A7C15u;

    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

struct draw draw_start(uint64_t seed, uint64_t stream)
{
    struct draw draw = {seed};

    draw.state = next_word(&draw) + stream;
    draw.state = next_word(&draw);
    return draw;
}

double draw_uniform(struct draw *draw)
{
    return (double)(next_word(draw) >> 11) * 0x1p-53;
}

uint32_t draw_below(struct draw *draw, uint32_t bound)
{
    return (uint32_t)(draw_uniform(draw) * (double)bound);
}

double draw_exponential(struct draw *draw, double mean)
{
    return -mean * log(1.0 - draw_uniform(draw));
}

/* Box and Muller's normal, of which only one of the pair is used. */
double draw_lognormal(struct draw *draw, double median, double sigma)
{
    double radius = sqrt(draw_exponential(draw, 2.0));
    double angle = two_pi * draw_uniform(draw);

    return median * exp(sigma * radius * cos(angle));
}

uint32_t draw_geometric(struct draw *draw, double mean)
{
    double stop = 1.0 / mean;
    uint32_t trials = 1;

    while (draw_uniform(draw) >= stop)
        trials++;
    return trials;
}

/* By the inverse of the continuous distribution, then thinned to the exact
 * one: r + 1 is drawn as 1/x on [1, count + 1). */
uint32_t draw_zipf(struct draw *draw, uint32_t count)
{
    double top = log((double)count + 1.0);

    for (;;) {
        double x = exp(top * draw_uniform(draw));
        uint32_t rank = (uint32_t)x - 1;
        double floor_mass = 1.0 / ((double)rank + 1.0);
        double drawn_mass = log(((double)rank + 2.0) / ((double)rank + 1.0));

        /* The ratio of wanted to drawn mass is largest at rank 0: 1/ln 2. */
        if (rank < count &&
            draw_uniform(draw) * drawn_mass * 1.4426950408889634 < floor_mass)
            return rank;
    }
}

size_t draw_weighted(const double *sums, size_t count, double place)
{
    double wanted = place * sums[count - 1];
    size_t low = 0;
    size_t high = count - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (sums[middle] > wanted)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
