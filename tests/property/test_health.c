/* SPDX-License-Identifier: MIT */
/*
 * Health: random programs of failures, successes and benches against the naive
 * state machine; benches that are ignored; slow start.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "model.h"
#include "prng.h"

enum { MOST = 8 };

static struct run {
    struct rng rng;
    lbroute_router *router;
    lbroute_pool pool;
    struct model model;
    uint32_t failing[MOST]; /* percent, by place */
} run;

static void start(const char *strategy, uint64_t seed)
{
    check_context(strategy, seed);
    memset(&run, 0, sizeof run);
    rng_seed(&run.rng, seed);
    model_init(&run.model);
    run.router = api_router(seed);
    run.pool = api_pool(run.router, "pool", strategy);
    size_t count = rng_between(&run.rng, 1, MOST);
    lbroute_target targets[MOST];
    api_targets(run.router, run.pool, count, targets);
    for (size_t i = 0; i < count; i++) {
        model_add(&run.model, targets[i], run.pool, 1);
        run.failing[i] = rng_below(&run.rng, 3) * 50;
    }
}

static void set_rules(uint32_t after, uint64_t time, uint64_t most)
{
    run.model.rules.bench_after = after;
    run.model.rules.bench_time = time;
    run.model.rules.bench_max = most;
    api_set(run.router, run.pool, "health.bench_after", after);
    api_set(run.router, run.pool, "health.bench_time", (double)time / 1e9);
    api_set(run.router, run.pool, "health.bench_max", (double)most / 1e9);
}

static int draw_kind(size_t place)
{
    static const int neutral[] = {LBROUTE_EVENT_CLIENT_ERROR,
                                  LBROUTE_EVENT_CANCEL, LBROUTE_EVENT_OVERLOAD};
    if (rng_chance(&run.rng, 15))
        return neutral[rng_below(&run.rng, 3)];
    if (rng_chance(&run.rng, run.failing[place]))
        return rng_chance(&run.rng, 50) ? LBROUTE_EVENT_FAILURE
                                        : LBROUTE_EVENT_TIMEOUT;
    return LBROUTE_EVENT_SUCCESS;
}

static void settle(void)
{
    if (run.model.ticket_count == 0)
        return;
    size_t ticket = rng_below(&run.rng, (uint32_t)run.model.ticket_count);
    int kind =
        draw_kind(model_find(&run.model, run.model.tickets[ticket].target));
    api_settle(run.router, run.model.tickets[ticket].handle, kind,
               run.model.now);
    model_settle(&run.model, ticket, kind);
}

static void pick(void)
{
    struct model_request request;
    struct model_view view;
    lbroute_request asked;
    lbroute_decision decision;
    if (run.model.ticket_count > 40)
        return;
    memset(&request, 0, sizeof request);
    request.pool = run.pool;
    model_look(&run.model, &request, &view);
    model_fill_request(&request, &asked);
    api_pick(run.router, &asked, run.model.now, &decision);
    CHECK_U(decision.eligible, view.eligible);
    CHECK_I(decision.bench_ignored, view.bench_ignored);
    size_t place = model_find(&run.model, decision.target);
    CHECK_I(view.verdicts[place], LBROUTE_REASON_NONE);
    model_pick(&run.model, place, decision.ticket);
}

static void bench(void)
{
    size_t place = rng_below(&run.rng, (uint32_t)run.model.target_count);
    uint64_t duration = rng_below(&run.rng, 6) * 15 * SECOND;
    CHECK_I(lbroute_target_bench(run.router, run.model.targets[place].handle,
                                 duration, run.model.now),
            LBROUTE_OK);
    model_bench(&run.model, place, duration);
}

