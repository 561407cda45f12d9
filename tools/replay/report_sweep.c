/* SPDX-License-Identifier: MIT */
#include "report_sweep.h"

#include "report_object.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct report_sweep_measure report_sweep_measures[REPORT_SWEEP_MEASURES] =
    {
        {"sweep-mean", "First token, mean",
         "mean time to first token (logarithmic)", report_ttft_mean,
         report_text_ms, false, true},
        {"sweep-p99", "First token, p99",
         "p99 of the time to first token (logarithmic)", report_ttft_p99,
         report_text_ms, false, true},
        {"sweep-goodput", "Goodput, inside both latency goals",
         "share of requests", report_goodput, report_text_share, true, false},
        {"sweep-hits", "Cache hits", "share of input tokens", report_hits,
         report_text_share, true, false},
};

bool report_is_sweep(const struct replay_result *results, size_t count)
{
    return count > 0 && results[0].swept;
}

static void add_strategy(struct report_sweep *sweep, const char *name)
{
    for (size_t i = 0; i < sweep->strategy_count; i++)
        if (strcmp(sweep->strategies[i], name) == 0)
            return;
    sweep->strategies[sweep->strategy_count++] = name;
}

static void add_load(struct report_sweep *sweep, double load)
{
    for (size_t i = 0; i < sweep->load_count; i++)
        if (sweep->loads[i] == load)
            return;
    sweep->loads[sweep->load_count++] = load;
}

/* A missing one is last. */
static bool is_worse(const struct report_sweep *sweep, size_t left,
                     size_t right)
{
    double a = report_sweep_regret(sweep, left, report_ttft_mean).mean;
    double b = report_sweep_regret(sweep, right, report_ttft_mean).mean;

    return a > b || (isnan(a) && !isnan(b));
}

/* Insertion sort: few strategies, and equal ones keep their order. */
static void rank(struct report_sweep *sweep)
{
    for (size_t i = 1; i < sweep->strategy_count; i++)
        for (size_t at = i; at > 0 && is_worse(sweep, at - 1, at); at--) {
            const char *moved = sweep->strategies[at];

            sweep->strategies[at] = sweep->strategies[at - 1];
            sweep->strategies[at - 1] = moved;
        }
}

int report_sweep_make(struct report_sweep *sweep,
                      const struct replay_result *results, size_t count)
{
    *sweep = (struct report_sweep){.results = results, .result_count = count};
    sweep->strategies = calloc(count + 1, sizeof *sweep->strategies);
    sweep->loads = calloc(count + 1, sizeof *sweep->loads);
    if (sweep->strategies == NULL || sweep->loads == NULL) {
        report_sweep_free(sweep);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        add_strategy(sweep, results[i].strategy);
        add_load(sweep, results[i].load);
    }
    rank(sweep);
    return 0;
}

void report_sweep_free(struct report_sweep *sweep)
{
    free(sweep->strategies);
    free(sweep->loads);
    *sweep = (struct report_sweep){0};
}

double report_sweep_value(const struct report_sweep *sweep, size_t strategy,
                          size_t load, report_getter *value)
{
    double sum = 0;
    size_t known = 0;

    for (size_t i = 0; i < sweep->result_count; i++) {
        const struct replay_result *run = &sweep->results[i];

        if (run->load != sweep->loads[load] || isnan(value(run)) ||
            strcmp(run->strategy, sweep->strategies[strategy]) != 0)
            continue;
        sum += value(run);
        known++;
    }
    return known > 0 ? sum / (double)known : (double)NAN;
}

double report_sweep_best(const struct report_sweep *sweep, size_t load,
                         const struct report_sweep_measure *measure)
{
    double best = (double)NAN;

    for (size_t i = 0; i < sweep->strategy_count; i++) {
        double one = report_sweep_value(sweep, i, load, measure->value);

        best = measure->more_is_better ? fmax(best, one) : fmin(best, one);
    }
    return best;
}

/* A load at which nobody has a value, or the best is 0, says nothing. */
struct report_regret report_sweep_regret(const struct report_sweep *sweep,
                                         size_t strategy, report_getter *value)
{
    struct report_sweep_measure least = {.value = value};
    struct report_regret regret = {(double)NAN, (double)NAN, (double)NAN};
    double logs = 0;
    size_t known = 0;

    for (size_t i = 0; i < sweep->load_count; i++) {
        double best = report_sweep_best(sweep, i, &least);
        double ratio = report_sweep_value(sweep, strategy, i, value) / best;

        if (isnan(best) || best <= 0)
            continue;
        logs += log(ratio);
        known++;
        if (!(ratio <= regret.worst)) {
            regret.worst = ratio;
            regret.worst_load = sweep->loads[i];
        }
    }
    if (known > 0)
        regret.mean = exp(logs / (double)known);
    return regret;
}

static json_t *regret_object(const struct report_regret *regret)
{
    struct report_object object = object_begin();

    object_put(&object, "mean", object_number(regret->mean, OBJECT_MICRO));
    object_put(&object, "worst", object_number(regret->worst, OBJECT_MICRO));
    object_put(&object, "worst_load",
               object_number(regret->worst_load, OBJECT_MICRO));
    return object_end(&object);
}

static json_t *strategy_object(const struct report_sweep *sweep, size_t index)
{
    struct report_object object = object_begin();
    struct report_regret mean =
        report_sweep_regret(sweep, index, report_ttft_mean);
    struct report_regret p99 =
        report_sweep_regret(sweep, index, report_ttft_p99);

    object_put(&object, "strategy", object_text(sweep->strategies[index]));
    object_put(&object, "ttft_mean", regret_object(&mean));
    object_put(&object, "ttft_p99", regret_object(&p99));
    return object_end(&object);
}

json_t *report_sweep_object(const struct report_sweep *sweep)
{
    struct report_object object = object_begin();
    json_t *loads = json_array();
    json_t *regret = json_array();

    for (size_t i = 0; i < sweep->load_count; i++)
        object.failed |=
            json_array_append_new(
                loads, object_number(sweep->loads[i], OBJECT_MICRO)) != 0;
    for (size_t i = 0; i < sweep->strategy_count; i++)
        object.failed |=
            json_array_append_new(regret, strategy_object(sweep, i)) != 0;
    object_put(&object, "loads", loads);
    object_put(&object, "regret", regret);
    return object_end(&object);
}
