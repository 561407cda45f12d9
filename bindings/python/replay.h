/* SPDX-License-Identifier: MIT */
/*
 * lbroute-replay as a function, for the Python package.
 */
#ifndef LBROUTE_PYTHON_REPLAY_H
#define LBROUTE_PYTHON_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Any function; which one is said where it is used. */
typedef void (*lbrpy_function)(void);

/** A strategy of the caller's own: a filter that leaves one candidate. */
typedef struct lbrpy_strategy {
    const char *name;
    uintptr_t user; /**< Passed to the filter as `user`. */
} lbrpy_strategy;

/** What came out, zero-terminated; freed by lbrpy_replay_free(). */
typedef struct lbrpy_report {
    char *messages; /**< Notes and errors, a line each. */
    char *table;
    char *json;
    char *html;
} lbrpy_report;

/** Runs what the words of a command line ask for, the first of which is the
 * program's name, and then the caller's own strategies; these alone if
 * `own_only`. `filter` is the `score` of lbroute_scorer_options. Returns 0, or
 * -1 after a message. One call at a time. */
int lbrpy_replay(int argc, char **argv, lbrpy_function filter,
                 const lbrpy_strategy *strategies, size_t count, int own_only,
                 lbrpy_report *report);

void lbrpy_replay_free(lbrpy_report *report);

/** Writes the name of a target of the run under way, of up to 255 bytes.
 * Returns 0, or an error code. For filters. */
int lbrpy_replay_target(uint64_t target, char *name);

#ifdef __cplusplus
}
#endif

#endif
