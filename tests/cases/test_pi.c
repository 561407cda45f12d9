/* SPDX-License-Identifier: MIT */
/* Field reports PI: the pipeline of filters and scorers. */
#include <math.h>
#include <string.h>

#include "prompts.h"
#include "support/fleet.h"
#include "support/stage.h"
#include "support/test.h"

#define A 0
#define B 1

enum { TEXT = 4000, SEEDS = 5, TTL_S = 60 };

static unsigned char text[TEXT];

static void open_pi(struct fleet *fleet, size_t targets, uint64_t seed)
{
    fleet_open(fleet, "pipeline", targets, seed);
}

static void expect_rule(const struct fleet *fleet, int rule)
{
    assert_string_equal(lbroute_rule_name(fleet->decision.rule),
                        lbroute_rule_name(rule));
}

/* ---- PI-01 ---- */

static void open_warm(struct fleet *fleet, size_t targets, uint64_t seed)
{
    open_pi(fleet, targets, seed);
    prompt_fill(text, TEXT, 1);
    for (size_t i = 0; i < targets; i++)
        prompt_warm(fleet, i, text, TEXT);
    prompt_set(fleet, text, TEXT);
}

/* A burst saw the same stale figures and went to one target. */
static void pi_01_burst_on_one_target(void **state)
{
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (size_t targets = 1; targets <= 20; targets++) {
            open_warm(&fleet, targets, seed);
            for (size_t i = 0; i < 3 * targets; i++) {
                size_t index = fleet_pick(&fleet);
                assert_true(index != FLEET_NONE);
                assert_int_equal(fleet.picks[index], 1 + i / targets);
                prompt_expect(&fleet, LBROUTE_RULE_PIPELINE, TEXT);
            }
            fleet_close(&fleet);
        }
    }
}

/* Equal scores were all resolved to the same target. */
static void pi_01_ties_are_shared(void **state)
{
    size_t first[8] = {0};
    size_t leaders = 0;
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_warm(&fleet, 8, seed);
        first[fleet_serve(&fleet)]++;
        for (size_t i = 1; i < 800; i++)
            fleet_serve(&fleet);
        for (size_t i = 0; i < 8; i++)
            assert_in_range(fleet.picks[i], 65, 135);
        fleet_close(&fleet);
    }
    for (size_t seed = SEEDS + 1; seed <= 40; seed++) {
        open_warm(&fleet, 8, seed);
        first[fleet_serve(&fleet)]++;
        fleet_close(&fleet);
    }
    for (size_t i = 0; i < 8; i++)
        leaders += first[i] > 0;
    assert_true(leaders >= 6);
}

/* ---- PI-02 ---- */

/* s1 is pinned to A; everything else speaks for B. */
static void open_pinned(struct fleet *fleet, uint64_t seed)
{
    open_pi(fleet, 1, seed);
    fleet_add_weight(fleet, 3);
    fleet_param(fleet, "session.ttl", TTL_S);
    fleet_session(fleet, "s1");
    fleet_send(fleet, A, LBROUTE_EVENT_SUCCESS);
    fleet_session(fleet, NULL);
    fleet_hold(fleet, A, 1);
    prompt_fill(text, TEXT, 1);
    prompt_warm(fleet, B, text, TEXT);
    prompt_set(fleet, text, TEXT);
    fleet_session(fleet, "s1");
}

/* The lifetime had no effect, or was a fixed one: it counts from the latest
 * pick, and at its exact end the pin is over. */
static void pi_02_lifetime_of_a_pin(void **state)
{
    static const uint64_t times[] = {30000, 59999, 119998, 119998 + 60001};
    static const size_t wanted[] = {A, A, A, B};
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_pinned(&fleet, seed);
        for (size_t i = 0; i < 4; i++) {
            fleet.now = times[i] * TEST_MS;
            assert_int_equal(fleet_pick_frozen(&fleet), wanted[i]);
        }
        fleet_close(&fleet);
    }
}

static void pi_02_exact_boundary(void **state)
{
    struct fleet fleet;
    (void)state;

    for (uint64_t late = 0; late < 3; late++) {
        open_pinned(&fleet, 1 + late);
        fleet.now = TTL_S * TEST_S - 1 + late;
        assert_int_equal(fleet_explain(&fleet), late == 0 ? A : B);
        assert_int_equal(fleet_serve(&fleet), late == 0 ? A : B);
        expect_rule(&fleet, late == 0 ? LBROUTE_RULE_STICKY_SESSION
                                      : LBROUTE_RULE_PIPELINE);
        /* The answer of B pins the session to it. */
        fleet.now += TTL_S * TEST_S - 1;
        assert_int_equal(fleet_serve(&fleet), late == 0 ? A : B);
        fleet_close(&fleet);
    }
}

