/* SPDX-License-Identifier: MIT */
/* The command line of lbroute-bench. */
#ifndef LBROUTE_BENCH_OPTIONS_H
#define LBROUTE_BENCH_OPTIONS_H

#include "measure.h"

typedef struct bench_options {
    bench_plan plan;
    const char *only; /* prefix of the names to run; "" is all */
    const char *name; /* the only one to run; NULL: any */
    const char *text; /* file of prompts; NULL: none */
    const char *json; /* file; NULL: none */
    int list;
    int help;
} bench_options;

/* Returns 0, or -1 after a message on stderr. */
int bench_options_parse(bench_options *options, int count, char **arguments);

void bench_options_help(void);

#endif
