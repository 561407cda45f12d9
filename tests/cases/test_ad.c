/* SPDX-License-Identifier: MIT */
/* Field reports AD: the adaptive blend and its switch. */
#include <math.h>
#include <string.h>

#include "catalog.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

enum { SEEDS = 5, LIMIT = 32 };

/* Blends from the first pick on, without trials, as far as targets are
 * known. */
static void open_ad(struct fleet *fleet, size_t targets, uint64_t seed)
{
    static const char *const keys[] = {"a", "b", "c", "d"};

    fleet_open(fleet, "adaptive", 0, seed);
    for (size_t i = 0; i < targets; i++)
        catalog_add(fleet, keys[i], LIMIT);
    fleet_param(fleet, "adaptive.min_picks", 0);
    fleet_param(fleet, "adaptive.exploration", 0);
}

static void set_weights(struct fleet *fleet, double latency, double cost,
                        double load)
{
    fleet_param(fleet, "adaptive.latency", latency);
    fleet_param(fleet, "adaptive.cost", cost);
    fleet_param(fleet, "adaptive.load", load);
}

static void expect_rule(const struct fleet *fleet, int rule)
{
    assert_string_equal(lbroute_rule_name(fleet->decision.rule),
                        lbroute_rule_name(rule));
}

/* Picks |n| times and puts each slot back; checks rule and score. */
static void pick_frozen(struct fleet *fleet, size_t n)
{
    fleet_reset_picks(fleet);
    for (size_t i = 0; i < n; i++) {
        assert_true(fleet_pick_frozen(fleet) != FLEET_NONE);
        expect_rule(fleet, LBROUTE_RULE_ADAPTIVE);
        assert_in_real_range(fleet->decision.score, 0, 1);
    }
}

/* ---- AD-01 ---- */

/* A signal that was read as zero had no effect, and nobody saw it. */
static void ad_01_cost_counts(void **state)
{
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_ad(&fleet, 2, seed);
        set_weights(&fleet, 0.2, 0.6, 0.2);
        catalog_teach(&fleet, A, 100);
        catalog_teach(&fleet, B, 100);
        catalog_flat(&fleet, "a", 10);
        catalog_flat(&fleet, "b", 1);
        pick_frozen(&fleet, 20);
        assert_int_equal(fleet.picks[B], 20);
        assert_int_equal(fleet.decision.expected_cost_pusd, 1250);
        fleet_close(&fleet);
    }
}

/* Without any price the others decide as if the weight of cost were 0. */
static void ad_01_unknown_for_all(void **state)
{
    static const double cost[] = {0.6, 0};
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        size_t chosen[2][20];
        double scores[2][20];
        for (size_t i = 0; i < 2; i++) {
            open_ad(&fleet, 3, seed);
            set_weights(&fleet, 0.2, cost[i], 0.2);
            catalog_teach(&fleet, A, 100);
            catalog_teach(&fleet, B, 150);
            catalog_teach(&fleet, C, 300);
            for (size_t k = 0; k < 20; k++) {
                chosen[i][k] = fleet_pick(&fleet);
                scores[i][k] = fleet.decision.score;
                assert_int_equal(fleet.decision.expected_cost_pusd, -1);
            }
            fleet_close(&fleet);
        }
        assert_memory_equal(chosen[0], chosen[1], sizeof chosen[0]);
        for (size_t k = 0; k < 20; k++)
            assert_near(scores[0][k], scores[1][k], 1e-12);
    }
}

/* One that is unknown is neither free nor dear: it gets what is in the
 * middle. */
static void ad_01_unknown_for_one(void **state)
{
    struct fleet fleet;
    (void)state;

    for (size_t unknown = 0; unknown < 3; unknown++) {
        size_t cheap = (unknown + 1) % 3;
        size_t dear = (unknown + 2) % 3;
        static const char *const keys[] = {"a", "b", "c"};
        open_ad(&fleet, 3, 1);
        set_weights(&fleet, 0, 1, 0);
        catalog_flat(&fleet, keys[cheap], 100);
        catalog_flat(&fleet, keys[dear], 900);
        pick_frozen(&fleet, 10);
        assert_int_equal(fleet.picks[cheap], 10);
        fleet_hold(&fleet, cheap, 9); /* out of the window */
        pick_frozen(&fleet, 10);
        assert_int_equal(fleet.picks[unknown] + fleet.picks[dear], 10);
        assert_true(fleet.picks[unknown] > 0 && fleet.picks[dear] > 0);
        fleet_close(&fleet);
    }
}

