/* SPDX-License-Identifier: MIT */
/* What every cmocka program includes, in the order that cmocka asks for. */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST_MS UINT64_C(1000000)        /* One millisecond in ns. */
#define TEST_S UINT64_C(1000000000)      /* One second in ns. */
#define TEST_H (UINT64_C(3600) * TEST_S) /* One hour in ns. */

/* Checks that |value| is within |margin| of |wanted|, both sides included. */
#define assert_near(value, wanted, margin)                                     \
    assert_in_real_range((double)(value), (double)(wanted) - (double)(margin), \
                         (double)(wanted) + (double)(margin))

/* Checks low <= value <= high for real numbers; NaN fails. */
#define assert_in_real_range(value, low, high)                                 \
    test_real_range((value), (low), (high), #value, __FILE__, __LINE__)

/* Use assert_in_real_range() or assert_near(). */
void test_real_range(double value, double low, double high, const char *text,
                     const char *file, int line);

#endif
