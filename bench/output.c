/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <lbroute/lbroute.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown compiler"
#endif

void bench_table_begin(void)
{
    printf("lbroute %s, %s\n", lbroute_version(), COMPILER);
#ifndef __OPTIMIZE__
    printf("Built without optimisation: these figures say nothing.\n");
#endif
    printf("\n%-37s %10s %10s %10s %7s %-5s %s\n", "benchmark", "ns/op", "min",
           "max", "budget", "met", "compared with");
}

/* The figure of the case to compare with, or NULL when it was not taken. */
static const bench_figure *find_reference(const bench_case *cases,
                                          const bench_figure *figures,
                                          size_t index)
{
    if (cases[index].compare == BENCH_COMPARE_NONE)
        return NULL;
    for (size_t i = 0; i < index; i++)
        if (strcmp(cases[i].name, cases[index].reference) == 0)
            return &figures[i];
    return NULL;
}

/* In ns, or NaN. */
static double budget_of(const bench_case *test, const bench_figure *reference)
{
    if (test->least_throughput > 0 && reference != NULL)
        return reference->median / test->least_throughput;
    return test->budget_ns;
}

static void print_budget(double budget, double ns)
{
    if (isnan(budget))
        printf(" %7s %-5s", "", "");
    else
        printf(" %7.0f %-5s", budget, ns <= budget ? "yes" : "no");
}

static void print_comparison(const bench_case *test, double ns,
                             double reference_ns)
{
    if (test->compare == BENCH_COMPARE_TIME)
        printf(" %.3g x the time of %s", ns / reference_ns, test->reference);
    else
        printf(" %.2f x the throughput of one", reference_ns / ns);
}

void bench_table_row(const bench_case *cases, const bench_figure *figures,
                     size_t index)
{
    const bench_case *test = &cases[index];
    const bench_figure *figure = &figures[index];
    const bench_figure *reference = find_reference(cases, figures, index);

    if (test->kind->unit != NULL) {
        printf("%-37s %10.2f %s\n", test->name, figure->median,
               test->kind->unit);
        return;
    }
    printf("%-37s %10.1f %10.1f %10.1f", test->name, figure->median,
           figure->min, figure->max);
    print_budget(budget_of(test, reference), figure->median);
    if (reference != NULL)
        print_comparison(test, figure->median, reference->median);
    printf("\n");
    fflush(stdout);
}

static void write_time(FILE *file, const bench_figure *figure, double budget)
{
    fprintf(file, "\"ns\":%.3f,\"min_ns\":%.3f,\"max_ns\":%.3f,\"runs\":%u",
            figure->median, figure->min, figure->max, figure->runs);
    if (!isnan(budget))
        fprintf(file, ",\"budget_ns\":%.0f", budget);
}

static void write_entry(FILE *file, const bench_case *cases,
                        const bench_figure *figures, size_t index)
{
    const bench_case *test = &cases[index];
    const bench_figure *reference = find_reference(cases, figures, index);

    fprintf(file, "  {\"name\":\"%s\",", test->name);
    if (test->kind->unit != NULL)
        fprintf(file, "\"value\":%.3f,\"unit\":\"%s\"", figures[index].median,
                test->kind->unit);
    else
        write_time(file, &figures[index], budget_of(test, reference));
    fprintf(file, "}");
}

int bench_json_write(const char *path, const bench_case *cases,
                     const bench_figure *figures, size_t count)
{
    FILE *file = fopen(path, "w");
    int failed;

    if (file == NULL)
        return -1;
    fprintf(file, "[\n");
    for (size_t i = 0; i < count; i++) {
        write_entry(file, cases, figures, i);
        fprintf(file, "%s\n", i + 1 < count ? "," : "");
    }
    fprintf(file, "]\n");
    failed = ferror(file);
    return fclose(file) != 0 || failed ? -1 : 0;
}