/* The same of latency: who has none is in the middle. */
static void ad_01_unknown_latency_is_the_mean(void **state)
{
    lbroute_candidate rows[3];
    struct fleet fleet;
    size_t count;
    (void)state;

    open_ad(&fleet, 3, 1);
    set_weights(&fleet, 1, 0, 0);
    catalog_teach(&fleet, A, 100);
    catalog_teach(&fleet, C, 300);
    for (size_t i = 0; i < 3; i++)
        lbroute_candidate_init(&rows[i], sizeof rows[i]);
    assert_int_equal(lbroute_explain(fleet.router, &fleet.request, fleet.now,
                                     &fleet.decision, rows, 3, &count),
                     LBROUTE_OK);
    assert_near(rows[A].score, 1, 1e-12);
    assert_near(rows[B].score, 0.5, 1e-12);
    assert_near(rows[C].score, 0, 1e-12);
    fleet_close(&fleet);
}

/* ---- AD-03 ---- */

static void set_switch(struct fleet *fleet, int enabled)
{
    int now = -1;

    assert_int_equal(lbroute_set_adaptive(fleet->router, enabled), LBROUTE_OK);
    assert_int_equal(lbroute_get_adaptive(fleet->router, &now), LBROUTE_OK);
    assert_int_equal(now, enabled);
}

/* One step of traffic that both routers see; some requests stay open. */
static size_t step(struct fleet *fleet, size_t i)
{
    static const char *const sessions[] = {"s1", "s2", NULL, "s3"};
    static const char *const prompts[] = {
        "You are a helpful assistant. What is the time?",
        "You are a helpful assistant. What is the weather?", "Translate: one",
        NULL};
    size_t index;

    fleet->now += 7 * TEST_MS;
    fleet_session(fleet, sessions[i % 4]);
    fleet_prompt(fleet, prompts[i / 3 % 4]);
    index = fleet_pick(fleet);
    if (i % 3 == 0)
        fleet_settle_all(fleet,
                         i % 2 ? LBROUTE_EVENT_SUCCESS : LBROUTE_EVENT_CANCEL);
    return index;
}

/* A is slow and dear on both; only an adaptive pool minds. */
static void open_slow_and_dear(struct fleet *fleet, const char *strategy,
                               uint64_t seed)
{
    fleet_open(fleet, strategy, 0, seed);
    catalog_add(fleet, "a", LIMIT);
    catalog_add(fleet, "b", LIMIT);
    catalog_add(fleet, "c", LIMIT);
    catalog_flat(fleet, "a", 1000);
    catalog_flat(fleet, "b", 10);
    catalog_flat(fleet, "c", 10);
    fleet_param(fleet, "adaptive.min_picks", 6);
    for (size_t i = 0; i < 3; i++) {
        catalog_teach(fleet, A, 900);
        catalog_teach(fleet, B, 100);
        catalog_teach(fleet, C, 110);
    }
    fleet_reset_picks(fleet);
}

/* Off did not give exactly what the static rule gives. */
static void ad_03_off_is_the_pipeline(void **state)
{
    struct fleet fleet, twin;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_slow_and_dear(&fleet, "adaptive", seed);
        open_slow_and_dear(&twin, "pipeline", seed);
        set_switch(&fleet, 0);
        for (size_t i = 0; i < 200; i++) {
            assert_int_equal(step(&fleet, i), step(&twin, i));
            assert_int_equal(fleet.decision.rule, twin.decision.rule);
            assert_true(fleet.decision.score == twin.decision.score);
            assert_true(fleet.decision.rule == LBROUTE_RULE_PIPELINE ||
                        fleet.decision.rule == LBROUTE_RULE_STICKY_SESSION);
        }
        /* On again, it knows A at once. */
        fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
        fleet_settle_all(&twin, LBROUTE_EVENT_CANCEL);
        set_switch(&fleet, 1);
        fleet_param(&fleet, "adaptive.exploration", 0);
        fleet_session(&fleet, NULL);
        pick_frozen(&fleet, 20);
        assert_int_equal(fleet.picks[A], 0);
        fleet_close(&fleet);
        fleet_close(&twin);
    }
}

