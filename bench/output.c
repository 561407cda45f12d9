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

static void print_budget(const bench_case *test, const bench_figure *figure)
{
    if (isnan(test->budget_ns))
        printf(" %7s %-5s", "", "");
    else
        printf(" %7.0f %-5s", test->budget_ns,
               figure->ns <= test->budget_ns ? "yes" : "no");
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

    printf("%-37s %10.1f %10.1f %10.1f", test->name, figure->ns, figure->min_ns,
           figure->max_ns);
    print_budget(test, figure);
    for (size_t i = 0; test->compare != BENCH_COMPARE_NONE && i < index; i++)
        if (strcmp(cases[i].name, test->reference) == 0)
            print_comparison(test, figure->ns, figures[i].ns);
    printf("\n");
    fflush(stdout);
}

static void write_entry(FILE *file, const bench_case *test,
                        const bench_figure *figure)
{
    fprintf(file,
            "  {\"name\":\"%s\",\"ns\":%.3f,\"min_ns\":%.3f,\"max_ns\":%.3f,"
            "\"runs\":%u",
            test->name, figure->ns, figure->min_ns, figure->max_ns,
            figure->runs);
    if (!isnan(test->budget_ns))
        fprintf(file, ",\"budget_ns\":%.0f", test->budget_ns);
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
        write_entry(file, &cases[i], &figures[i]);
        fprintf(file, "%s\n", i + 1 < count ? "," : "");
    }
    fprintf(file, "]\n");
    failed = ferror(file);
    return fclose(file) != 0 || failed ? -1 : 0;
}
