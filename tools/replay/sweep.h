/* SPDX-License-Identifier: MIT */
/*
 * A sweep: the same replay at several loads.
 *
 *     load=0.5:1.5:0.1     0.5 0.6 … 1.5 times what --load says
 */
#ifndef LBROUTE_REPLAY_SWEEP_H
#define LBROUTE_REPLAY_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

/** Most points of a sweep. */
enum { SWEEP_MAX_POINTS = 1000 };

struct sweep {
    double from;
    double to;
    double step;
    size_t count; /**< Points; 0: there is no sweep. */
};

/** Parses `load=FROM:TO:STEP`. Returns false if it is not that. */
bool sweep_parse(const char *text, struct sweep *sweep);

/** The index-th point, or 1 where there is no sweep. */
double sweep_point(const struct sweep *sweep, size_t index);

/** Times that everything runs: points, or 1. */
size_t sweep_runs(const struct sweep *sweep);

#endif