/* The switch is the router's, of all its adaptive pools and of no other. */
static void ad_03_switch_of_the_router(void **state)
{
    struct fleet fleet;
    lbroute_pool first;
    (void)state;

    open_ad(&fleet, 2, 1);
    catalog_flat(&fleet, "a", 5);
    catalog_flat(&fleet, "b", 1);
    first = fleet.pool;
    fleet_add_pool(&fleet, "other", "adaptive");
    fleet_param(&fleet, "adaptive.min_picks", 0);
    fleet_param(&fleet, "adaptive.exploration", 1);
    catalog_add(&fleet, "a", LIMIT);
    catalog_add(&fleet, "b", LIMIT);
    fleet_add_pool(&fleet, "third", "cheapest");
    catalog_add(&fleet, "a", LIMIT);
    for (int on = 0; on <= 1; on++) {
        set_switch(&fleet, on);
        fleet_serve(&fleet);
        expect_rule(&fleet, LBROUTE_RULE_CHEAPEST);
        fleet.request.pool = first;
        fleet_serve(&fleet);
        expect_rule(&fleet, on ? LBROUTE_RULE_ADAPTIVE : LBROUTE_RULE_PIPELINE);
        assert_int_equal(
            lbroute_pool_find(fleet.router, "other", 5, &fleet.request.pool),
            LBROUTE_OK);
        fleet_serve(&fleet);
        expect_rule(&fleet, on ? LBROUTE_RULE_EXPLORE : LBROUTE_RULE_PIPELINE);
        fleet.request.pool = fleet.pool;
    }
    fleet_close(&fleet);
}

/* A value that is neither on nor off changes nothing. */
static void ad_03_bad_switch(void **state)
{
    static const int bad[] = {-1, 2, INT32_MIN, INT32_MAX};
    struct fleet fleet;
    int enabled;
    (void)state;

    fleet_open(&fleet, "adaptive", 2, 1);
    for (int on = 0; on <= 1; on++) {
        set_switch(&fleet, on);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(lbroute_set_adaptive(fleet.router, bad[i]),
                             LBROUTE_ERR_INVALID);
        assert_int_equal(lbroute_get_adaptive(fleet.router, &enabled),
                         LBROUTE_OK);
        assert_int_equal(enabled, on);
    }
    assert_int_equal(lbroute_set_adaptive(NULL, 1), LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_get_adaptive(NULL, &enabled), LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_get_adaptive(fleet.router, NULL),
                     LBROUTE_ERR_INVALID);
    fleet_close(&fleet);
}

/* Until it is engaged it is the pipeline, too, to the pick. */
static void ad_03_before_it_engages(void **state)
{
    struct fleet fleet, twin;
    (void)state;

    fleet_open(&fleet, "adaptive", 3, 7);
    fleet_open(&twin, "pipeline", 3, 7);
    for (size_t i = 0; i < 50; i++) {
        assert_int_equal(step(&fleet, i), step(&twin, i));
        assert_int_equal(fleet.decision.rule, twin.decision.rule);
    }
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    step(&fleet, 0);
    assert_true(fleet.decision.rule == LBROUTE_RULE_ADAPTIVE ||
                fleet.decision.rule == LBROUTE_RULE_EXPLORE);
    fleet_close(&twin);
    fleet_close(&fleet);
}

/* One known target is nothing to compare. */
static void ad_03_two_must_be_known(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ad(&fleet, 3, 1);
    catalog_teach(&fleet, A, 100);
    fleet_pick_frozen(&fleet);
    expect_rule(&fleet, LBROUTE_RULE_PIPELINE);
    catalog_teach(&fleet, B, 100);
    fleet_pick_frozen(&fleet);
    expect_rule(&fleet, LBROUTE_RULE_ADAPTIVE);
    fleet.now += 61 * TEST_S;
    fleet_pick_frozen(&fleet);
    expect_rule(&fleet, LBROUTE_RULE_PIPELINE);
    fleet_close(&fleet);
}

/* Prompts that wait for their first token are work, too: whoever is fastest
 * leaves the window with a pile of them, evenly as requests are spread. */
static void waiting_prompts_count(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ad(&fleet, 2, 1);
    set_weights(&fleet, 1, 0, 0);
    fleet.request.input_tokens = 1000;
    catalog_teach(&fleet, A, 10);
    catalog_teach(&fleet, B, 20);
    fleet_hold(&fleet, B, 4); /* these have their first tokens */
    for (size_t i = 0; i < fleet.held_count; i++)
        assert_int_equal(fleet_observe(&fleet, fleet.held[i].ticket,
                                       LBROUTE_EVENT_FIRST_TOKEN),
                         LBROUTE_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fleet_pick(&fleet), A);
    assert_int_equal(fleet_pick(&fleet), B);
    expect_rule(&fleet, LBROUTE_RULE_ADAPTIVE);
    fleet_close(&fleet);
}

/* ---- AD-05 ---- */