static void step(void)
{
    if (rng_chance(&run.rng, 25))
        model_advance(&run.model,
                      run.model.now + rng_below(&run.rng, 8) * SECOND);
    if (rng_chance(&run.rng, 3))
        model_advance(&run.model, run.model.now + 60 * SECOND);
    if (rng_chance(&run.rng, 2))
        bench();
    if (rng_chance(&run.rng, 3))
        run.failing[rng_below(&run.rng, MOST)] = rng_below(&run.rng, 3) * 50;
    if (rng_chance(&run.rng, 50))
        pick();
    else
        settle();
    CHECK_I(lbroute_tick(run.router, run.model.now), LBROUTE_OK);
    model_check_counts(&run.model, run.router);
}

static void run_program(const char *strategy, uint64_t seed)
{
    start(strategy, seed);
    if (seed % 3 == 0)
        set_rules((uint32_t)(seed / 3 % 4), seed / 3 % 5 * 5 * SECOND,
                  40 * SECOND);
    for (size_t i = 0; i < scaled(8000); i++) {
        check_step(i);
        step();
    }
    lbroute_router_destroy(run.router);
}

static void random_failures(void **state)
{
    (void)state;
    static const char *const strategies[] = {"weighted", "round_robin",
                                             "random", "least_connections"};
    for (uint64_t seed = 1; seed <= 60; seed++)
        run_program(strategies[seed % 4], seed);
}

/* --- One target's way through the states --------------------------------- */

static lbroute_target_stats stats_at(lbroute_target target, uint64_t now)
{
    return api_target_stats(run.router, target, now);
}

static void start_pair(lbroute_target targets[2])
{
    memset(&run, 0, sizeof run);
    run.router = api_router(1);
    run.pool = api_pool(run.router, "pool", "least_connections");
    api_targets(run.router, run.pool, 2, targets);
}

/* Picks `target` for sure: the other is excluded. */
static lbroute_ticket pick_only(lbroute_target target, lbroute_target other,
                                uint64_t now)
{
    lbroute_request request;
    lbroute_decision decision;
    api_request(&request, run.pool);
    request.exclude = &other;
    request.exclude_len = 1;
    api_pick(run.router, &request, now, &decision);
    CHECK_U(decision.target, target);
    return decision.ticket;
}

/* Benches double from 30 s to 300 s, each after one failed trial; at its
 * deadline the target is back, for one request at a time. */
static void benches_double_up_to_their_maximum(void **state)
{
    (void)state;
    static const uint64_t seconds[] = {30, 60, 120, 240, 300, 300, 300};
    lbroute_target targets[2];
    start_pair(targets);
    lbroute_request request;
    api_request(&request, run.pool);
    uint64_t now = SECOND;
    for (int i = 0; i < 4; i++)
        api_settle(run.router, pick_only(targets[0], targets[1], now),
                   LBROUTE_EVENT_FAILURE, now);
    CHECK_I(stats_at(targets[0], now).benched, 0);
    lbroute_ticket last = pick_only(targets[0], targets[1], now);
    for (size_t i = 0; i < 7; i++) {
        check_context("doubling", i);
        api_settle(run.router, last, LBROUTE_EVENT_FAILURE, now);
        CHECK_I(stats_at(targets[0], now).bench_left_ns, seconds[i] * SECOND);
        CHECK_U(stats_at(targets[0], now).benches_in_row, i + 1);
        now += seconds[i] * SECOND;
        for (int j = 0; j < 4; j++)
            CHECK_U(
                api_serve(run.router, &request, now - 1, LBROUTE_EVENT_SUCCESS),
                targets[1]);
        CHECK_I(stats_at(targets[0], now).benched, 0);
        CHECK_I(stats_at(targets[0], now).on_trial, 1);
        last = pick_only(targets[0], targets[1], now);
        for (int j = 0; j < 4; j++)
            CHECK_U(api_serve(run.router, &request, now, LBROUTE_EVENT_SUCCESS),
                    targets[1]);
    }
    api_settle(run.router, last, LBROUTE_EVENT_SUCCESS, now);
    CHECK_I(stats_at(targets[0], now).on_trial, 0);
    CHECK_U(stats_at(targets[0], now).benches_in_row, 0);
    for (int i = 0; i < 5; i++)
        api_settle(run.router, pick_only(targets[0], targets[1], now),
                   LBROUTE_EVENT_TIMEOUT, now);
    CHECK_I(stats_at(targets[0], now).bench_left_ns, 30 * SECOND);
    lbroute_router_destroy(run.router);
}

