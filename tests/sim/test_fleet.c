/* SPDX-License-Identifier: MIT */
/* Router and engines together in virtual time. The engine is 8b-rtxpro6000
 * unless the case says otherwise. */
#include <string.h>

#include "replay/fleet.h"
#include "replay/measure.h"

#include "support/test.h"

struct fixture {
    struct workload work;
    struct fleet_spec fleet;
    struct fleet_options options;
    struct fleet_log log;
};

static int set_up(void **state)
{
    static struct fixture fixture;

    memset(&fixture, 0, sizeof fixture);
    workload_init(&fixture.work, 16);
    fixture.options.host.strategy = "weighted";
    fixture.options.host.seed = 1;
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    fleet_log_release(&fixture->log);
    fleet_spec_release(&fixture->fleet);
    workload_release(&fixture->work);
    return 0;
}

static void add(struct fixture *fixture, double at_s, uint32_t follows,
                uint32_t input, uint32_t output)
{
    struct work_request request = {.at_s = at_s,
                                   .follows = follows,
                                   .input_tokens = input,
                                   .output_tokens = output};
    struct work_content content = {NULL, 0, NULL, 0};

    workload_add(&fixture->work, &request, &content);
}

static void parse_fleet(struct fixture *fixture, const char *text)
{
    struct fleet_defaults defaults = {engine_spec_at(0), 0, 0};
    char error[256];

    assert_true(fleet_spec_parse(text, &defaults, &fixture->fleet, error,
                                 sizeof error));
}

