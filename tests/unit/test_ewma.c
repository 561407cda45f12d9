/* SPDX-License-Identifier: MIT */
/* models/ewma. */
#include "models/ewma.h"

#include <math.h>

#include "support/test.h"

static void equal_samples_are_their_mean(void **state)
{
    struct lbr_ewma ewma = {0, 0, 0};
    (void)state;

    for (uint64_t i = 1; i < 100; i++) {
        lbr_ewma_add(&ewma, 0.1, 0.3, i);
        assert_true(ewma.value == 0.1);
        assert_int_equal(ewma.samples, i);
        assert_int_equal(ewma.updated_at, i);
    }
}

/* The closed form: after n samples of b on one of a, b + (a - b) 0.7^n. */
static void a_step_is_forgotten_by_powers(void **state)
{
    struct lbr_ewma ewma = {0, 0, 0};
    (void)state;

    lbr_ewma_add(&ewma, 1000, 0.3, 1);
    for (int i = 1; i < 50; i++) {
        lbr_ewma_add(&ewma, 10, 0.3, 1);
        assert_near(ewma.value, 10 + 990 * pow(0.7, i), 1e-9);
    }
}

static void what_is_no_measurement(void **state)
{
    static const double bad[] = {0, -1, -0.0};
    struct lbr_ewma ewma = {0, 0, 0};
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        lbr_ewma_add(&ewma, bad[i], 0.3, 5);
        lbr_ewma_add(&ewma, (double)NAN, 0.3, 5);
        assert_int_equal(ewma.samples, 0);
        assert_false(lbr_ewma_known(&ewma, 5, 100));
    }
}

static void age(void **state)
{
    struct lbr_ewma ewma = {0, 0, 0};
    (void)state;

    lbr_ewma_add(&ewma, 1, 0.3, 1000);
    assert_true(lbr_ewma_known(&ewma, 1000, 0));
    assert_true(lbr_ewma_known(&ewma, 1060, 60));
    assert_false(lbr_ewma_known(&ewma, 1061, 60));
    assert_true(lbr_ewma_known(&ewma, 10, 60)); /* time ran backward */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_samples_are_their_mean),
        cmocka_unit_test(a_step_is_forgotten_by_powers),
        cmocka_unit_test(what_is_no_measurement),
        cmocka_unit_test(age),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
