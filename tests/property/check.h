/* SPDX-License-Identifier: MIT */
/*
 * Checks of the property tests and the fuzzer.
 *
 * A failed check prints where it stands, both values and the context (what ran,
 * seed, step), then calls the handler: cmocka's in the tests, abort() in the
 * fuzzer. Checks run on one thread.
 */
#ifndef LBROUTE_TESTS_PROPERTY_CHECK_H
#define LBROUTE_TESTS_PROPERTY_CHECK_H

#include <stddef.h>
#include <stdint.h>

/** Names what runs now; printed with a failed check. `what` is kept. */
void check_context(const char *what, uint64_t seed);

/** Numbers the step within what runs now. */
void check_step(uint64_t step);

/** Sets what follows a failed check; NULL means abort(). */
void check_set_handler(void (*handler)(void));

/** cmocka group setup: a failed check fails the running test. */
int check_use_cmocka(void **state);

void check_failed(const char *file, int line, const char *text);
void check_failed_u(const char *file, int line, const char *text,
                    uint64_t actual, uint64_t expected);
void check_failed_i(const char *file, int line, const char *text,
                    int64_t actual, int64_t expected);
void check_failed_d(const char *file, int line, const char *text, double actual,
                    double expected);

/** Equal as numbers, or both NaN. */
int check_same(double a, double b);

/** At most `tolerance` apart. */
int check_near(double a, double b, double tolerance);

#define CHECK(condition)                                                       \
    ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

#define CHECK_U(actual, expected)                                              \
    ((uint64_t)(actual) == (uint64_t)(expected)                                \
         ? (void)0                                                             \
         : check_failed_u(__FILE__, __LINE__, #actual " == " #expected,        \
                          (uint64_t)(actual), (uint64_t)(expected)))

#define CHECK_I(actual, expected)                                              \
    ((int64_t)(actual) == (int64_t)(expected)                                  \
         ? (void)0                                                             \
         : check_failed_i(__FILE__, __LINE__, #actual " == " #expected,        \
                          (int64_t)(actual), (int64_t)(expected)))

#define CHECK_SAME(actual, expected)                                           \
    (check_same(actual, expected)                                              \
         ? (void)0                                                             \
         : check_failed_d(__FILE__, __LINE__, #actual " is " #expected,        \
                          actual, expected))

#define CHECK_NEAR(actual, expected, tolerance)                                \
    (check_near(actual, expected, tolerance)                                   \
         ? (void)0                                                             \
         : check_failed_d(__FILE__, __LINE__, #actual " near " #expected,      \
                          actual, expected))

#endif