static const struct fleet_outcome *run(struct fixture *fixture,
                                       const char *fleet)
{
    parse_fleet(fixture, fleet);
    fixture->options.host.fleet = &fixture->fleet;
    fixture->options.host.max_requests = fixture->work.count;
    fleet_run(&fixture->work, &fixture->options, &fixture->log);
    return fixture->log.outcomes;
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void lists_of_targets(void **state)
{
    struct fixture *fixture = *state;
    const struct fleet_target *targets;

    parse_fleet(fixture, "2x8b-rtx4090,32b-2xrtxpro6000@2.5:64,8b-rtx4090:0");
    targets = fixture->fleet.targets;
    assert_int_equal(fixture->fleet.count, 4);
    assert_string_equal(targets[0].name, "8b-rtx4090-1");
    assert_string_equal(targets[1].name, "8b-rtx4090-2");
    assert_string_equal(targets[2].name, "32b-2xrtxpro6000-1");
    assert_string_equal(targets[3].name, "8b-rtx4090-3");
    assert_near(targets[0].weight, 1.0, 0.0);
    assert_near(targets[2].weight, 2.5, 0.0);
    assert_int_equal(targets[2].limit, 64);
    assert_int_equal(targets[0].cache_tokens, 41408);
}

/* A prefill of 100 tokens and a decode on 101 tokens of context, by the figures
 * of the engine. */
static void one_request(void **state)
{
    struct fixture *fixture = *state;
    double prefill = 9.69 + 0.0514 * 100 + 0.57e-6 * 100 * 50 + 0.035;
    double decode = 9.69 + 92e-6 * 101 + 0.035;
    const struct fleet_outcome *outcome;

    add(fixture, 2.0, WORK_FOLLOWS_NONE, 100, 2);
    outcome = run(fixture, "3");
    assert_near(ms(outcome->arrived), 2000.0, 1e-6);
    assert_near(ms(outcome->dispatched), 2000.0, 1e-6);
    assert_near(ms(outcome->first_token), 2000.0 + prefill, 1e-5);
    assert_near(ms(outcome->last_token), 2000.0 + prefill + decode, 1e-5);
    assert_near(ms(fixture->log.targets[outcome->target].busy_ns),
                prefill + decode, 1e-5);
    assert_false(outcome->waited);
}

static void followers_think_after_the_answer(void **state)
{
    struct fixture *fixture = *state;
    const struct fleet_outcome *outcomes;

    add(fixture, 1.0, WORK_FOLLOWS_NONE, 5000, 50);
    add(fixture, 7.5, 0, 100, 2);
    add(fixture, 0.0, 0, 100, 2);
    add(fixture, 1.0, 2, 100, 2);
    outcomes = run(fixture, "1");
    assert_near(ms(outcomes[1].arrived), ms(outcomes[0].last_token) + 7500.0,
                1e-6);
    assert_near(ms(outcomes[2].arrived), ms(outcomes[0].last_token), 1e-6);
    assert_near(ms(outcomes[3].arrived), ms(outcomes[2].last_token) + 1000.0,
                1e-6);
    assert_int_equal(fixture->log.arrivals[1], 2);
    assert_int_equal(fixture->log.arrivals[3], 1);
}

/* One place: whoever comes second waits at the host until the first is done,
 * and nobody overtakes. */
static void full_targets_make_the_host_wait(void **state)
{
    struct fixture *fixture = *state;
    const struct fleet_outcome *outcomes;

    for (int i = 0; i < 5; i++)
        add(fixture, 0.001 * i, WORK_FOLLOWS_NONE, 100, 5);
    outcomes = run(fixture, "8b-rtxpro6000:1");
    assert_false(outcomes[0].waited);
    for (int i = 1; i < 5; i++) {
        assert_true(outcomes[i].waited);
        assert_int_equal(outcomes[i].dispatched, outcomes[i - 1].last_token);
    }
}

static void shares_follow_weights(void **state)
{
    struct fixture *fixture = *state;
    const struct fleet_outcome *outcomes;
    int heavy = 0;

    for (int i = 0; i < 400; i++)
        add(fixture, 0.05 * i, WORK_FOLLOWS_NONE, 100, 5);
    outcomes = run(fixture, "8b-a100@3,8b-a100");
    for (int i = 0; i < 400; i++)
        heavy += outcomes[i].target == 0;
    assert_int_equal(heavy, 300);
}

/* The router is told how busy the engines are: a scrape finds what it did not
 * send itself. Here it sent everything, so nothing changes. */
static void scrapes_do_not_count_twice(void **state)
{
    struct fixture *fixture = *state;
    uint32_t without[200];
    const struct fleet_outcome *outcomes;

    fixture->options.host.strategy = "least_connections";
    for (int i = 0; i < 200; i++)
        add(fixture, 0.02 * i, WORK_FOLLOWS_NONE, 500 + 100 * ((uint32_t)i % 7),
            40);
    outcomes = run(fixture, "4");
    for (int i = 0; i < 200; i++)
        without[i] = outcomes[i].target;
    fleet_log_release(&fixture->log);
    fleet_spec_release(&fixture->fleet);
    fixture->options.scrape_s = 0.5;
    outcomes = run(fixture, "4");
    for (int i = 0; i < 200; i++)
        assert_int_equal(outcomes[i].target, without[i]);
}

/* The router reads the text of prompts: whoever has seen one gets it again,
 * whatever the ids of its blocks. */
static void the_router_is_given_the_text(void **state)
{
    enum { PROMPTS = 8, TURNS = 40 };
    struct fixture *fixture = *state;
    struct work_request request = {.follows = WORK_FOLLOWS_NONE,
                                   .input_tokens = 64,
                                   .output_tokens = 1,
                                   .text_length = 256};
    struct work_content content = {NULL, 0, NULL, 0};
    const struct fleet_outcome *outcomes;
    char text[256];

    for (int i = 0; i < TURNS; i++) {
        request.at_s = i;
        memset(text, 'a' + i % PROMPTS, sizeof text);
        request.text_at = workload_add_text(&fixture->work, text, sizeof text);
        workload_add(&fixture->work, &request, &content);
    }
    fixture->options.host.strategy = "cache_aware";
    outcomes = run(fixture, "3");
    for (int i = PROMPTS; i < TURNS; i++)
        assert_int_equal(outcomes[i].target, outcomes[i % PROMPTS].target);
}

/* Ten requests of growing length, one at a time: percentiles are nearest
 * rank. */
static void measures(void **state)
{
    struct fixture *fixture = *state;
    struct replay_result result = {.slo_ttft_ms = 1e9, .slo_tpot_ms = 1e9};
    const struct fleet_outcome *outcomes;
    uint32_t dispatched = 0;
    double sum = 0.0;

    for (int i = 0; i < 10; i++)
        add(fixture, i, WORK_FOLLOWS_NONE, 160 * ((uint32_t)i + 1),
            i < 2 ? 1 : 9);
    outcomes = run(fixture, "1");
    measure_run(&fixture->work, &fixture->fleet, &fixture->log, &result);
    for (int i = 0; i < 10; i++)
        sum += ms(outcomes[i].first_token - outcomes[i].arrived);
    assert_int_equal(result.requests, 10);
    assert_int_equal(result.rejected, 0);
    assert_near(result.ttft_ms.mean, sum / 10.0, 1e-9);
    assert_near(result.ttft_ms.p50,
                ms(outcomes[4].first_token - outcomes[4].arrived), 1e-9);
    assert_near(result.ttft_ms.p90,
                ms(outcomes[8].first_token - outcomes[8].arrived), 1e-9);
    assert_near(result.ttft_ms.p99,
                ms(outcomes[9].first_token - outcomes[9].arrived), 1e-9);
    assert_near(result.tpot_ms.p99,
                ms(outcomes[9].last_token - outcomes[9].first_token) / 8.0,
                1e-9);
    assert_near(result.goodput, 1.0, 0.0);
    assert_near(result.busiest_over_mean, 1.0, 0.0);
    assert_near(result.hit_share, 0.0, 0.0);
    assert_near(result.duration_s, ms(outcomes[9].last_token) / 1e3, 1e-9);
    assert_int_equal(result.targets[0].requests, 10);
    assert_int_equal(result.targets[0].work_tokens, 160 * 55);
    assert_int_equal(result.targets[0].dispatched[0], 1);
    for (int i = 0; i < REPLAY_BUCKETS; i++)
        dispatched += result.targets[0].dispatched[i];
    assert_int_equal(dispatched, 10);
    measure_release(&result);
}

/* A prompt of four blocks, twice, on two targets: neither finds anything, one
 * pooled cache would find three blocks of the second (its last token is always
 * computed). */
static void the_pooled_cache_is_the_mark(void **state)
{
    struct fixture *fixture = *state;
    struct work_request request = {
        .follows = WORK_FOLLOWS_NONE, .input_tokens = 64, .output_tokens = 1};
    uint32_t ids[4];
    struct work_content content = {ids, 4, NULL, 0};
    struct replay_result result = {.slo_ttft_ms = 1e9, .slo_tpot_ms = 1e9};

    for (int i = 0; i < 4; i++)
        ids[i] = workload_fresh_id(&fixture->work);
    workload_add(&fixture->work, &request, &content);
    request.at_s = 10.0;
    workload_add(&fixture->work, &request, &content);
    fixture->options.host.strategy = "round_robin";
    run(fixture, "2");
    measure_run(&fixture->work, &fixture->fleet, &fixture->log, &result);
    assert_near(result.hit_share, 0.0, 0.0);
    assert_near(result.pooled_hit_share, 48.0 / 128.0, 1e-12);
    measure_release(&result);
}

/* Two targets, the second with three times the weight of the first, without a
 * hit: 100 tokens of input each; of output 5 for every fourth and 45 for the
 * others. */
static void busy_is_by_weight_and_kind_of_token(void **state)
{
    struct fixture *fixture = *state;
    struct replay_result result = {.slo_ttft_ms = 1e9, .slo_tpot_ms = 1e9};
    const struct fleet_outcome *outcomes;
    uint32_t outputs[2] = {0, 0};
    double work[2];

    for (int i = 0; i < 8; i++)
        add(fixture, 5.0 * i, WORK_FOLLOWS_NONE, 100, i % 4 == 0 ? 5 : 45);
    outcomes = run(fixture, "8b-rtxpro6000,8b-rtxpro6000@3");
    measure_run(&fixture->work, &fixture->fleet, &fixture->log, &result);
    for (int i = 0; i < 8; i++)
        outputs[outcomes[i].target] += i % 4 == 0 ? 5 : 45;
    work[0] = 200.0 + outputs[0];
    work[1] = (600.0 + outputs[1]) / 3.0;
    assert_int_equal(result.targets[0].output_tokens, outputs[0]);
    assert_int_equal(result.targets[1].output_tokens, outputs[1]);
    assert_near(result.busiest_over_mean, 1.0, 1e-12);
    assert_true(work[0] != work[1]);
    assert_near(result.busiest_work_over_mean,
                2.0 * (work[0] > work[1] ? work[0] : work[1]) /
                    (work[0] + work[1]),
                1e-12);
    measure_release(&result);
}

#define FLEET_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FLEET_TEST(lists_of_targets),
        FLEET_TEST(one_request),
        FLEET_TEST(followers_think_after_the_answer),
        FLEET_TEST(full_targets_make_the_host_wait),
        FLEET_TEST(shares_follow_weights),
        FLEET_TEST(scrapes_do_not_count_twice),
        FLEET_TEST(the_router_is_given_the_text),
        FLEET_TEST(measures),
        FLEET_TEST(the_pooled_cache_is_the_mark),
        FLEET_TEST(busy_is_by_weight_and_kind_of_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
