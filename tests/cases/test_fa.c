/* SPDX-License-Identifier: MIT */
/* Field reports FA: fastest by a moving average. */
#include <math.h>

#include "support/fleet.h"
#include "support/test.h"

static const uint64_t ms = TEST_MS;

/* Picks, and the target answers after its time. */
static size_t serve(struct fleet *fleet, const uint64_t *answers)
{
    size_t index = fleet_pick(fleet);

    assert_int_not_equal(index, FLEET_NONE);
    fleet_answer_last(fleet, 0, answers[index]);
    return index;
}

/* |n| requests, one each |step|; gives how many of the last |of| went to
 * |index|. */
static size_t run(struct fleet *fleet, const uint64_t *answers, size_t n,
                  uint64_t step, size_t index, size_t of)
{
    size_t hits = 0;

    for (size_t i = 0; i < n; i++) {
        size_t picked = serve(fleet, answers);

        hits += i + of >= n && picked == index;
        fleet->now += step;
    }
    return hits;
}

/* ---- the reported cases ---- */

/* A failure set the average to one hour, and only a success could have lowered
 * it. Here failures teach nothing. */
static void fa_03_one_failure_banishes_for_ever(void **state)
{
    static const uint64_t answers[] = {100 * TEST_MS, 90 * TEST_MS};
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "fastest", 2, 1);
    fleet_teach(&fleet, 0, 0, answers[0], 10);
    fleet_teach(&fleet, 1, 0, answers[1], 10);
    fleet_send(&fleet, 1, LBROUTE_EVENT_FAILURE);
    assert_true(run(&fleet, answers, 600, TEST_S, 1, 100) > 50);
    assert_near(fleet_model(&fleet, 1, LBROUTE_LATENCY_TOTAL).ewma_ns,
                (double)answers[1], 1);
    fleet_close(&fleet);
}

/* The same after a timeout, a bench, and an overload. */
static void fa_03_other_failures(void **state)
{
    static const int kinds[] = {LBROUTE_EVENT_TIMEOUT, LBROUTE_EVENT_OVERLOAD,
                                LBROUTE_EVENT_CLIENT_ERROR,
                                LBROUTE_EVENT_CANCEL, LBROUTE_EVENT_FAILURE};
    static const uint64_t answers[] = {100 * TEST_MS, 90 * TEST_MS};
    (void)state;

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        struct fleet fleet;

        fleet_open(&fleet, "fastest", 2, 1);
        fleet_teach(&fleet, 0, 0, answers[0], 10);
        fleet_teach(&fleet, 1, 0, answers[1], 10);
        for (int i = 0; i < 5; i++)
            fleet_send(&fleet, 1, kinds[k]);
        assert_true(run(&fleet, answers, 600, TEST_S, 1, 100) > 50);
        fleet_close(&fleet);
    }
}

/* One success of a minute hid a target of 100 ms; and one of 1 ms took all, so
 * that the figures of the other went stale. The rule: without a sample younger
 * than fastest.age a target is cold, is tried, and its average starts anew. */
static void fa_04_an_old_outlier_hides_a_target(void **state)
{
    uint64_t answers[] = {TEST_MS, 100 * TEST_MS};
    struct fleet fleet;
    size_t since = 0;
    (void)state;

    fleet_open(&fleet, "fastest", 2, 1);
    fleet_teach(&fleet, 0, 0, answers[0], 1);
    fleet_teach(&fleet, 1, 0, 60000 * ms, 1);
    assert_true(run(&fleet, answers, 1000, TEST_H / 1000, 0, 1000) > 900);
    assert_true(fleet.picks[1] > 10); /* tried once a minute, not more */
    assert_true(fleet.picks[1] < 100);
    answers[0] = 400 * ms;
    while (fleet_model(&fleet, 0, LBROUTE_LATENCY_TOTAL).ewma_ns <= 100e6)
        (void)run(&fleet, answers, 1, TEST_H / 1000, 0, 1);
    while (serve(&fleet, answers) != 1) {
        fleet.now += TEST_H / 1000;
        assert_true(++since < 50);
    }
    assert_true(run(&fleet, answers, 100, TEST_H / 1000, 1, 100) > 90);
    fleet_close(&fleet);
}

/* On a quiet server, where requests are rarer than the age, each target is
 * tried in turn. */
static void fa_04_a_quiet_server(void **state)
{
    static const uint64_t answers[] = {100 * TEST_MS, TEST_MS};
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "fastest", 2, 1);
    fleet_teach(&fleet, 1, 0, 60000 * ms, 1);
    (void)run(&fleet, answers, 20, 600 * TEST_S, 1, 20);
    assert_int_equal(fleet.picks[0], 10);
    fleet_close(&fleet);
}

/* Each attempt has its own ticket, and so teaches its own target, in whatever
 * order they end. */
static void fa_05_retries_credit_the_wrong_target(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        struct fleet fleet;
        lbroute_event failed;
        lbroute_event served;

        fleet_open(&fleet, "fastest", 2, 1);
        lbroute_event_init(&failed, sizeof failed);
        lbroute_event_init(&served, sizeof served);
        fleet_hold(&fleet, 0, 1);
        failed.ticket = fleet.decision.ticket;
        failed.kind = LBROUTE_EVENT_FAILURE;
        failed.latency_ns = (int64_t)(5000 * ms);
        if (!swapped)
            assert_int_equal(lbroute_observe(fleet.router, &failed, fleet.now),
                             0);
        fleet_hold(&fleet, 1, 1);
        served.ticket = fleet.decision.ticket;
        served.kind = LBROUTE_EVENT_SUCCESS;
        served.latency_ns = (int64_t)(80 * ms);
        assert_int_equal(lbroute_observe(fleet.router, &served, fleet.now), 0);
        if (swapped)
            assert_int_equal(lbroute_observe(fleet.router, &failed, fleet.now),
                             0);
        fleet.held_count = 0;
        assert_int_equal(fleet_model(&fleet, 0, LBROUTE_LATENCY_TOTAL).samples,
                         0);
        assert_near(fleet_model(&fleet, 1, LBROUTE_LATENCY_TOTAL).ewma_ns, 80e6,
                    0);
        assert_int_equal(fleet_in_flight(&fleet, 0), 0);
        assert_int_equal(fleet_in_flight(&fleet, 1), 0);
        fleet_close(&fleet);
    }
}

