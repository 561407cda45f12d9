/* SPDX-License-Identifier: MIT */
/* models/health: well, benched, on trial. */
#include "models/health.h"

#include <string.h>

#include "support/test.h"

static const struct lbr_health_rules rules = {5, 30 * TEST_S, 300 * TEST_S};

/* A request that is sent and ends at |now|. Returns whether the target's
 * standing changed by the outcome. */
static int fail_once(struct lbr_health *health, uint64_t now)
{
    lbr_health_mark mark = lbr_health_sent(health, now);

    (void)lbr_health_ended(health, mark);
    return lbr_health_failure(health, mark, now, &rules);
}

static int succeed_once(struct lbr_health *health, uint64_t now)
{
    lbr_health_mark mark = lbr_health_sent(health, now);

    (void)lbr_health_ended(health, mark);
    return lbr_health_success(health, mark);
}

static void fail_until_benched(struct lbr_health *health, uint64_t now)
{
    for (int i = 1; i < 5; i++) {
        assert_false(fail_once(health, now));
        assert_true(lbr_health_open(health, now));
    }
    assert_true(fail_once(health, now));
    assert_true(lbr_health_benched(health, now));
}

static void failures_in_a_row_bench(void **state)
{
    struct lbr_health health = {0};
    uint64_t now = 1000 * TEST_S;
    (void)state;

    fail_until_benched(&health, now);
    assert_false(lbr_health_open(&health, now));
    assert_false(lbr_health_on_trial(&health, now));
    assert_true(lbr_health_benched(&health, now + 30 * TEST_S - 1));
    assert_false(lbr_health_benched(&health, now + 30 * TEST_S));
    assert_true(lbr_health_on_trial(&health, now + 30 * TEST_S));
    assert_int_equal(health.failures, 5);
    assert_int_equal(health.benches, 1);
}

static void a_success_starts_the_count_again(void **state)
{
    struct lbr_health health = {0};
    (void)state;

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++)
            assert_false(fail_once(&health, 0));
        assert_false(succeed_once(&health, 0));
        assert_int_equal(health.failures, 0);
    }
    fail_until_benched(&health, 0);
}

static void trials_go_one_at_a_time(void **state)
{
    struct lbr_health health = {0};
    uint64_t now = 30 * TEST_S;
    lbr_health_mark trial;
    (void)state;

    fail_until_benched(&health, 0);
    assert_true(lbr_health_open(&health, now));
    trial = lbr_health_sent(&health, now);
    assert_false(lbr_health_open(&health, now));
    assert_true(lbr_health_ended(&health, trial));
    assert_true(lbr_health_open(&health, now));

    trial = lbr_health_sent(&health, now);
    assert_true(lbr_health_ended(&health, trial));
    assert_true(lbr_health_success(&health, trial));
    assert_true(lbr_health_open(&health, now));
    assert_false(lbr_health_on_trial(&health, now));
    assert_int_equal(health.failures, 0);
    assert_int_equal(health.benches, 0);
}

/* 30, 60, 120, 240, 300, 300 seconds. */
static void each_bench_is_twice_as_long(void **state)
{
    static const uint64_t seconds[] = {60, 120, 240, 300, 300};
    struct lbr_health health = {0};
    uint64_t now = 30 * TEST_S;
    (void)state;

    fail_until_benched(&health, 0);
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        assert_true(lbr_health_on_trial(&health, now));
        assert_true(fail_once(&health, now));
        now += seconds[i] * TEST_S;
        assert_true(lbr_health_benched(&health, now - 1));
        assert_false(lbr_health_benched(&health, now));
        assert_int_equal(health.benches, i + 2);
    }
    assert_true(succeed_once(&health, now));
    fail_until_benched(&health, now);
    assert_false(lbr_health_benched(&health, now + 30 * TEST_S));
}

/* What was in flight before the bench proves nothing. */
static void earlier_requests_say_nothing(void **state)
{
    struct lbr_health health = {0};
    lbr_health_mark early[8];
    uint64_t until;
    (void)state;

    for (size_t i = 0; i < 8; i++)
        early[i] = lbr_health_sent(&health, 0);
    fail_until_benched(&health, 0);
    until = health.bench_until;
    for (size_t i = 0; i < 6; i++) {
        assert_false(lbr_health_ended(&health, early[i]));
        assert_false(lbr_health_failure(&health, early[i], TEST_S, &rules));
    }
    assert_true(health.bench_until == until);
    assert_int_equal(health.benches, 1);
    assert_false(lbr_health_success(&health, early[6]));
    assert_true(lbr_health_benched(&health, TEST_S));
    assert_false(lbr_health_success(&health, early[7]));
    assert_true(lbr_health_on_trial(&health, until));
}