/* A success in no time is no measurement: neither the fastest nor known. */
static void ad_05_zero_is_not_fast(void **state)
{
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_ad(&fleet, 3, seed);
        fleet_param(&fleet, "adaptive.exploration", 0.05);
        for (size_t i = 0; i < 10; i++)
            catalog_teach(&fleet, A, 0);
        catalog_teach(&fleet, B, 50);
        fleet_gauge(&fleet, A, LBROUTE_GAUGE_RUNNING, 0);
        fleet_gauge(&fleet, A, LBROUTE_GAUGE_WAITING, 0);
        fleet_reset_picks(&fleet);
        for (size_t i = 0; i < 100; i++) {
            fleet_serve(&fleet);
            assert_true(isfinite(fleet.decision.score));
        }
        for (size_t i = 0; i < 3; i++)
            assert_in_range(fleet.picks[i], 20, 47);
        fleet.now += 180001 * TEST_MS;
        fleet_reset_picks(&fleet);
        for (size_t i = 0; i < 90; i++)
            fleet_serve(&fleet);
        for (size_t i = 0; i < 3; i++)
            assert_in_range(fleet.picks[i], 27, 33);
        fleet_close(&fleet);
    }
}

/* Failures, however quick, teach no latency. */
static void ad_05_failures_are_not_fast(void **state)
{
    static const int kinds[] = {LBROUTE_EVENT_FAILURE, LBROUTE_EVENT_TIMEOUT,
                                LBROUTE_EVENT_CANCEL,
                                LBROUTE_EVENT_CLIENT_ERROR};
    struct fleet fleet;
    (void)state;

    for (size_t kind = 0; kind < 4; kind++) {
        open_ad(&fleet, 3, 1);
        fleet_param(&fleet, "health.bench_after", 0);
        catalog_teach(&fleet, A, 100);
        catalog_teach(&fleet, B, 110);
        catalog_teach(&fleet, C, 300);
        for (size_t i = 0; i < 20; i++) {
            fleet_hold(&fleet, C, 1);
            fleet.now += TEST_MS;
            fleet_settle(&fleet, C, kinds[kind]);
        }
        pick_frozen(&fleet, 10);
        assert_int_equal(fleet.picks[C], 0);
        fleet_close(&fleet);
    }
}

/* ---- AD-06 ---- */

static void ad_06_one_signal_has_spread(void **state)
{
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_ad(&fleet, 3, seed);
        catalog_teach(&fleet, A, 100);
        catalog_teach(&fleet, B, 200);
        catalog_teach(&fleet, C, 300);
        catalog_flat(&fleet, "a", 5);
        catalog_flat(&fleet, "b", 5);
        catalog_flat(&fleet, "c", 5);
        for (size_t i = 0; i < 3; i++)
            fleet_hold(&fleet, i, 2);
        pick_frozen(&fleet, 10);
        assert_int_equal(fleet.picks[A], 10);
        assert_near(fleet.decision.score, 1, 1e-12);
        fleet_close(&fleet);
    }
}

static void ad_06_nothing_has_spread(void **state)
{
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_ad(&fleet, 3, seed);
        for (size_t i = 0; i < 3; i++) {
            catalog_teach(&fleet, i, 100);
            fleet_hold(&fleet, i, 2);
        }
        catalog_flat(&fleet, "a", 5);
        catalog_flat(&fleet, "b", 5);
        catalog_flat(&fleet, "c", 5);
        pick_frozen(&fleet, 30);
        for (size_t i = 0; i < 3; i++)
            assert_in_range(fleet.picks[i], 5, 15);
        fleet_drain(&fleet, A, 1);
        fleet_drain(&fleet, B, 1);
        assert_int_equal(fleet_pick(&fleet), C);
        assert_true(isfinite(fleet.decision.score));
        fleet_close(&fleet);
    }
}

/* Jitter of equal targets is no spread either: it would outvote the price. */
static void ad_06_jitter_is_no_spread(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ad(&fleet, 2, 1);
    catalog_teach(&fleet, A, 1000);
    catalog_teach(&fleet, B, 1004);
    catalog_flat(&fleet, "a", 20);
    catalog_flat(&fleet, "b", 10);
    pick_frozen(&fleet, 10);
    assert_int_equal(fleet.picks[B], 10);
    fleet_close(&fleet);
}

