/* SPDX-License-Identifier: MIT */
/* Field reports BN: benching of erroring targets. */
#include <string.h>

#include "support/fleet.h"
#include "support/rng.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

/* Defaults of the parameters health.bench_after, .bench_time, .bench_max. */
#define BENCH_AFTER 5
#define BENCH_TIME (30 * TEST_S)
#define BENCH_MAX (300 * TEST_S)

static int is_out(struct fleet *fleet, size_t index)
{
    int verdict = fleet_verdict(fleet, index);

    if (verdict != LBROUTE_REASON_NONE)
        assert_int_equal(verdict, LBROUTE_REASON_BENCHED);
    return verdict != LBROUTE_REASON_NONE;
}

/* Fails |n| requests that were all in flight on a target at once. */
static void fail_together(struct fleet *fleet, size_t index, size_t n)
{
    fleet_hold(fleet, index, n);
    for (size_t i = 0; i < n; i++)
        fleet_settle(fleet, index, LBROUTE_EVENT_FAILURE);
}

static void move_clock(struct fleet *fleet, uint64_t step)
{
    fleet->now += step;
}

/* ---- the reported cases ---- */

/* Refused prompts opened the breakers of healthy workers. */
static void bn_01_client_errors_bench(void **state)
{
    static const char *const even[] = {"weighted", "round_robin",
                                       "least_connections"};
    (void)state;

    for (size_t s = 0; s < 3; s++) {
        struct fleet fleet;
        fleet_open(&fleet, even[s], 2, 1);
        for (int i = 0; i < 50; i++) {
            fleet_send(&fleet, A, LBROUTE_EVENT_CLIENT_ERROR);
            fleet_send(&fleet, B, LBROUTE_EVENT_CLIENT_ERROR);
        }
        for (size_t i = 0; i < 2; i++) {
            lbroute_target_stats stats = fleet_stats(&fleet, i);
            assert_int_equal(stats.in_flight, 0);
            assert_int_equal(stats.failures_in_row, 0);
            assert_int_equal(stats.benched, 0);
            assert_int_equal(stats.settled[LBROUTE_EVENT_CLIENT_ERROR], 50);
            assert_int_equal(stats.settled[LBROUTE_EVENT_SUCCESS], 0);
        }
        for (int i = 0; i < 10; i++)
            fleet_serve(&fleet);
        assert_int_equal(fleet.picks[A], 5);
        assert_int_equal(fleet.picks[B], 5);
        fleet_close(&fleet);
    }
}

static void benched_for_ever_alone(void)
{
    struct fleet fleet;

    fleet_open(&fleet, "least_connections", 1, 1);
    fail_together(&fleet, A, BENCH_AFTER);
    assert_int_equal(fleet_stats(&fleet, A).benched, 1);
    assert_int_equal(fleet_stats(&fleet, A).bench_left_ns, BENCH_TIME);
    /* Nobody else is there: benching is ignored, and the decision says so. */
    fleet.now = BENCH_TIME - 1;
    assert_int_equal(fleet_pick(&fleet), A);
    assert_int_equal(fleet.decision.bench_ignored, 1);
    fleet_settle_last(&fleet, LBROUTE_EVENT_CANCEL);
    for (int i = 0; i < 2; i++) {
        fleet.now = BENCH_TIME + (uint64_t)i;
        assert_int_equal(fleet_serve(&fleet), A);
        assert_int_equal(fleet.decision.bench_ignored, 0);
    }
    assert_int_equal(fleet_stats(&fleet, A).failures_in_row, 0);
    assert_int_equal(fleet_stats(&fleet, A).on_trial, 0);
    fleet_close(&fleet);
}

/* One timeout, and a success was needed where nothing was sent any more. A is
 * eligible again exactly at the deadline, for one trial. */
