/* SPDX-License-Identifier: MIT */
/*
 * Seeded random draws of the workload generator and the session starts. The
 * router has a generator of its own; this one never touches it.
 */
#ifndef LBROUTE_REPLAY_DRAW_H
#define LBROUTE_REPLAY_DRAW_H

#include <stddef.h>
#include <stdint.h>

struct draw {
    uint64_t state;
};

/** Starts the sequence of a seed; `stream` separates uses of one seed. */
struct draw draw_start(uint64_t seed, uint64_t stream);

/** Uniform in [0, 1). */
double draw_uniform(struct draw *draw);

/** Uniform whole number below `bound`, which is at least 1. */
uint32_t draw_below(struct draw *draw, uint32_t bound);

/** Exponential with this mean. */
double draw_exponential(struct draw *draw, double mean);

/** Log-normal with this median; `sigma` is the deviation of the logarithm. */
double draw_lognormal(struct draw *draw, double median, double sigma);

/** Number of trials up to the first success: 1, 2, … with this mean. */
uint32_t draw_geometric(struct draw *draw, double mean);

/** Rank 0 to `count` - 1, rank r with probability proportional to
 * 1 / (r + 1). */
uint32_t draw_zipf(struct draw *draw, uint32_t count);

/** Index out of `count` that `place`, uniform in [0, 1), falls on where
 * sums[i] is the weight of all up to the i-th. */
size_t draw_weighted(const double *sums, size_t count, double place);

#endif
