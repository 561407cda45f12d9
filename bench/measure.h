/* SPDX-License-Identifier: MIT */
/*
 * Takes the figure of a case: opens its fixture, finds how many operations fill
 * a run, does the runs and closes the fixture.
 */
#ifndef LBROUTE_BENCH_MEASURE_H
#define LBROUTE_BENCH_MEASURE_H

#include "bench.h"

enum { BENCH_RUNS_MAX = 1000 };

typedef struct bench_plan {
    unsigned runs;       /* 1 to BENCH_RUNS_MAX */
    uint64_t operations; /* in each run; 0: as many as take about 50 ms */
} bench_plan;

/* With several lanes the operations are split among the threads and the figure
 * is wall-clock time over the operations of all: half of the one-thread figure
 * means that two threads get twice as much done. What is no time is read once.
 */
bench_figure bench_measure(const bench_case *test, const bench_plan *plan);

#endif