static void bn_02_benched_for_ever(void **state)
{
    struct fleet fleet;
    (void)state;

    benched_for_ever_alone();

    fleet_open(&fleet, "least_connections", 2, 1);
    fail_together(&fleet, A, BENCH_AFTER);
    fleet_hold(&fleet, B, 20);
    fleet.now = BENCH_TIME - 1;
    assert_int_equal(fleet_pick(&fleet), B);
    fleet.now = BENCH_TIME;
    assert_int_equal(fleet_pick(&fleet), A);
    assert_int_equal(fleet.decision.bench_ignored, 0);
    fleet.now = BENCH_TIME + 1;
    assert_true(is_out(&fleet, A));
    assert_int_equal(fleet_pick(&fleet), B);
    fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    for (int i = 0; i < 10; i++)
        assert_int_equal(fleet_pick(&fleet), A);
    assert_int_equal(fleet_stats(&fleet, A).on_trial, 0);
    fleet_close(&fleet);
}

/* Counts 30 picks that leave all as it is; benching is ignored or not. */
static void count_picks(struct fleet *fleet, int ignored)
{
    for (int i = 0; i < 30; i++) {
        assert_true(fleet_pick_frozen(fleet) != FLEET_NONE);
        assert_int_equal(fleet->decision.bench_ignored, ignored);
    }
}

static void all_three_fail(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 3, 1);
    for (size_t i = 0; i < 3; i++)
        fleet_hold(&fleet, i, 20);
    fleet_settle_all(&fleet, LBROUTE_EVENT_FAILURE);
    count_picks(&fleet, 1);
    fleet_close(&fleet);
}

/* The same with rules that spread evenly, so that nobody had to be excluded
 * to fail 20 on each. */
static void all_three_fail_evenly(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 3, 1);
    for (size_t i = 0; i < 60; i++)
        fleet_pick(&fleet);
    fleet_settle_all(&fleet, LBROUTE_EVENT_FAILURE);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fleet.picks[i], 20);
    fleet_reset_picks(&fleet);
    count_picks(&fleet, 1);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fleet.picks[i], 10);
    fleet_close(&fleet);
}

/* A has failed and gets none of 30 picks; B and C serve them. */
static void open_with_one_failing(struct fleet *fleet, const char *strategy)
{
    fleet_open(fleet, strategy, 3, 1);
    fleet_hold(fleet, A, 20);
    fleet_settle_all(fleet, LBROUTE_EVENT_FAILURE);
    count_picks(fleet, 0);
    assert_int_equal(fleet->picks[A], 0);
}

static void one_of_three_fails(const char *strategy)
{
    struct fleet fleet;

    open_with_one_failing(&fleet, strategy);
    fleet_close(&fleet);
}

static void one_of_three_fails_evenly(const char *strategy)
{
    struct fleet fleet;

    open_with_one_failing(&fleet, strategy);
    assert_int_equal(fleet.picks[B], 15);
    assert_int_equal(fleet.picks[C], 15);
    fleet_close(&fleet);
}

static void only_one_fails(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 1, 1);
    for (int i = 0; i < 20; i++)
        fleet_send(&fleet, A, LBROUTE_EVENT_FAILURE);
    count_picks(&fleet, 1);
    assert_int_equal(fleet.picks[A], 30);
    fleet_close(&fleet);
}

/* The share of ejected hosts was checked before the step, so the last one went
 * too. Benching never empties a pool. */
static void bn_04_last_target_taken_out(void **state)
{
    static const char *const even[] = {"weighted", "round_robin",
                                       "least_connections"};
    (void)state;

    for (size_t s = 0; s < 3; s++) {
        all_three_fail_evenly(even[s]);
        one_of_three_fails_evenly(even[s]);
    }
    fleet_for_each_strategy(all_three_fail);
    fleet_for_each_strategy(one_of_three_fails);
    fleet_for_each_strategy(only_one_fails);
}

/* A bench time of zero became the default, and a second bench kept the first
 * deadline. */
static void bn_06_zero_time_and_first_deadline(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    fleet_param(&fleet, "health.bench_time", 0);
    fail_together(&fleet, A, 32);
    fail_together(&fleet, A, 18);
    assert_false(is_out(&fleet, A));
    assert_int_equal(fleet_stats(&fleet, A).benched, 0);
    fleet_hold(&fleet, B, 1);
    assert_int_equal(fleet_pick(&fleet), A);
    assert_int_equal(fleet.decision.bench_ignored, 0);
    fleet_close(&fleet);

    fleet_open(&fleet, "least_connections", 2, 1);
    fleet_bench(&fleet, B, 1000 * TEST_MS);
    fleet.now = 500 * TEST_MS;
    fleet_bench(&fleet, B, 60000 * TEST_MS);
    fleet_hold(&fleet, A, 1);
    fleet.now = 1001 * TEST_MS;
    assert_int_equal(fleet_pick_frozen(&fleet), A);
    fleet.now = 60500 * TEST_MS - 1;
    assert_int_equal(fleet_pick_frozen(&fleet), A);
    fleet.now = 60500 * TEST_MS;
    assert_false(is_out(&fleet, B));
    fleet.now = 60501 * TEST_MS;
    assert_int_equal(fleet_pick(&fleet), B);
    fleet_close(&fleet);
}

