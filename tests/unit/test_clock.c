/* SPDX-License-Identifier: MIT */
/* base/clock: time that saturates instead of wrapping. */
#include "base/clock.h"

#include "support/test.h"

static void sums_stop_at_never(void **state)
{
    (void)state;
    assert_true(lbr_time_add(0, 0) == 0);
    assert_true(lbr_time_add(5, 7) == 12);
    assert_true(lbr_time_add(UINT64_MAX - 7, 7) == UINT64_MAX);
    assert_true(lbr_time_add(UINT64_MAX - 7, 6) == UINT64_MAX - 1);
    assert_true(lbr_time_add(UINT64_MAX - 7, 8) == LBR_NEVER);
    assert_true(lbr_time_add(8, UINT64_MAX - 7) == LBR_NEVER);
    assert_true(lbr_time_add(LBR_NEVER, LBR_NEVER) == LBR_NEVER);
    assert_true(lbr_time_add(LBR_NEVER, 0) == LBR_NEVER);
}

static void no_time_has_passed_since_the_future(void **state)
{
    (void)state;
    assert_true(lbr_time_since(9, 4) == 5);
    assert_true(lbr_time_since(4, 4) == 0);
    assert_true(lbr_time_since(4, 9) == 0);
    assert_true(lbr_time_since(UINT64_MAX, 0) == UINT64_MAX);
    assert_true(lbr_time_since(0, UINT64_MAX) == 0);
}

static void seconds_are_rounded_to_nanoseconds(void **state)
{
    (void)state;
    assert_true(lbr_time_from_seconds(0) == 0);
    assert_true(lbr_time_from_seconds(1e-9) == 1);
    assert_true(lbr_time_from_seconds(0.001) == TEST_MS);
    assert_true(lbr_time_from_seconds(0.1) == 100 * TEST_MS);
    assert_true(lbr_time_from_seconds(1) == TEST_S);
    assert_true(lbr_time_from_seconds(365 * 86400.0) == 365 * 24 * TEST_H);
}

static void signed_durations_stop_at_the_largest(void **state)
{
    (void)state;
    assert_true(lbr_time_signed(0) == 0);
    assert_true(lbr_time_signed(INT64_MAX) == INT64_MAX);
    assert_true(lbr_time_signed((uint64_t)INT64_MAX + 1) == INT64_MAX);
    assert_true(lbr_time_signed(LBR_NEVER) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_stop_at_never),
        cmocka_unit_test(no_time_has_passed_since_the_future),
        cmocka_unit_test(seconds_are_rounded_to_nanoseconds),
        cmocka_unit_test(signed_durations_stop_at_the_largest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
