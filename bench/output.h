/* SPDX-License-Identifier: MIT */
/*
 * Shows the figures: a table while they are taken, a JSON file at the end.
 *
 * `cases` and `figures` run side by side: figure i belongs to case i.
 */
#ifndef LBROUTE_BENCH_OUTPUT_H
#define LBROUTE_BENCH_OUTPUT_H

#include "bench.h"

/* Says how the program was built and prints the head of the table. */
void bench_table_begin(void);

/* Prints the row of case `index`; those before it are there to be compared
 * with. */
void bench_table_row(const bench_case *cases, const bench_figure *figures,
                     size_t index);

/* Writes `[{"name":…,"ns":…,"min_ns":…,"max_ns":…,"runs":…},…]`, with
 * "budget_ns" where there is one; of what is no time `"value"` and `"unit"`.
 * Returns 0, or -1 (errno). */
int bench_json_write(const char *path, const bench_case *cases,
                     const bench_figure *figures, size_t count);

#endif