/* Client errors that counted as successes kept a broken worker in, or ended
 * its trial. */
static void bn_07_client_error_resets_count(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    fleet_hold(&fleet, A, 21);
    for (uint32_t i = 1; i <= 10; i++) {
        fleet_settle(&fleet, A, LBROUTE_EVENT_FAILURE);
        assert_int_equal(fleet_stats(&fleet, A).benched, i >= BENCH_AFTER);
        fleet_settle(&fleet, A, LBROUTE_EVENT_CLIENT_ERROR);
        assert_int_equal(fleet_stats(&fleet, A).benched, i >= BENCH_AFTER);
        if (i <= BENCH_AFTER)
            assert_int_equal(fleet_stats(&fleet, A).failures_in_row, i);
    }
    assert_int_equal(fleet_stats(&fleet, A).benches_in_row, 1);
    fleet_settle(&fleet, A, LBROUTE_EVENT_CLIENT_ERROR);
    assert_true(is_out(&fleet, A));
    assert_int_equal(fleet_pick(&fleet), B);
    fleet_close(&fleet);
}

/* The same in the trial after the bench: it proves nothing either way. */
static void bn_07_client_error_ends_no_trial(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    fail_together(&fleet, A, BENCH_AFTER);
    fleet_hold(&fleet, B, 20);
    move_clock(&fleet, BENCH_TIME);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(fleet_pick(&fleet), A);
        assert_true(is_out(&fleet, A));
        fleet_settle_last(&fleet, i % 2 == 0 ? LBROUTE_EVENT_CLIENT_ERROR
                                             : LBROUTE_EVENT_CANCEL);
        assert_int_equal(fleet_stats(&fleet, A).on_trial, 1);
        assert_int_equal(fleet_stats(&fleet, A).benched, 0);
        assert_false(is_out(&fleet, A));
    }
    fleet_close(&fleet);
}

/* ---- more of the same kind ---- */

/* Every neutral outcome between the failures, in every mix: the fifth failure
 * benches, no earlier and no later; only a success starts the count anew. */
static void bn_kind_neutral_outcomes(void **state)
{
    static const int neutral[] = {LBROUTE_EVENT_CLIENT_ERROR,
                                  LBROUTE_EVENT_CANCEL, LBROUTE_EVENT_OVERLOAD};
    struct test_rng rng = {1};
    (void)state;

    for (int round = 0; round < 200; round++) {
        uint32_t in_row = 0;
        struct fleet fleet;
        fleet_open(&fleet, "least_connections", 2, 1);
        fleet_set_limit(&fleet, A, 0);
        fleet_hold(&fleet, A, 200);
        while (in_row < BENCH_AFTER && fleet.held_count > 0) {
            uint64_t what = test_rng_below(&rng, 10);
            if (what < 5) {
                fleet_settle(&fleet, A,
                             what % 2 == 0 ? LBROUTE_EVENT_FAILURE
                                           : LBROUTE_EVENT_TIMEOUT);
                in_row++;
            } else if (what < 9) {
                fleet_settle(&fleet, A, neutral[test_rng_below(&rng, 3)]);
            } else {
                fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
                in_row = 0;
            }
            assert_int_equal(fleet_stats(&fleet, A).failures_in_row, in_row);
            assert_int_equal(is_out(&fleet, A), in_row == BENCH_AFTER);
        }
        fleet_close(&fleet);
    }
}

/* Each failed trial doubles the bench, up to the maximum; a success ends all
 * that, and the next bench is a first one again. */