/* Whatever fails, a pick never does because of benches alone. */
static void benches_never_empty_a_pool(void **state)
{
    (void)state;
    static const char *strategy;
    for (size_t i = 0; (strategy = lbroute_strategy_name(i)) != NULL; i++) {
        check_context(strategy, 0);
        lbroute_router *router = api_router(1);
        lbroute_pool pool = api_pool(router, "pool", strategy);
        lbroute_target targets[3];
        api_targets(router, pool, 3, targets);
        lbroute_request request;
        lbroute_decision decision;
        api_request(&request, pool);
        api_set_session(&request, "s");
        int ignored = 0;
        for (size_t j = 0; j < 200; j++) {
            check_step(j);
            api_pick(router, &request, j * SECOND / 10, &decision);
            api_settle(router, decision.ticket, LBROUTE_EVENT_FAILURE,
                       j * SECOND / 10);
            ignored += decision.bench_ignored;
        }
        CHECK(ignored > 100);
        lbroute_router_destroy(router);
    }
}

/* --- Slow start ---------------------------------------------------------- */

/* The weight that the ramp promises, give or take one step. */
static void check_ramp(double weight, double now, uint64_t age, uint64_t length)
{
    double part = age >= length ? 1 : (double)age / (double)length;
    double expected = weight * (part < 1.0 / 16 ? 1.0 / 16 : part);
    CHECK_NEAR(now, expected, weight / 16 + 1e-9);
    CHECK(now > weight / 16 - 1e-9 && now <= weight);
    if (age >= length)
        CHECK_SAME(now, weight);
}

static void watch_ramp(lbroute_router *router, lbroute_target target,
                       double weight, uint64_t since, uint64_t length)
{
    double before = 0;
    for (uint64_t age = 0; age <= 2 * length; age += length / 100) {
        check_step(age);
        double now = api_target_stats(router, target, since + age).weight;
        check_ramp(weight, now, age, length);
        CHECK(now >= before);
        before = now;
    }
}

/* New targets ramp up, and those that were drained or benched; others do
 * not. */
static void weights_ramp_up(void **state)
{
    (void)state;
    check_context("slow start", 0);
    const uint64_t length = 10 * SECOND;
    lbroute_router *router = api_router(1);
    lbroute_pool pool = api_pool(router, "pool", "weighted");
    lbroute_target old = api_target(router, pool, "old", 3);
    api_set(router, pool, "health.slow_start", 10);
    lbroute_target_options options;
    lbroute_target target = 0;
    api_target_options(&options, pool, "new", 2.5);
    CHECK_I(lbroute_target_add(router, &options, 20 * SECOND, &target), 0);
    watch_ramp(router, target, 2.5, 20 * SECOND, length);
    CHECK_SAME(api_target_stats(router, old, 20 * SECOND).weight, 3);

    CHECK_I(lbroute_target_drain(router, target, 1, 50 * SECOND), 0);
    CHECK_I(lbroute_target_drain(router, target, 0, 60 * SECOND), 0);
    watch_ramp(router, target, 2.5, 60 * SECOND, length);
    CHECK_I(lbroute_target_set_weight(router, target, 0, 90 * SECOND), 0);
    CHECK_I(lbroute_target_set_weight(router, target, 8, 95 * SECOND), 0);
    watch_ramp(router, target, 8, 95 * SECOND, length);
    CHECK_I(lbroute_target_set_weight(router, target, 4, 200 * SECOND), 0);
    CHECK_SAME(api_target_stats(router, target, 200 * SECOND).weight, 4);

    CHECK_I(lbroute_target_bench(router, target, SECOND, 200 * SECOND), 0);
    lbroute_request request;
    api_request(&request, pool);
    request.exclude = &old;
    request.exclude_len = 1;
    CHECK_U(api_serve(router, &request, 300 * SECOND, LBROUTE_EVENT_SUCCESS),
            target);
    watch_ramp(router, target, 4, 300 * SECOND, length);
    lbroute_router_destroy(router);
}