/* ---- the rule ---- */

static void the_average_is_the_documented_one(void **state)
{
    struct fleet fleet;
    double average = 100e6;
    (void)state;

    fleet_open(&fleet, "fastest", 1, 1);
    fleet_teach(&fleet, 0, 0, 100 * ms, 1);
    for (uint64_t i = 1; i < 20; i++) {
        fleet_teach(&fleet, 0, 0, i * 10 * ms, 1);
        average += 0.3 * ((double)(i * 10) * 1e6 - average);
        assert_near(fleet_model(&fleet, 0, LBROUTE_LATENCY_TOTAL).ewma_ns,
                    average, 1);
    }
    fleet_param(&fleet, "fastest.alpha", 1);
    fleet_teach(&fleet, 0, 0, 7 * ms, 1);
    assert_near(fleet_model(&fleet, 0, LBROUTE_LATENCY_TOTAL).ewma_ns, 7e6, 0);
    fleet_close(&fleet);
}

/* Without the window the fastest takes everything. */
static void the_window_holds(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "fastest", 3, 1);
    fleet_teach(&fleet, 0, 0, 10 * ms, 3);
    fleet_teach(&fleet, 1, 0, 20 * ms, 3);
    fleet_teach(&fleet, 2, 0, 30 * ms, 3);
    for (int i = 0; i < 80; i++) {
        uint32_t least = fleet_in_flight(&fleet, 0);

        for (size_t t = 1; t < 3; t++)
            if (fleet_in_flight(&fleet, t) < least)
                least = fleet_in_flight(&fleet, t);
        size_t picked = fleet_pick(&fleet);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_FASTEST);
        uint32_t before = fleet_in_flight(&fleet, picked) - 1;
        assert_true(before <= least + 2 || before * 2 <= least * 3);
    }
    assert_true(fleet_in_flight(&fleet, 0) > fleet_in_flight(&fleet, 1));
    assert_true(fleet_in_flight(&fleet, 1) >= fleet_in_flight(&fleet, 2));
    fleet_close(&fleet);
}

/* Prompts that wait for their first token are work, too: a pile of them leaves
 * the window although requests are spread evenly. */
static void waiting_prompts_count(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "fastest", 2, 1);
    fleet.request.input_tokens = 1000;
    fleet_teach(&fleet, 0, ms, 10 * ms, 3);
    fleet_teach(&fleet, 1, ms, 20 * ms, 3);
    fleet_hold(&fleet, 1, 4); /* these have their first tokens */
    for (size_t i = 0; i < fleet.held_count; i++)
        assert_int_equal(fleet_observe(&fleet, fleet.held[i].ticket,
                                       LBROUTE_EVENT_FIRST_TOKEN),
                         LBROUTE_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fleet_pick(&fleet), 0);
    assert_int_equal(fleet_explain(&fleet), 1);
    fleet_close(&fleet);
}

static void load_breaks_ties(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "fastest", 2, 1);
    fleet_teach(&fleet, 0, 0, 50 * ms, 1);
    fleet_teach(&fleet, 1, 0, 50 * ms, 1);
    for (int i = 0; i < 10; i++)
        fleet_pick(&fleet);
    assert_int_equal(fleet_in_flight(&fleet, 0), 5);
    assert_int_equal(fleet_in_flight(&fleet, 1), 5);
    fleet_close(&fleet);
}

/* One request at a time to a cold target, and none while it has one. */
static void one_trial_in_flight(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "fastest", 2, 1);
    fleet_teach(&fleet, 0, 0, 50 * ms, 1);
    assert_int_equal(fleet_pick(&fleet), 1);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_TRIAL);
    assert_int_equal(fleet_pick(&fleet), 0);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_FASTEST);
    assert_int_equal(fleet_pick(&fleet), 0);
    fleet_settle(&fleet, 1, LBROUTE_EVENT_FAILURE);
    assert_int_equal(fleet_pick(&fleet), 1);
    fleet_close(&fleet);
}

static void nobody_known_is_least_load(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "fastest", 3, 1);
    for (int i = 0; i < 30; i++) {
        fleet_pick(&fleet);
        assert_int_equal(fleet.decision.rule,
                         i < 3 ? LBROUTE_RULE_TRIAL
                               : LBROUTE_RULE_LEAST_CONNECTIONS);
    }
    for (size_t t = 0; t < 3; t++)
        assert_int_equal(fleet_in_flight(&fleet, t), 10);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fa_03_one_failure_banishes_for_ever),
        cmocka_unit_test(fa_03_other_failures),
        cmocka_unit_test(fa_04_an_old_outlier_hides_a_target),
        cmocka_unit_test(fa_04_a_quiet_server),
        cmocka_unit_test(fa_05_retries_credit_the_wrong_target),
        cmocka_unit_test(the_average_is_the_documented_one),
        cmocka_unit_test(the_window_holds),
        cmocka_unit_test(waiting_prompts_count),
        cmocka_unit_test(load_breaks_ties),
        cmocka_unit_test(one_trial_in_flight),
        cmocka_unit_test(nobody_known_is_least_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