static void bn_kind_doubling_up_to_the_maximum(void **state)
{
    static const uint64_t seconds[] = {30, 60, 120, 240, 300, 300, 300};
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    for (int again = 0; again < 2; again++) {
        fail_together(&fleet, A, BENCH_AFTER);
        for (size_t i = 0; i < 7; i++) {
            lbroute_target_stats stats = fleet_stats(&fleet, A);
            assert_int_equal(stats.bench_left_ns, seconds[i] * TEST_S);
            assert_int_equal(stats.benches_in_row, i + 1);
            move_clock(&fleet, seconds[i] * TEST_S - 1);
            assert_true(is_out(&fleet, A));
            move_clock(&fleet, 1);
            assert_false(is_out(&fleet, A));
            fleet_send(&fleet, A,
                       i % 2 == 0 ? LBROUTE_EVENT_FAILURE
                                  : LBROUTE_EVENT_TIMEOUT);
            assert_true(is_out(&fleet, A));
        }
        move_clock(&fleet, BENCH_MAX);
        fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
        assert_int_equal(fleet_stats(&fleet, A).benches_in_row, 0);
        assert_false(is_out(&fleet, A));
    }
    fleet_close(&fleet);
}

/* Hundreds of benches in a row neither overflow nor pass the maximum. */
static void bn_kind_no_overflow_in_doubling(void **state)
{
    static const double maxima[] = {1, 30, 31, 300, 365 * 86400.0};
    (void)state;

    for (size_t m = 0; m < sizeof maxima / sizeof *maxima; m++) {
        int64_t last = 0, most = (int64_t)(maxima[m] * 1e9);
        struct fleet fleet;
        fleet_open(&fleet, "least_connections", 2, 1);
        fleet_param(&fleet, "health.bench_max", maxima[m]);
        fail_together(&fleet, A, BENCH_AFTER);
        for (int i = 0; i < 200; i++) {
            int64_t left = fleet_stats(&fleet, A).bench_left_ns;
            assert_true(left >= last && left > 0 && left <= most);
            last = left;
            move_clock(&fleet, (uint64_t)left);
            assert_false(is_out(&fleet, A));
            fleet_send(&fleet, A, LBROUTE_EVENT_FAILURE);
        }
        assert_int_equal(last, most);
        fleet_close(&fleet);
    }
}

/* The parameters, also changed while a target counts its failures. */
static void bn_kind_parameters(void **state)
{
    struct fleet fleet;
    (void)state;

    for (uint32_t after = 1; after <= 9; after++) {
        fleet_open(&fleet, "least_connections", 2, 1);
        fleet_param(&fleet, "health.bench_after", after);
        fleet_param(&fleet, "health.bench_time", after);
        for (uint32_t i = 1; i <= after; i++) {
            fleet_send(&fleet, A, LBROUTE_EVENT_FAILURE);
            assert_int_equal(is_out(&fleet, A), i == after);
        }
        assert_int_equal(fleet_stats(&fleet, A).bench_left_ns, after * TEST_S);
        fleet_close(&fleet);
    }

    fleet_open(&fleet, "least_connections", 2, 1);
    fleet_param(&fleet, "health.bench_after", 0);
    for (int i = 0; i < 1000; i++)
        fleet_send(&fleet, A, LBROUTE_EVENT_FAILURE);
    assert_false(is_out(&fleet, A));
    fleet_param(&fleet, "health.bench_after", 5);
    fleet_param(&fleet, "health.bench_max", 10);
    fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    for (int i = 0; i < 5; i++)
        fleet_send(&fleet, A, LBROUTE_EVENT_FAILURE);
    assert_true(is_out(&fleet, A));
    assert_int_equal(fleet_stats(&fleet, A).bench_left_ns, 10 * TEST_S);
    fleet_close(&fleet);
}

/* Of two deadlines the later wins, in any order and from any cause; 0 ends the
 * bench and its trial. */
