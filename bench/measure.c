/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Length of a run, and of the shortest trial that is believed. */
static const double RUN_NS = 50e6;
static const double TRIAL_NS = 5e6;

typedef struct lane_job {
    const bench_case *test;
    void *fixture;
    unsigned lane;
    uint64_t operations;
    pthread_barrier_t *start;
    uint64_t began;
    uint64_t ended;
} lane_job;

static uint64_t clock_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) +
           (uint64_t)time.tv_nsec;
}

static void *lane_main(void *argument)
{
    lane_job *job = argument;

    pthread_barrier_wait(job->start);
    job->began = clock_ns();
    job->test->kind->work(job->fixture, job->lane, job->operations);
    job->ended = clock_ns();
    return NULL;
}

static double jobs_elapsed(const lane_job *jobs, unsigned lanes)
{
    uint64_t began = jobs[0].began;
    uint64_t ended = jobs[0].ended;

    for (unsigned i = 1; i < lanes; i++) {
        if (jobs[i].began < began)
            began = jobs[i].began;
        if (jobs[i].ended > ended)
            ended = jobs[i].ended;
    }
    return (double)(ended - began);
}

/* Runs the lanes side by side, a thread each. */
static double run_threads(const bench_case *test, void *fixture,
                          uint64_t operations)
{
    lane_job jobs[BENCH_LANES_MAX];
    pthread_t threads[BENCH_LANES_MAX];
    pthread_barrier_t start;

    pthread_barrier_init(&start, NULL, test->lanes);
    for (unsigned i = 0; i < test->lanes; i++) {
        jobs[i] = (lane_job){test,   fixture, i, operations / test->lanes,
                             &start, 0,       0};
        if (pthread_create(&threads[i], NULL, lane_main, &jobs[i]) != 0)
            bench_die(test->name, "cannot start a thread");
    }
    for (unsigned i = 0; i < test->lanes; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    return jobs_elapsed(jobs, test->lanes);
}

/* Returns the wall-clock time of `operations`, ns. */
static double run_once(const bench_case *test, void *fixture,
                       uint64_t operations)
{
    uint64_t began;

    if (test->kind->prepare != NULL)
        test->kind->prepare(fixture, operations);
    if (test->lanes > 1)
        return run_threads(test, fixture, operations);
    began = clock_ns();
    test->kind->work(fixture, 0, operations);
    return (double)(clock_ns() - began);
}

static uint64_t bounded(const bench_case *test, uint64_t operations)
{
    uint64_t most = test->most_operations;

    return most > 0 && operations > most ? most : operations;
}

/* Doubles the operations until a trial is long enough to be believed. The
 * trials warm caches and tables as well. */
static uint64_t calibrate(const bench_case *test, void *fixture)
{
    uint64_t operations = 8;
    double elapsed = run_once(test, fixture, operations);

    while (elapsed < TRIAL_NS && bounded(test, 2 * operations) > operations) {
        operations = bounded(test, 2 * operations);
        elapsed = run_once(test, fixture, operations);
    }
    return (uint64_t)((double)operations * RUN_NS / elapsed);
}

/* Gives every lane the same number of operations, at least one. */
static uint64_t round_up(uint64_t operations, unsigned lanes)
{
    return (operations + lanes - 1) / lanes * lanes;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(const double *sorted, unsigned count)
{
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* Sorts the values and sums them up. */
static void summarise(bench_figure *figure, double *values, unsigned count)
{
    qsort(values, count, sizeof values[0], compare_doubles);
    figure->median = median(values, count);
    figure->min = values[0];
    figure->max = values[count - 1];
    figure->runs = count;
}

static void measure_time(const bench_case *test, const bench_plan *plan,
                         void *fixture, bench_figure *figure)
{
    double ns[BENCH_RUNS_MAX];
    uint64_t operations =
        plan->operations > 0 ? plan->operations : calibrate(test, fixture);

    operations = round_up(bounded(test, operations), test->lanes);
    for (unsigned i = 0; i < plan->runs; i++)
        ns[i] = run_once(test, fixture, operations) / (double)operations;
    figure->operations = operations;
    summarise(figure, ns, plan->runs);
}

/* What is no time is read once. */
static void measure_value(const bench_case *test, const bench_plan *plan,
                          void *fixture, bench_figure *figure)
{
    double values[BENCH_RUNS_MAX];
    unsigned runs = test->kind->unit == NULL ? plan->runs : 1;

    for (unsigned i = 0; i < runs; i++)
        values[i] = test->kind->read(fixture);
    summarise(figure, values, runs);
}

bench_figure bench_measure(const bench_case *test, const bench_plan *plan)
{
    bench_figure figure = {0};
    void *fixture = test->kind->open(test);

    if (test->kind->read != NULL)
        measure_value(test, plan, fixture, &figure);
    else
        measure_time(test, plan, fixture, &figure);
    test->kind->close(fixture);
    return figure;
}