/* Half-way up the ramp a target gets about half its share. */
static void traffic_follows_the_ramp(void **state)
{
    (void)state;
    check_context("traffic of a slow start", 0);
    lbroute_router *router = api_router(1);
    lbroute_pool pool = api_pool(router, "pool", "weighted");
    lbroute_target old = api_target(router, pool, "old", 1);
    api_set(router, pool, "health.slow_start", 100);
    lbroute_target_options options;
    lbroute_target target = 0;
    api_target_options(&options, pool, "new", 1);
    CHECK_I(lbroute_target_add(router, &options, 100 * SECOND, &target), 0);
    lbroute_request request;
    api_request(&request, pool);
    uint64_t before = 0;
    uint64_t before_old = 0;
    for (uint64_t tenth = 0; tenth < 12; tenth++) {
        uint64_t now = (100 + 10 * tenth + 5) * SECOND;
        for (int i = 0; i < 1000; i++)
            (void)api_serve(router, &request, now, LBROUTE_EVENT_SUCCESS);
        uint64_t picks = api_target_stats(router, target, now).picks;
        uint64_t picks_old = api_target_stats(router, old, now).picks;
        double ratio =
            (double)(picks - before) / (double)(picks_old - before_old);
        double part = tenth >= 10 ? 1 : ((double)tenth + 0.5) / 10;
        CHECK_NEAR(ratio, part, 1.0 / 16 + 0.01);
        before = picks;
        before_old = picks_old;
    }
    lbroute_router_destroy(router);
}

static lbroute_target add_server(lbroute_router *router, lbroute_pool pool,
                                 const char *name, double weight)
{
    lbroute_target_options options;
    lbroute_target target = 0;
    api_target_options(&options, pool, name, weight);
    options.model = "m";
    options.model_len = 1;
    CHECK_I(lbroute_target_add(router, &options, 0, &target), LBROUTE_OK);
    return target;
}

/* A slow start that is set anew is in force from the next pick on, for
 * requests that reach several pools as well. */
static void a_new_ramp_is_in_force_at_once(void **state)
{
    (void)state;
    check_context("a ramp across pools", 0);
    lbroute_router *router = api_router(1);
    lbroute_pool first = api_pool(router, "first", "weighted");
    lbroute_pool second = api_pool(router, "second", "weighted");
    lbroute_target heavy = add_server(router, first, "heavy", 16);
    (void)add_server(router, second, "light", 1);
    lbroute_request request;
    api_request(&request, 0);
    request.model = "m";
    request.model_len = 1;
    (void)api_serve(router, &request, SECOND, LBROUTE_EVENT_SUCCESS);
    api_set(router, first, "health.slow_start", 1000);
    CHECK_SAME(api_target_stats(router, heavy, SECOND).weight, 1);
    int served = 0;
    for (int i = 0; i < 20; i++) {
        lbroute_decision decision;
        api_pick(router, &request, SECOND, &decision);
        CHECK_SAME(decision.weight, 1);
        served += decision.target == heavy;
    }
    CHECK_I(served, 10);
    lbroute_router_destroy(router);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_failures),
        cmocka_unit_test(benches_double_up_to_their_maximum),
        cmocka_unit_test(benches_never_empty_a_pool),
        cmocka_unit_test(weights_ramp_up),
        cmocka_unit_test(traffic_follows_the_ramp),
        cmocka_unit_test(a_new_ramp_is_in_force_at_once),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
