/* SPDX-License-Identifier: MIT */
/*
 * Real prompts: the strings `input` of a file of JSON lines, in its order.
 */
#ifndef LBROUTE_BENCH_TEXT_H
#define LBROUTE_BENCH_TEXT_H

#include "bench.h"

typedef struct bench_line {
    char *bytes;
    size_t length;
} bench_line;

typedef struct bench_text {
    bench_line *lines;
    size_t count;
} bench_text;

/* Reads `path`, "-" being standard input. Ends the program when that fails or
 * a line has no string `input`. */
bench_text *bench_text_read(const char *path);

/* NULL does nothing. */
void bench_text_free(bench_text *text);

#endif