/* The figures of the design: 1.0, 0.5 and 0.25, each stretched to 0 … 1. */
static void ad_06_scores_are_the_blend(void **state)
{
    lbroute_candidate rows[3];
    struct fleet fleet;
    size_t count;
    (void)state;

    open_ad(&fleet, 3, 1);
    catalog_teach(&fleet, A, 100);
    catalog_teach(&fleet, B, 200);
    catalog_teach(&fleet, C, 500);
    catalog_flat(&fleet, "a", 90);
    catalog_flat(&fleet, "b", 30);
    catalog_flat(&fleet, "c", 10);
    fleet_hold(&fleet, A, 2);
    fleet_hold(&fleet, B, 1);
    for (size_t i = 0; i < 3; i++)
        lbroute_candidate_init(&rows[i], sizeof rows[i]);
    assert_int_equal(lbroute_explain(fleet.router, &fleet.request, fleet.now,
                                     &fleet.decision, rows, 3, &count),
                     LBROUTE_OK);
    assert_near(rows[A].score, (1.0 * 1 + 0.5 * 0 + 0.25 * 0) / 1.75, 1e-12);
    assert_near(rows[B].score, (1.0 * 0.75 + 0.5 * 0.75 + 0.25 * 0.5) / 1.75,
                1e-12);
    assert_near(rows[C].score, (1.0 * 0 + 0.5 * 1 + 0.25 * 1) / 1.75, 1e-12);
    assert_int_equal(fleet_pick(&fleet), B);
    fleet_close(&fleet);
}

/* ---- no collapse ---- */

/* The best of all gets no more than the window has room for. */
static void ad_stays_inside_the_window(void **state)
{
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_ad(&fleet, 4, seed);
        fleet_param(&fleet, "adaptive.exploration", 0.05);
        for (size_t i = 0; i < 4; i++)
            catalog_teach(&fleet, i, i == A ? 1 : 1000);
        catalog_flat(&fleet, "a", 0);
        catalog_flat(&fleet, "b", 1000);
        for (size_t i = 0; i < 60; i++) {
            uint32_t least = UINT32_MAX;
            fleet_pick(&fleet);
            for (size_t k = 0; k < 4; k++)
                if (fleet_in_flight(&fleet, k) < least)
                    least = fleet_in_flight(&fleet, k);
            assert_true(fleet_in_flight(&fleet, A) <= least + 3 ||
                        fleet_in_flight(&fleet, A) <= least * 3 / 2 + 1);
        }
        fleet_close(&fleet);
    }
}

/* Trials take their part of the picks, and go to everybody in the window but
 * to nobody beyond. */
static void ad_trials(void **state)
{
    struct fleet fleet;
    size_t trials = 0;
    (void)state;

    open_ad(&fleet, 4, 3);
    fleet_param(&fleet, "adaptive.exploration", 0.2);
    catalog_teach(&fleet, A, 10);
    catalog_teach(&fleet, B, 500);
    catalog_teach(&fleet, C, 500);
    fleet_hold(&fleet, 3, 9);
    fleet_reset_picks(&fleet);
    for (size_t i = 0; i < 3000; i++) {
        fleet_pick_frozen(&fleet);
        trials += fleet.decision.rule == LBROUTE_RULE_EXPLORE;
    }
    assert_in_range(trials, 520, 680);
    assert_in_range(fleet.picks[B], 140, 260);
    assert_in_range(fleet.picks[C], 140, 260);
    assert_int_equal(fleet.picks[3], 0);
    fleet_close(&fleet);
}

/* What a removed target was like says nothing about its successor. */
static void ad_new_life_is_unknown(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ad(&fleet, 2, 1);
    set_weights(&fleet, 1, 0, 0);
    catalog_teach(&fleet, A, 10);
    catalog_teach(&fleet, B, 500);
    pick_frozen(&fleet, 5);
    assert_int_equal(fleet.picks[A], 5);
    fleet_remove(&fleet, A);
    fleet_add_again(&fleet, A);
    fleet_pick_frozen(&fleet);
    expect_rule(&fleet, LBROUTE_RULE_PIPELINE);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ad_01_cost_counts),
        cmocka_unit_test(ad_01_unknown_for_all),
        cmocka_unit_test(ad_01_unknown_for_one),
        cmocka_unit_test(ad_01_unknown_latency_is_the_mean),
        cmocka_unit_test(ad_03_off_is_the_pipeline),
        cmocka_unit_test(ad_03_switch_of_the_router),
        cmocka_unit_test(ad_03_bad_switch),
        cmocka_unit_test(ad_03_before_it_engages),
        cmocka_unit_test(ad_03_two_must_be_known),
        cmocka_unit_test(waiting_prompts_count),
        cmocka_unit_test(ad_05_zero_is_not_fast),
        cmocka_unit_test(ad_05_failures_are_not_fast),
        cmocka_unit_test(ad_06_one_signal_has_spread),
        cmocka_unit_test(ad_06_nothing_has_spread),
        cmocka_unit_test(ad_06_jitter_is_no_spread),
        cmocka_unit_test(ad_06_scores_are_the_blend),
        cmocka_unit_test(ad_stays_inside_the_window),
        cmocka_unit_test(ad_trials),
        cmocka_unit_test(ad_new_life_is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