/* Requests sent while benching was ignored speak about the bench. */
static void requests_during_the_bench_count(void **state)
{
    struct lbr_health health = {0};
    (void)state;

    fail_until_benched(&health, 0);
    assert_true(succeed_once(&health, TEST_S));
    assert_true(lbr_health_open(&health, TEST_S));

    fail_until_benched(&health, TEST_S);
    for (int i = 1; i < 5; i++)
        assert_false(fail_once(&health, 2 * TEST_S));
    assert_true(fail_once(&health, 2 * TEST_S));
    assert_true(health.bench_until == 62 * TEST_S);
}

static void the_later_deadline_wins(void **state)
{
    struct lbr_health health = {0};
    (void)state;

    lbr_health_bench(&health, 100 * TEST_S, 0);
    lbr_health_bench(&health, 10 * TEST_S, TEST_S);
    assert_true(health.bench_until == 100 * TEST_S);
    lbr_health_bench(&health, 200 * TEST_S, 2 * TEST_S);
    assert_true(health.bench_until == 202 * TEST_S);
}

static void a_bench_of_no_time_makes_well(void **state)
{
    struct lbr_health health = {0};
    (void)state;

    lbr_health_bench(&health, 100 * TEST_S, 0);
    assert_true(lbr_health_benched(&health, 0));
    lbr_health_bench(&health, 0, 0);
    assert_true(lbr_health_open(&health, 0));
    assert_false(lbr_health_on_trial(&health, 0));
    lbr_health_bench(&health, TEST_S, TEST_S);
    assert_true(health.bench_until == 2 * TEST_S);
}

static void rules_can_turn_benching_off(void **state)
{
    static const struct lbr_health_rules off[] = {
        {0, 30 * TEST_S, 300 * TEST_S},
        {5, 0, 300 * TEST_S},
        {5, 30 * TEST_S, 0},
    };
    (void)state;

    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        struct lbr_health health = {0};

        for (int failure = 0; failure < 100; failure++) {
            lbr_health_mark mark = lbr_health_sent(&health, 0);

            assert_false(lbr_health_failure(&health, mark, 0, &off[i]));
        }
        assert_true(lbr_health_open(&health, 0));
        assert_int_equal(health.failures, 100);
    }
}

static void the_longest_bench_bounds_the_first(void **state)
{
    static const struct lbr_health_rules strict = {1, 30 * TEST_S, 10 * TEST_S};
    struct lbr_health health = {0};
    lbr_health_mark mark = lbr_health_sent(&health, 0);
    (void)state;

    assert_true(lbr_health_failure(&health, mark, 0, &strict));
    assert_true(health.bench_until == 10 * TEST_S);
}

/* Benches are numbered for ever; the number in a mark has one bit less. */
static void bench_numbers_wrap(void **state)
{
    static const uint32_t epochs[] = {UINT32_MAX / 2 - 1, UINT32_MAX / 2,
                                      UINT32_MAX / 2 + 1, UINT32_MAX - 1,
                                      UINT32_MAX};
    (void)state;

    for (size_t i = 0; i < sizeof epochs / sizeof epochs[0]; i++) {
        struct lbr_health health = {0};
        lbr_health_mark early;

        health.epoch = epochs[i];
        early = lbr_health_sent(&health, 0);
        fail_until_benched(&health, 0);
        assert_false(lbr_health_success(&health, early));
        assert_true(lbr_health_benched(&health, 0));
        assert_true(succeed_once(&health, 30 * TEST_S));
    }
}

static void deadlines_do_not_wrap(void **state)
{
    static const struct lbr_health_rules longest = {1, UINT64_MAX / 2 + 2,
                                                    UINT64_MAX};
    struct lbr_health health = {0};
    (void)state;

    lbr_health_bench(&health, UINT64_MAX, 1000);
    assert_true(lbr_health_benched(&health, UINT64_MAX - 1));

    memset(&health, 0, sizeof health);
    for (int i = 0; i < 3; i++) {
        lbr_health_mark mark = lbr_health_sent(&health, 1000);

        assert_true(lbr_health_failure(&health, mark, 1000, &longest));
        assert_true(lbr_health_benched(&health, UINT64_MAX / 2));
    }
    assert_true(health.bench_until == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_in_a_row_bench),
        cmocka_unit_test(a_success_starts_the_count_again),
        cmocka_unit_test(trials_go_one_at_a_time),
        cmocka_unit_test(each_bench_is_twice_as_long),
        cmocka_unit_test(earlier_requests_say_nothing),
        cmocka_unit_test(requests_during_the_bench_count),
        cmocka_unit_test(the_later_deadline_wins),
        cmocka_unit_test(a_bench_of_no_time_makes_well),
        cmocka_unit_test(rules_can_turn_benching_off),
        cmocka_unit_test(the_longest_bench_bounds_the_first),
        cmocka_unit_test(bench_numbers_wrap),
        cmocka_unit_test(deadlines_do_not_wrap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
