/* SPDX-License-Identifier: MIT */
/* The moving average: its formula, its age, and what it does not take in. */
#include "models/ewma.h"

#include <math.h>

#include "support/test.h"

static const uint64_t second = UINT64_C(1000000000);
static const uint64_t minute = UINT64_C(60000000000);

static void follows_its_formula(void **state)
{
    static const double values[] = {100, 200, 50, 50, 1000};
    struct lbr_ewma ewma = {0, 0, 0};
    double expected = 100;
    (void)state;

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        lbr_ewma_add(&ewma, values[i], 0.3, i * second, minute);
        if (i > 0)
            expected = 0.3 * values[i] + 0.7 * expected;
        assert_near(ewma.value, expected, 1e-12 * expected);
        assert_int_equal(ewma.samples, i + 1);
        assert_int_equal(ewma.at, i * second);
    }
}

static void alpha_one_is_the_latest(void **state)
{
    struct lbr_ewma ewma = {0, 0, 0};
    (void)state;

    lbr_ewma_add(&ewma, 7, 1, 0, minute);
    lbr_ewma_add(&ewma, 9, 1, 1, minute);
    assert_near(ewma.value, 9, 0);
}

/* At the age it still counts, one ns later it is forgotten. */
static void old_values_are_forgotten(void **state)
{
    struct lbr_ewma young = {0, 0, 0};
    struct lbr_ewma old = {0, 0, 0};
    (void)state;

    lbr_ewma_add(&young, 60000, 0.3, second, minute);
    lbr_ewma_add(&old, 60000, 0.3, second, minute);
    assert_true(lbr_ewma_fresh(&young, second + minute, minute));
    assert_false(lbr_ewma_fresh(&young, second + minute + 1, minute));
    lbr_ewma_add(&young, 100, 0.3, second + minute, minute);
    lbr_ewma_add(&old, 100, 0.3, second + minute + 1, minute);
    assert_near(young.value, 0.3 * 100 + 0.7 * 60000, 1e-9);
    assert_near(old.value, 100, 0);
}

static void empty_is_not_fresh(void **state)
{
    struct lbr_ewma ewma = {0, 0, 0};
    (void)state;

    assert_false(lbr_ewma_fresh(&ewma, 0, UINT64_MAX));
}

static void bad_values_change_nothing(void **state)
{
    static const double bad[] = {0, -1, (double)-INFINITY, (double)INFINITY,
                                 (double)NAN};
    struct lbr_ewma ewma = {0, 0, 0};
    (void)state;

    lbr_ewma_add(&ewma, 5, 0.3, 7, minute);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lbr_ewma_add(&ewma, bad[i], 0.3, 8, minute);
        assert_near(ewma.value, 5, 0);
        assert_int_equal(ewma.samples, 1);
        assert_int_equal(ewma.at, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_its_formula),
        cmocka_unit_test(alpha_one_is_the_latest),
        cmocka_unit_test(old_values_are_forgotten),
        cmocka_unit_test(empty_is_not_fresh),
        cmocka_unit_test(bad_values_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
