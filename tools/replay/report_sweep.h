/* SPDX-License-Identifier: MIT */
/*
 * Runs of a sweep by strategy and load, and how far each strategy is from the
 * best of all.
 *
 *                 0.5   0.6   0.7  …          regret at a load = own / best
 *     strategy     ·     ·     ·              of a strategy: geometric mean
 *     strategy     ·     ·     ·              and worst over the loads
 */
#ifndef LBROUTE_REPLAY_REPORT_SWEEP_H
#define LBROUTE_REPLAY_REPORT_SWEEP_H

#include "report_measures.h"
#include "report_text.h"

#include <jansson.h>

/* What a sweep shows of its runs. */
struct report_sweep_measure {
    const char *id;
    const char *title;
    const char *axis;
    report_getter *value;
    report_printer *print;
    bool more_is_better;
    bool logarithmic;
};

enum { REPORT_SWEEP_MEASURES = 4 };

extern const struct report_sweep_measure
    report_sweep_measures[REPORT_SWEEP_MEASURES];

struct report_sweep {
    const struct replay_result *results;
    size_t result_count;
    size_t strategy_count;
    const char **strategies; /* the least regret first */
    size_t load_count;
    double *loads; /* as they were run */
};

struct report_regret {
    double mean; /* NaN: some load has no value */
    double worst;
    double worst_load;
};

/* Returns 0, or -1 (errno). The results must outlive the sweep. */
int report_sweep_make(struct report_sweep *sweep,
                      const struct replay_result *results, size_t count);

void report_sweep_free(struct report_sweep *sweep);

/* Mean over the seeds; NaN where there is none. */
double report_sweep_value(const struct report_sweep *sweep, size_t strategy,
                          size_t load, report_getter *value);

/* The best of all strategies at a load. */
double report_sweep_best(const struct report_sweep *sweep, size_t load,
                         const struct report_sweep_measure *measure);

/* Of a measure of which less is better. */
struct report_regret report_sweep_regret(const struct report_sweep *sweep,
                                         size_t strategy, report_getter *value);

/* Whether results are those of a sweep. */
bool report_is_sweep(const struct replay_result *results, size_t count);

void report_sweep_table(FILE *out, const struct report_sweep *sweep,
                        bool colour);

/* For programs; NULL where memory is short. */
json_t *report_sweep_object(const struct report_sweep *sweep);

/* Charts and tables of a page. */
void report_sweep_page(FILE *out, const struct report_sweep *sweep);

/* A chart of all strategies, and one of each among the others. */
void report_chart_lines(FILE *out, const struct report_sweep *sweep,
                        const struct report_sweep_measure *measure);
void report_chart_panels(FILE *out, const struct report_sweep *sweep,
                         const struct report_sweep_measure *measure);

#endif
