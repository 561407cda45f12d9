/* SPDX-License-Identifier: MIT */
/* state/signal: what an engine reports, and what follows for its load. */
#include "state/signal.h"

#include <math.h>

#include "base/clock.h"
#include "support/test.h"

#define TTL (10 * TEST_S)

static struct lbr_signals fresh(void)
{
    struct lbr_signals signals;

    lbr_signals_init(&signals);
    return signals;
}

static void unknown_at_first(void **state)
{
    struct lbr_signals signals = fresh();
    (void)state;

    for (int gauge = 0; gauge < LBROUTE_GAUGE_COUNT; gauge++) {
        assert_true(isnan(signals.gauge[gauge]));
        assert_int_equal(signals.reported[gauge], 0);
    }
    assert_false(signals.others_known);
    assert_near(lbr_signals_trust(&signals, 0, TTL).value, 0, 0);
    assert_true(lbr_signals_trust(&signals, 0, TTL).until == LBR_NEVER);
    assert_near(lbr_signals_pressure(&signals, 0, TTL).value, 0, 0);
    assert_true(lbr_signals_pressure(&signals, 0, TTL).until == LBR_NEVER);
}

static void ranges(void **state)
{
    (void)state;
    for (int gauge = 0; gauge < LBROUTE_GAUGE_COUNT; gauge++) {
        assert_true(lbr_signals_acceptable(gauge, 0));
        assert_true(lbr_signals_acceptable(gauge, 0.5));
        assert_true(lbr_signals_acceptable(gauge, 1));
        assert_true(lbr_signals_acceptable(gauge, (double)NAN));
        assert_false(lbr_signals_acceptable(gauge, -0.001));
        assert_false(lbr_signals_acceptable(gauge, (double)INFINITY));
        assert_false(lbr_signals_acceptable(gauge, (double)-INFINITY));
        assert_false(lbr_signals_acceptable(gauge, 1e300));
    }
    assert_false(lbr_signals_acceptable(LBROUTE_GAUGE_KV_USAGE, 1.001));
    assert_true(lbr_signals_acceptable(LBROUTE_GAUGE_RUNNING, 4096));
    assert_true(lbr_signals_acceptable(LBROUTE_GAUGE_WAITING, 4096));
}

/* others = max(0, running + waiting - own in flight at the report). */
static void others_are_what_is_not_own(void **state)
{
    struct lbr_signals signals = fresh();
    (void)state;

    lbr_signals_set(&signals, LBROUTE_GAUGE_RUNNING, 10, 3, TEST_S, TTL);
    assert_true(signals.others_known);
    assert_near(signals.others, 7, 0);
    lbr_signals_set(&signals, LBROUTE_GAUGE_WAITING, 4.5, 3, TEST_S, TTL);
    assert_near(signals.others, 11.5, 0);
    lbr_signals_set(&signals, LBROUTE_GAUGE_RUNNING, 1, 20, 2 * TEST_S, TTL);
    assert_near(signals.others, 0, 0);
    assert_true(signals.others_at == 2 * TEST_S);
}

static void one_gauge_is_enough(void **state)
{
    struct lbr_signals signals = fresh();
    (void)state;

    lbr_signals_set(&signals, LBROUTE_GAUGE_WAITING, 6, 1, 0, TTL);
    assert_true(signals.others_known);
    assert_near(signals.others, 5, 0);
    lbr_signals_set(&signals, LBROUTE_GAUGE_WAITING, (double)NAN, 1, 0, TTL);
    assert_false(signals.others_known);
    assert_near(lbr_signals_trust(&signals, 0, TTL).value, 0, 0);
}

static void cache_usage_is_no_load(void **state)
{
    struct lbr_signals signals = fresh();
    (void)state;

    lbr_signals_set(&signals, LBROUTE_GAUGE_KV_USAGE, 0.9, 0, TEST_S, TTL);
    assert_false(signals.others_known);
    assert_near(signals.gauge[LBROUTE_GAUGE_KV_USAGE], 0.9, 0);
    assert_true(signals.gauge_at[LBROUTE_GAUGE_KV_USAGE] == TEST_S);

    lbr_signals_set(&signals, LBROUTE_GAUGE_RUNNING, 5, 0, 2 * TEST_S, TTL);
    lbr_signals_set(&signals, LBROUTE_GAUGE_KV_USAGE, 0.1, 0, 3 * TEST_S, TTL);
    assert_true(signals.others_at == 2 * TEST_S);
}

/* Running and waiting are halves of one report, unless one of them is stale.
 */
static void an_old_half_does_not_count(void **state)
{
    struct lbr_signals signals = fresh();
    (void)state;

    lbr_signals_set(&signals, LBROUTE_GAUGE_WAITING, 6, 0, 0, TTL);
    lbr_signals_set(&signals, LBROUTE_GAUGE_RUNNING, 10, 0, TTL, TTL);
    assert_near(signals.others, 16, 0);
    lbr_signals_set(&signals, LBROUTE_GAUGE_RUNNING, 10, 0, TTL + 1, TTL);
    assert_near(signals.others, 10, 0);
    assert_true(signals.others_known);
    lbr_signals_set(&signals, LBROUTE_GAUGE_RUNNING, (double)NAN, 0, TTL + 1,
                    TTL);
    assert_false(signals.others_known);
}

