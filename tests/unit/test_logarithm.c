/* SPDX-License-Identifier: MIT */
/* Logarithm and exponential against those of the math library. */
#include "base/logarithm.h"

#include <math.h>

#include "support/rng.h"
#include "support/test.h"

static void as_in_the_library(void **state)
{
    struct test_rng rng = {1};
    (void)state;

    for (int i = 0; i < 100000; i++) {
        double part = (double)test_rng_below(&rng, 1000000001) / 1e9;
        double small = 20 * part - 10;
        double large = 1400 * part - 700;

        assert_near(lbr_exp(small) / exp(small), 1, 1e-13);
        assert_near(lbr_exp(large) / exp(large), 1, 1e-12);
        assert_near(lbr_log(exp(large)), large, 1e-12 * fabs(large) + 1e-13);
        assert_near(lbr_log(1 + small / 20), log(1 + small / 20), 1e-14);
    }
}

static void exact_where_it_must_be(void **state)
{
    (void)state;
    assert_true(lbr_log(1) == 0);
    assert_true(lbr_exp(0) == 1);
    assert_near(lbr_log(5e-324), log(5e-324), 1e-11);
    assert_near(lbr_log(1.7e308), log(1.7e308), 1e-11);
    assert_near(lbr_log(4), 2 * lbr_log(2), 1e-15);
    assert_true(lbr_log(0.25) == -lbr_log(4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_in_the_library),
        cmocka_unit_test(exact_where_it_must_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