/* ---- PI-03 ---- */

/* A fresh score overrode a pin that was in force. */
static void pi_03_pin_goes_first(void **state)
{
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_pinned(&fleet, seed);
        for (int i = 0; i < 10; i++) {
            fleet_session(&fleet, "s1");
            assert_int_equal(fleet_serve(&fleet), A);
            expect_rule(&fleet, LBROUTE_RULE_STICKY_SESSION);
        }
        fleet_session(&fleet, NULL);
        for (int i = 0; i < 10; i++) {
            assert_int_equal(fleet_serve(&fleet), B);
            expect_rule(&fleet, LBROUTE_RULE_PIPELINE);
        }
        fleet_close(&fleet);
    }
}

/* Whatever the weights of the others, a pin of weight 1 goes first. */
static void pi_03_against_heavy_scorers(void **state)
{
    static const char *const names[] = {"pipeline.weight", "pipeline.load",
                                        "pipeline.prefix"};
    static const double weights[] = {0, 0.001, 1, 1000};
    struct fleet fleet;
    struct stage stage;
    (void)state;

    for (size_t set = 0; set < 64; set++) {
        open_pinned(&fleet, set + 1);
        for (size_t i = 0; i < 3; i++)
            fleet_param(&fleet, names[i], weights[set >> 2 * i & 3]);
        stage_init(&stage, &fleet, 0);
        stage.scores[B] = 1;
        stage_register(&stage, "for B", LBROUTE_SCORER_SCORER, 1000);
        assert_int_equal(fleet_serve(&fleet), A);
        expect_rule(&fleet, LBROUTE_RULE_STICKY_SESSION);
        fleet_close(&fleet);
    }
}

/* Below 1 a pin is a preference: here A has 1/3 (weight), 1/2 (load) and
 * nothing of the prompt, B has 1 each, and the pin counts four times. */
static void pi_03_light_pin_is_a_preference(void **state)
{
    static const double sessions[] = {0, 0.5, 0.54, 0.55, 1, 1000};
    struct fleet fleet;
    (void)state;

    for (size_t i = 0; i < sizeof sessions / sizeof sessions[0]; i++) {
        double a = 1.0 / 3 + 0.5 + 4 * sessions[i];
        open_pinned(&fleet, 1);
        fleet_param(&fleet, "pipeline.session", sessions[i]);
        assert_int_equal(fleet_pick_frozen(&fleet), a > 3 ? A : B);
        assert_near(fleet.decision.score, a > 3 ? a : 3, 1e-12);
        expect_rule(&fleet, a > 3 ? LBROUTE_RULE_STICKY_SESSION
                                  : LBROUTE_RULE_PIPELINE);
        fleet_close(&fleet);
    }
}

/* A pin yields outside the window, to the bench, to a drain and to an
 * exclusion, and is back afterwards. It is not the rule where the pinned
 * target is ahead anyway. */
static void pi_03_pin_yields(void **state)
{
    struct fleet fleet;
    (void)state;

    open_pinned(&fleet, 1);
    fleet_hold(&fleet, A, 2);
    assert_int_equal(fleet_explain(&fleet), B);
    fleet_settle(&fleet, A, LBROUTE_EVENT_CANCEL);
    assert_int_equal(fleet_explain(&fleet), A);
    fleet_drain(&fleet, A, 1);
    assert_int_equal(fleet_explain(&fleet), B);
    fleet_drain(&fleet, A, 0);
    assert_int_equal(fleet_explain(&fleet), A);
    fleet.request.exclude = &fleet.targets[A];
    fleet.request.exclude_len = 1;
    assert_int_equal(fleet_explain(&fleet), B);
    fleet.request.exclude_len = 0;
    fleet_bench(&fleet, A, TEST_S);
    assert_int_equal(fleet_explain(&fleet), B);
    fleet_bench(&fleet, A, 0);
    assert_int_equal(fleet_serve(&fleet), A);
    fleet_drain(&fleet, B, 1);
    assert_int_equal(fleet_serve(&fleet), A);
    expect_rule(&fleet, LBROUTE_RULE_PIPELINE);
    fleet_close(&fleet);
}

/* ---- PI-06 ---- */

enum { PARTS = 4, ORDERS = 24, PICKS = 10 };

/* One part of a configuration: picker, two scorers without a weight of their
 * own (the default again), a filter. */
static void configure(struct fleet *fleet, struct stage *filter, size_t part)
{
    switch (part) {
    case 0:
        fleet_strategy(fleet, "pipeline");
        break;
    case 1:
        fleet_param(fleet, "pipeline.load", 1);
        break;
    case 2:
        fleet_param(fleet, "pipeline.prefix", 1);
        break;
    default:
        stage_register(filter, "filter", LBROUTE_SCORER_FILTER, 1);
    }
}

