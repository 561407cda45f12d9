/* SPDX-License-Identifier: MIT */
/*
 * A sweep on the terminal: a table of each measure, and one of the regret.
 *
 *     First token, mean     ×0.5     ×0.6  …
 *     strategy            123 ms   130 ms  …
 */
#include "report_sweep.h"

#include <string.h>

/* Width of a load behind a regret. */
enum { LOAD = 7 };

static const char BEST_ON[] = "\033[1;32m";
static const char BEST_OFF[] = "\033[0m";

static int name_width(const struct report_sweep *sweep)
{
    size_t width = 0;

    for (size_t i = 0; i < REPORT_SWEEP_MEASURES; i++)
        if (strlen(report_sweep_measures[i].title) > width)
            width = strlen(report_sweep_measures[i].title);
    for (size_t i = 0; i < sweep->strategy_count; i++)
        if (strlen(sweep->strategies[i]) > width)
            width = strlen(sweep->strategies[i]);
    return (int)width;
}

/* Seconds are padded so that their digits stand under those of "ms". */
static void cell_text(report_printer *print, double value,
                      char text[REPORT_TEXT_MAX])
{
    size_t length;

    print(text, value);
    length = strlen(text);
    if (length > 2 && strcmp(text + length - 2, " s") == 0)
        strcat(text, " ");
}

static void load_text(double load, char text[REPORT_TEXT_MAX])
{
    char number[REPORT_TEXT_MAX];

    report_text_number(number, load);
    snprintf(text, REPORT_TEXT_MAX, "x%.20s", number);
}

static int column_width(const struct report_sweep *sweep, size_t load,
                        const struct report_sweep_measure *measure)
{
    char text[REPORT_TEXT_MAX];
    size_t width;

    load_text(sweep->loads[load], text);
    width = strlen(text);
    for (size_t i = 0; i < sweep->strategy_count; i++) {
        cell_text(measure->print,
                  report_sweep_value(sweep, i, load, measure->value), text);
        if (strlen(text) > width)
            width = strlen(text);
    }
    return (int)width;
}

static void print_cell(FILE *out, const struct report_sweep *sweep,
                       size_t strategy, size_t load,
                       const struct report_sweep_measure *measure, bool colour)
{
    double value = report_sweep_value(sweep, strategy, load, measure->value);
    char best[REPORT_TEXT_MAX];
    char text[REPORT_TEXT_MAX];
    bool marked;

    cell_text(measure->print, report_sweep_best(sweep, load, measure), best);
    cell_text(measure->print, value, text);
    marked = colour && strcmp(text, best) == 0;
    fprintf(out, "  %s%*s%s", marked ? BEST_ON : "",
            column_width(sweep, load, measure), text, marked ? BEST_OFF : "");
}

static void print_measure(FILE *out, const struct report_sweep *sweep,
                          const struct report_sweep_measure *measure,
                          bool colour)
{
    char text[REPORT_TEXT_MAX];
    int width = name_width(sweep);

    fprintf(out, "%-*s", width, measure->title);
    for (size_t i = 0; i < sweep->load_count; i++) {
        load_text(sweep->loads[i], text);
        fprintf(out, "  %*s", column_width(sweep, i, measure), text);
    }
    fputs("\n", out);
    for (size_t i = 0; i < sweep->strategy_count; i++) {
        fprintf(out, "%-*s", width, sweep->strategies[i]);
        for (size_t k = 0; k < sweep->load_count; k++)
            print_cell(out, sweep, i, k, measure, colour);
        fputs("\n", out);
    }
    fputs("\n", out);
}

/* `end` is what the load is padded to. */
static void print_regret(FILE *out, const struct report_regret *regret, int end)
{
    char mean[REPORT_TEXT_MAX];
    char worst[REPORT_TEXT_MAX];
    char load[REPORT_TEXT_MAX];

    report_text_ratio(mean, regret->mean);
    report_text_ratio(worst, regret->worst);
    load_text(regret->worst_load, load);
    fprintf(out, "  %8s  %8s  %-*s", mean, worst, end, load);
}

static void print_regrets(FILE *out, const struct report_sweep *sweep)
{
    int width = name_width(sweep);

    fprintf(out, "%-*s  %8s  %8s  %-7s  %8s  %8s  at\n", width,
            "Regret: own / best", "mean", "worst", "at", "p99", "worst");
    for (size_t i = 0; i < sweep->strategy_count; i++) {
        struct report_regret mean =
            report_sweep_regret(sweep, i, report_ttft_mean);
        struct report_regret p99 =
            report_sweep_regret(sweep, i, report_ttft_p99);

        fprintf(out, "%-*s", width, sweep->strategies[i]);
        print_regret(out, &mean, LOAD);
        print_regret(out, &p99, 0);
        fputs("\n", out);
    }
}

void report_sweep_table(FILE *out, const struct report_sweep *sweep,
                        bool colour)
{
    for (size_t i = 0; i < REPORT_SWEEP_MEASURES; i++)
        print_measure(out, sweep, &report_sweep_measures[i], colour);
    print_regrets(out, sweep);
}