static void bn_kind_later_deadline_wins(void **state)
{
    static const uint64_t seconds[4][3] = {
        {10, 60, 60}, {60, 10, 60}, {60, 60, 61}, {1, 1, 2}};
    struct fleet fleet;
    (void)state;

    for (size_t i = 0; i < 4; i++) {
        fleet_open(&fleet, "least_connections", 2, 1);
        fleet_bench(&fleet, A, seconds[i][0] * TEST_S);
        move_clock(&fleet, TEST_S);
        fleet_bench(&fleet, A, seconds[i][1] * TEST_S);
        uint64_t first = seconds[i][0] * TEST_S;
        uint64_t second = (1 + seconds[i][1]) * TEST_S;
        uint64_t later = first > second ? first : second;
        if (later > TEST_S) {
            fleet.now = later - 1;
            assert_true(is_out(&fleet, A));
        }
        fleet.now = later;
        assert_false(is_out(&fleet, A));
        fleet_close(&fleet);
    }

    /* A bench by call is not cut short by one from failures, or lengthened by
     * a shorter one. */
    fleet_open(&fleet, "least_connections", 2, 1);
    fleet_hold(&fleet, A, BENCH_AFTER);
    fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    for (int i = 0; i < BENCH_AFTER; i++)
        fleet_settle(&fleet, A, LBROUTE_EVENT_FAILURE);
    fleet_bench(&fleet, A, TEST_S);
    assert_int_equal(fleet_stats(&fleet, A).bench_left_ns, BENCH_TIME);
    fleet_bench(&fleet, A, TEST_H);
    assert_int_equal(fleet_stats(&fleet, A).bench_left_ns, TEST_H);
    fleet_bench(&fleet, A, 0);
    assert_false(is_out(&fleet, A));
    assert_int_equal(fleet_stats(&fleet, A).on_trial, 0);
    fleet_hold(&fleet, A, 3);
    assert_false(is_out(&fleet, A));
    fleet_close(&fleet);
}

/* A bench without end does not overflow. */
static void bn_kind_longest_bench(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    move_clock(&fleet, TEST_H);
    fleet_bench(&fleet, A, UINT64_MAX);
    assert_true(is_out(&fleet, A));
    assert_true(fleet_stats(&fleet, A).bench_left_ns > 0);
    fleet.now = UINT64_MAX / 2;
    assert_true(is_out(&fleet, A));
    fleet_bench(&fleet, A, 0);
    assert_false(is_out(&fleet, A));
    fleet_close(&fleet);
}

/* What was in flight when a bench began cannot lengthen it or count towards
 * the next. */
static void bn_kind_old_failures_do_not_count_twice(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    fleet_hold(&fleet, A, 30);
    for (int i = 0; i < 30; i++) {
        fleet_settle(&fleet, A, LBROUTE_EVENT_FAILURE);
        move_clock(&fleet, TEST_MS);
    }
    assert_int_equal(fleet_stats(&fleet, A).benches_in_row, 1);
    fleet.now = 4 * TEST_MS + BENCH_TIME - 1;
    assert_true(is_out(&fleet, A));
    fleet.now += 1;
    assert_false(is_out(&fleet, A));
    fleet_close(&fleet);
}

/* Scrapes, re-applied settings, time and other targets' news do not end a
 * bench early. */
static void bn_kind_update_storm(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 3, 1);
    fail_together(&fleet, A, BENCH_AFTER);
    for (int i = 0; i < 29; i++) {
        move_clock(&fleet, TEST_S);
        fleet_reapply(&fleet, A);
        fleet_set_weight(&fleet, A, 1 + i % 3);
        fleet_gauge(&fleet, A, LBROUTE_GAUGE_RUNNING, 0);
        fleet_strategy(&fleet, "weighted");
        fleet_param(&fleet, "health.bench_time", 30);
        fleet_drain(&fleet, A, 1);
        fleet_drain(&fleet, A, 0);
        fleet_serve(&fleet);
        lbroute_tick(fleet.router, fleet.now);
        assert_true(is_out(&fleet, A));
    }
    move_clock(&fleet, TEST_S);
    assert_false(is_out(&fleet, A));
    fleet_close(&fleet);
}

/* Time that runs backward cannot lengthen a bench or start one anew. */
static void bn_kind_time_runs_backward(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    fleet.now = 100 * TEST_S;
    fail_together(&fleet, A, BENCH_AFTER);
    fleet_hold(&fleet, B, 20);
    fleet.now = 130 * TEST_S;
    assert_int_equal(fleet_pick(&fleet), A);
    fleet.now = 1;
    fleet_settle_last(&fleet, LBROUTE_EVENT_CANCEL);
    assert_int_equal(fleet_pick(&fleet), A);
    fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
    fleet_bench(&fleet, A, TEST_S);
    assert_int_equal(fleet_stats(&fleet, A).bench_left_ns, TEST_S);
    fleet.now = 131 * TEST_S;
    assert_false(is_out(&fleet, A));
    fleet_close(&fleet);
}