static void report(struct lbr_signals *signals, double running, double waiting,
                   uint32_t given)
{
    double values[LBROUTE_GAUGE_COUNT] = {running, waiting};

    lbr_signals_report(signals, values, given, 2, TEST_S, TTL);
}

/* One half alone: a report lacks the other, a single gauge does not. */
static void a_report_expects_both_halves(void **state)
{
    struct lbr_signals signals = fresh();
    (void)state;

    lbr_signals_set(&signals, LBROUTE_GAUGE_RUNNING, 5, 2, TEST_S, TTL);
    assert_false(signals.others_partial);
    assert_near(lbr_signals_others(&signals, 9), 3, 0);
    report(&signals, 5, -1, 1);
    assert_true(signals.others_known);
    assert_true(signals.others_partial);
    assert_int_equal(signals.reported[LBROUTE_GAUGE_WAITING], 0);
    assert_near(lbr_signals_others(&signals, 9), 9, 0);
    assert_near(lbr_signals_others(&signals, 1), 3, 0);
    report(&signals, 5, 4, 3);
    assert_false(signals.others_partial);
    assert_near(lbr_signals_others(&signals, 9), 7, 0);
}

/* A half that was reported and is unknown now is missing, too. */
static void an_unknown_half_is_missing(void **state)
{
    struct lbr_signals signals = fresh();
    (void)state;

    report(&signals, (double)NAN, 8, 3);
    assert_true(signals.others_known && signals.others_partial);
    assert_near(signals.others, 6, 0);
    report(&signals, (double)NAN, (double)NAN, 3);
    assert_false(signals.others_known);
    report(&signals, 1, 1, 3);
    assert_false(signals.others_partial);
    assert_near(signals.others, 0, 0);
}

static void a_report_keeps_what_it_lacks(void **state)
{
    struct lbr_signals signals = fresh();
    double values[LBROUTE_GAUGE_COUNT] = {1, 2, 0.5, 100, 50, 1000, 16};
    (void)state;

    lbr_signals_report(&signals, values, 0x7f, 0, TEST_S, TTL);
    values[LBROUTE_GAUGE_KV_USAGE] = 0.75;
    lbr_signals_report(&signals, values, 1U << LBROUTE_GAUGE_KV_USAGE, 0,
                       2 * TEST_S, TTL);
    assert_near(signals.gauge[LBROUTE_GAUGE_KV_USAGE], 0.75, 0);
    assert_near(signals.gauge[LBROUTE_GAUGE_PREFIX_HITS], 50, 0);
    assert_near(signals.others, 3, 0);
    assert_true(signals.others_at == TEST_S);
    assert_true(lbr_signals_all_acceptable(values, 0x7f));
    values[LBROUTE_GAUGE_BLOCK_TOKENS] = -1;
    assert_false(lbr_signals_all_acceptable(values, 0x7f));
    assert_true(lbr_signals_all_acceptable(values, 0x3f));
}

static void trust_fades(void **state)
{
    struct lbr_signals signals = fresh();
    (void)state;

    lbr_signals_set(&signals, LBROUTE_GAUGE_RUNNING, 5, 0, TEST_S, TTL);
    assert_near(lbr_signals_trust(&signals, TEST_S, TTL).value, 1, 0);
    assert_near(lbr_signals_trust(&signals, TEST_S + TTL, TTL).value, 1, 0);
    assert_near(lbr_signals_trust(&signals, TEST_S + TTL * 3 / 2, TTL).value,
                0.5, 0);
    assert_near(lbr_signals_trust(&signals, TEST_S + 2 * TTL, TTL).value, 0, 0);
}

/* A target that refused counts as twice as busy while that is fresh. */
static void refusals_press(void **state)
{
    struct lbr_signals signals = fresh();
    (void)state;

    lbr_signals_overload(&signals, 8, TEST_S);
    assert_near(lbr_signals_pressure(&signals, TEST_S, TTL).value, 8, 0);
    assert_near(lbr_signals_pressure(&signals, TEST_S + TTL * 3 / 2, TTL).value,
                4, 0);
    assert_near(lbr_signals_pressure(&signals, TEST_S + 2 * TTL, TTL).value, 0,
                0);
    assert_false(signals.others_known);

    lbr_signals_overload(&signals, 0, 100 * TEST_S);
    assert_true(lbr_signals_pressure(&signals, 100 * TEST_S, TTL).value > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_at_first),
        cmocka_unit_test(ranges),
        cmocka_unit_test(others_are_what_is_not_own),
        cmocka_unit_test(one_gauge_is_enough),
        cmocka_unit_test(cache_usage_is_no_load),
        cmocka_unit_test(an_old_half_does_not_count),
        cmocka_unit_test(a_report_expects_both_halves),
        cmocka_unit_test(an_unknown_half_is_missing),
        cmocka_unit_test(a_report_keeps_what_it_lacks),
        cmocka_unit_test(trust_fades),
        cmocka_unit_test(refusals_press),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
