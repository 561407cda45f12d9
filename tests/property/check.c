/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    const char *what;
    uint64_t seed;
    uint64_t step;
} context;

static void (*failure_handler)(void);

void check_context(const char *what, uint64_t seed)
{
    context.what = what;
    context.seed = seed;
    context.step = 0;
}

void check_step(uint64_t step)
{
    context.step = step;
}

void check_set_handler(void (*handler)(void))
{
    failure_handler = handler;
}

static void give_up(void)
{
    if (context.what)
        fprintf(stderr, "  in %s, seed %" PRIu64 ", step %" PRIu64 "\n",
                context.what, context.seed, context.step);
    fflush(stderr);
    if (failure_handler)
        failure_handler();
    abort();
}

void check_failed(const char *file, int line, const char *text)
{
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
    give_up();
}

void check_failed_u(const char *file, int line, const char *text,
                    uint64_t actual, uint64_t expected)
{
    fprintf(stderr,
            "%s:%d: failed: %s: is %" PRIu64 " (0x%" PRIx64
            "), should be %" PRIu64 " (0x%" PRIx64 ")\n",
            file, line, text, actual, actual, expected, expected);
    give_up();
}

void check_failed_i(const char *file, int line, const char *text,
                    int64_t actual, int64_t expected)
{
    fprintf(stderr,
            "%s:%d: failed: %s: is %" PRId64 ", should be %" PRId64 "\n", file,
            line, text, actual, expected);
    give_up();
}

void check_failed_d(const char *file, int line, const char *text, double actual,
                    double expected)
{
    fprintf(stderr, "%s:%d: failed: %s: is %.17g, should be %.17g\n", file,
            line, text, actual, expected);
    give_up();
}

int check_same(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return !(a < b) && !(a > b);
}

int check_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance;
}