/* A trial whose outcome is never told frees the next one when its ticket
 * expires: no bench by silence. */
static void bn_kind_forgotten_trial(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    fail_together(&fleet, A, BENCH_AFTER);
    fleet_hold(&fleet, B, 20);
    move_clock(&fleet, BENCH_TIME);
    assert_int_equal(fleet_pick(&fleet), A);
    move_clock(&fleet, 600 * TEST_S - 1);
    assert_true(is_out(&fleet, A));
    move_clock(&fleet, 1);
    lbroute_tick(fleet.router, fleet.now);
    assert_false(is_out(&fleet, A));
    fleet_close(&fleet);
}

/* One trial at a time under every strategy, also for a session that is pinned
 * to the benched target. */
static void one_trial_at_a_time(const char *strategy)
{
    size_t on_a = 0;
    struct fleet fleet;

    fleet_open(&fleet, strategy, 3, 1);
    fleet_session(&fleet, "s1");
    fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    fail_together(&fleet, A, BENCH_AFTER);
    for (int i = 0; i < 20; i++)
        assert_true(fleet_pick_frozen(&fleet) != A);
    move_clock(&fleet, BENCH_TIME);
    for (int i = 0; i < 20; i++) {
        fleet_session(&fleet, i % 2 == 0 ? "s1" : NULL);
        on_a += fleet_pick(&fleet) == A;
        assert_true(on_a <= 1);
        assert_int_equal(fleet.decision.bench_ignored, 0);
    }
    fleet_close(&fleet);
}

static void bn_kind_one_trial_at_a_time(void **state)
{
    (void)state;
    fleet_for_each_strategy(one_trial_at_a_time);
}

/* Where benching alone keeps the last suitable target out, it is ignored. */
static void bn_kind_only_a_benched_one_left(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct fleet fleet;
        fleet_open(&fleet, "least_connections", 2, 1);
        fleet_bench(&fleet, A, TEST_H);
        if (way == 0)
            fleet_drain(&fleet, B, 1);
        if (way == 1) {
            fleet.request.exclude = &fleet.targets[B];
            fleet.request.exclude_len = 1;
        }
        if (way == 2)
            fleet_remove(&fleet, B);
        for (int i = 0; i < 10; i++)
            assert_int_equal(fleet_pick_frozen(&fleet), A);
        assert_int_equal(fleet.decision.bench_ignored, 1);
        fleet_close(&fleet);
    }
}

/* A healthy target that is only full is worth waiting for: the benched one is
 * left alone. */
static void bn_kind_benched_beside_full(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    fleet_bench(&fleet, A, TEST_H);
    fleet_hold(&fleet, B, 32);
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    assert_int_equal(fleet.decision.reasons[LBROUTE_REASON_BENCHED], 1);
    assert_int_equal(fleet.decision.reasons[LBROUTE_REASON_SATURATED], 1);
    fleet_settle(&fleet, B, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_pick(&fleet), B);
    fleet_close(&fleet);
}

/* A whole fleet that fails and recovers is back to normal, whatever the order
 * and the number of targets. */
static void bn_kind_outage_of_all(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 12; n++) {
        struct fleet fleet;
        fleet_open(&fleet, "round_robin", n, n);
        for (size_t i = 0; i < n * 12; i++) {
            assert_true(fleet_pick(&fleet) != FLEET_NONE);
            fleet_settle_last(&fleet, LBROUTE_EVENT_FAILURE);
        }
        move_clock(&fleet, BENCH_MAX);
        fleet_reset_picks(&fleet);
        for (size_t i = 0; i < n * 10; i++)
            assert_true(fleet_serve(&fleet) != FLEET_NONE);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(fleet.picks[i], 10);
            assert_int_equal(fleet_stats(&fleet, i).on_trial, 0);
            assert_int_equal(fleet_stats(&fleet, i).failures_in_row, 0);
        }
        fleet_close(&fleet);
    }
}