/* Order number |order| of the parts. */
static void permute(size_t order, size_t parts[PARTS])
{
    for (size_t i = 0; i < PARTS; i++)
        parts[i] = i;
    for (size_t i = PARTS; i > 1; i--) {
        size_t other = order % i;
        size_t part = parts[i - 1];
        parts[i - 1] = parts[other];
        parts[other] = part;
        order /= i;
    }
}

/* Ten picks, of which some share a prompt or a session. */
static void pick_ten(struct fleet *fleet, size_t choices[PICKS])
{
    static const char *const sessions[] = {NULL, "s1", "s2"};
    static const char *const prompts[] = {NULL, "a prompt", "a prompt, longer"};

    for (size_t i = 0; i < PICKS; i++) {
        fleet_session(fleet, sessions[i % 3]);
        fleet_prompt(fleet, prompts[i / 2 % 3]);
        choices[i] = i % 4 ? fleet_serve(fleet) : fleet_pick(fleet);
        assert_true(choices[i] != FLEET_NONE);
    }
}

/* The order of the parts crashed the loader or changed the result. */
static void pi_06_all_orders_of_configuration(void **state)
{
    size_t wanted[PICKS];
    (void)state;

    for (size_t order = 0; order < ORDERS; order++) {
        size_t parts[PARTS], choices[PICKS];
        struct fleet fleet;
        struct stage filter;
        fleet_open(&fleet, "weighted", 4, 1);
        stage_init(&filter, &fleet, 1);
        filter.scores[2] = 0;
        permute(order, parts);
        for (size_t i = 0; i < PARTS; i++)
            configure(&fleet, &filter, parts[i]);
        pick_ten(&fleet, choices);
        assert_int_equal(fleet.picks[2], 0);
        if (order == 0)
            memcpy(wanted, choices, sizeof wanted);
        assert_memory_equal(choices, wanted, sizeof wanted);
        fleet_close(&fleet);
        assert_int_equal(filter.destroyed, 1);
    }
}

/* Any part may be missing, also all scorers and the filter. */
static void pi_06_missing_parts(void **state)
{
    static const char *const names[] = {"pipeline.session", "pipeline.weight",
                                        "pipeline.load", "pipeline.prefix"};
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (size_t set = 0; set < 32; set++) {
            size_t choices[PICKS];
            struct fleet fleet;
            struct stage filter;
            open_pi(&fleet, 4, seed);
            stage_init(&filter, &fleet, 1);
            for (size_t i = 0; i < 4; i++) {
                if (set >> i & 1)
                    fleet_param(&fleet, names[i], 0);
            }
            if (set >> 4)
                stage_register(&filter, "filter", LBROUTE_SCORER_FILTER, 1);
            pick_ten(&fleet, choices);
            expect_rule(&fleet, LBROUTE_RULE_PIPELINE);
            fleet_close(&fleet);
        }
    }
}

/* Without any scorer the choice is by chance inside the window. */
static void pi_06_no_scorer_is_random(void **state)
{
    size_t first[4] = {0};
    (void)state;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct fleet fleet;
        open_pi(&fleet, 5, seed);
        fleet_param(&fleet, "pipeline.session", 0);
        fleet_param(&fleet, "pipeline.weight", 0);
        fleet_param(&fleet, "pipeline.load", 0);
        fleet_param(&fleet, "pipeline.prefix", 0);
        fleet_hold(&fleet, 4, 3); /* outside */
        first[fleet_serve(&fleet)]++;
        assert_near(fleet.decision.score, 0, 0);
        for (size_t i = 1; i < 400; i++)
            assert_true(fleet_serve(&fleet) < 4);
        for (size_t i = 0; i < 4; i++)
            assert_in_range(fleet.picks[i], 65, 135);
        fleet_close(&fleet);
    }
    for (size_t i = 0; i < 4; i++)
        assert_in_range(first[i], 25, 75);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pi_01_burst_on_one_target),
        cmocka_unit_test(pi_01_ties_are_shared),
        cmocka_unit_test(pi_02_lifetime_of_a_pin),
        cmocka_unit_test(pi_02_exact_boundary),
        cmocka_unit_test(pi_03_pin_goes_first),
        cmocka_unit_test(pi_03_against_heavy_scorers),
        cmocka_unit_test(pi_03_light_pin_is_a_preference),
        cmocka_unit_test(pi_03_pin_yields),
        cmocka_unit_test(pi_06_all_orders_of_configuration),
        cmocka_unit_test(pi_06_missing_parts),
        cmocka_unit_test(pi_06_no_scorer_is_random),
    };
    return cmocka_run_group_tests_name("PI", tests, NULL, NULL);
}