/* A target that fails now and then is never benched; one that flaps between
 * five failures and a success is benched for the first time each time. */
static void bn_kind_flapping(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    for (int i = 0; i < 500; i++) {
        fleet_send(&fleet, A,
                   i % 5 == 4 ? LBROUTE_EVENT_SUCCESS : LBROUTE_EVENT_FAILURE);
        assert_false(is_out(&fleet, A));
    }
    for (int i = 0; i < 50; i++) {
        fail_together(&fleet, A, BENCH_AFTER);
        assert_int_equal(fleet_stats(&fleet, A).bench_left_ns, BENCH_TIME);
        move_clock(&fleet, BENCH_TIME);
        fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
        assert_int_equal(fleet_stats(&fleet, A).benches_in_row, 0);
    }
    fleet_close(&fleet);
}

/* A target that was overloaded is never benched for it, and attracts less only
 * while that is fresh. */
static void bn_kind_overload_is_no_failure(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    for (int i = 0; i < 100; i++)
        fleet_send(&fleet, A, LBROUTE_EVENT_OVERLOAD);
    assert_false(is_out(&fleet, A));
    assert_int_equal(fleet_stats(&fleet, A).failures_in_row, 0);
    assert_int_equal(fleet_pick_frozen(&fleet), B);
    move_clock(&fleet, TEST_H);
    fleet_reset_picks(&fleet);
    for (int i = 0; i < 20; i++)
        fleet_serve(&fleet);
    assert_int_equal(fleet.picks[A], 10);
    fleet_close(&fleet);
}

/* The slow start after a bench: a share that grows from little to full. */
static void bn_kind_slow_start_after_a_bench(void **state)
{
    struct fleet fleet;
    double weight;
    (void)state;

    fleet_open(&fleet, "weighted", 2, 1);
    fleet_param(&fleet, "health.slow_start", 60);
    move_clock(&fleet, TEST_H);
    fail_together(&fleet, A, BENCH_AFTER);
    move_clock(&fleet, BENCH_TIME);
    fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    weight = fleet_stats(&fleet, A).weight;
    assert_in_real_range(weight, 1e-9, 0.5);
    for (int i = 0; i < 60; i++) {
        double next;
        move_clock(&fleet, TEST_S);
        next = fleet_stats(&fleet, A).weight;
        assert_in_real_range(next, weight, 1);
        weight = next;
    }
    assert_near(weight, 1, 0);
    assert_near(fleet_stats(&fleet, B).weight, 1, 0);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bn_01_client_errors_bench),
        cmocka_unit_test(bn_02_benched_for_ever),
        cmocka_unit_test(bn_04_last_target_taken_out),
        cmocka_unit_test(bn_06_zero_time_and_first_deadline),
        cmocka_unit_test(bn_07_client_error_resets_count),
        cmocka_unit_test(bn_07_client_error_ends_no_trial),
        cmocka_unit_test(bn_kind_neutral_outcomes),
        cmocka_unit_test(bn_kind_doubling_up_to_the_maximum),
        cmocka_unit_test(bn_kind_no_overflow_in_doubling),
        cmocka_unit_test(bn_kind_parameters),
        cmocka_unit_test(bn_kind_later_deadline_wins),
        cmocka_unit_test(bn_kind_longest_bench),
        cmocka_unit_test(bn_kind_old_failures_do_not_count_twice),
        cmocka_unit_test(bn_kind_update_storm),
        cmocka_unit_test(bn_kind_time_runs_backward),
        cmocka_unit_test(bn_kind_forgotten_trial),
        cmocka_unit_test(bn_kind_one_trial_at_a_time),
        cmocka_unit_test(bn_kind_only_a_benched_one_left),
        cmocka_unit_test(bn_kind_benched_beside_full),
        cmocka_unit_test(bn_kind_outage_of_all),
        cmocka_unit_test(bn_kind_flapping),
        cmocka_unit_test(bn_kind_overload_is_no_failure),
        cmocka_unit_test(bn_kind_slow_start_after_a_bench),
    };
    return cmocka_run_group_tests_name("BN", tests, NULL, NULL);
}
