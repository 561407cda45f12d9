/* SPDX-License-Identifier: MIT */
/*
 * The load of a target: own requests and what others run there. Reports that
 * are fresh, fading, missing; the least-busy window; who has the lowest load;
 * ties.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "prng.h"

enum { MOST = 24, OPEN = 128 };

/* --- Random programs with fresh reports ---------------------------------- */

struct load_target {
    lbroute_target handle;
    double weight;
    int gold;
    uint32_t in_flight;
    int known;
    double others;
};

static struct {
    struct rng rng;
    lbroute_router *router;
    lbroute_pool pool;
    uint64_t now;
    size_t count;
    struct load_target targets[MOST];
    size_t open;
    lbroute_ticket tickets[OPEN];
    size_t owners[OPEN];
} fleet;

/* Mean of the known in the pool and tier; 0 without any. */
static double mean_others(int gold)
{
    double sum = 0;
    double known = 0;
    for (size_t i = 0; i < fleet.count; i++) {
        if (fleet.targets[i].gold == gold && fleet.targets[i].known) {
            sum += fleet.targets[i].others;
            known += 1;
        }
    }
    return known > 0 ? sum / known : 0;
}

static double load_of(const struct load_target *target)
{
    double others = target->known ? target->others : mean_others(target->gold);
    return target->in_flight + others;
}

static void add_targets(void)
{
    static const double weights[] = {1, 1, 2, 0.5, 0.1, 3.7};
    fleet.count = rng_between(&fleet.rng, 1, MOST);
    for (size_t i = 0; i < fleet.count; i++) {
        struct load_target *target = &fleet.targets[i];
        target->weight = weights[rng_below(&fleet.rng, 6)];
        target->gold = rng_chance(&fleet.rng, 30);
        char name[32];
        snprintf(name, sizeof name, "t%zu", i);
        lbroute_target_options options;
        api_target_options(&options, fleet.pool, name, target->weight);
        options.tier = target->gold ? "gold" : "";
        options.tier_len = strlen(options.tier);
        CHECK_I(lbroute_target_add(fleet.router, &options, 0, &target->handle),
                LBROUTE_OK);
    }
}

static void report(struct load_target *target)
{
    double running = rng_below(&fleet.rng, 24) / 2.0;
    double waiting = rng_below(&fleet.rng, 8) / 2.0;
    if (rng_chance(&fleet.rng, 20)) {
        target->known = 0;
        api_gauges(fleet.router, target->handle, (double)NAN, (double)NAN,
                   fleet.now);
        return;
    }
    api_gauges(fleet.router, target->handle, running, waiting, fleet.now);
    target->known = 1;
    target->others = running + waiting - target->in_flight;
    if (target->others < 0)
        target->others = 0;
}

static struct load_target *find(lbroute_target handle)
{
    for (size_t i = 0; i < fleet.count; i++) {
        if (fleet.targets[i].handle == handle)
            return &fleet.targets[i];
    }
    CHECK(handle == 0);
    return NULL;
}

/* Everybody's load, the window, and that the decision takes the lowest. */
static void check_explained(const lbroute_candidate *candidates, size_t count,
                            const lbroute_decision *decision, int lowest_wins)
{
    double lowest = HUGE_VAL;
    for (size_t i = 0; i < count; i++) {
        if (candidates[i].verdict == LBROUTE_REASON_NONE &&
            candidates[i].relative_load < lowest)
            lowest = candidates[i].relative_load;
    }
    for (size_t i = 0; i < count; i++) {
        const lbroute_candidate *candidate = &candidates[i];
        const struct load_target *target = find(candidate->target);
        double load = load_of(target);
        CHECK_NEAR(candidate->load, load, 1e-9 * (1 + load));
        CHECK_NEAR(candidate->relative_load, load / target->weight,
                   1e-9 * (1 + load / target->weight));
        if (candidate->verdict == LBROUTE_REASON_NONE)
            CHECK_I(candidate->in_window,
                    !(candidate->relative_load > lowest + 2 &&
                      candidate->relative_load > 1.5 * lowest));
        if (lowest_wins && candidate->target == decision->target)
            CHECK(candidate->relative_load <= lowest);
    }
}

static void pick(int lowest_wins)
{
    lbroute_candidate candidates[MOST];
    lbroute_decision decision;
    lbroute_request request;
    size_t count = 0;
    api_request(&request, fleet.pool);
    request.tier = rng_chance(&fleet.rng, 30) ? "gold" : "";
    request.tier_len = strlen(request.tier);
    int result = api_explain(fleet.router, &request, fleet.now, &decision,
                             candidates, MOST, &count);
    check_explained(candidates, count, &decision, lowest_wins);
    if (result != LBROUTE_OK || fleet.open == OPEN)
        return;
    struct load_target *target = find(decision.target);
    double load = load_of(target);
    api_pick(fleet.router, &request, fleet.now, &decision);
    CHECK_U(decision.target, target->handle);
    CHECK_NEAR(decision.load, load, 1e-9 * (1 + load));
    CHECK_NEAR(decision.score, load / target->weight,
               1e-9 * (1 + load / target->weight));
    fleet.tickets[fleet.open] = decision.ticket;
    fleet.owners[fleet.open++] = (size_t)(target - fleet.targets);
    target->in_flight++;
}

static void settle(void)
{
    if (fleet.open == 0)
        return;
    size_t at = rng_below(&fleet.rng, (uint32_t)fleet.open);
    int kind = rng_chance(&fleet.rng, 50) ? LBROUTE_EVENT_SUCCESS
                                          : LBROUTE_EVENT_CANCEL;
    api_settle(fleet.router, fleet.tickets[at], kind, fleet.now);
    fleet.targets[fleet.owners[at]].in_flight--;
    fleet.open--;
    fleet.tickets[at] = fleet.tickets[fleet.open];
    fleet.owners[at] = fleet.owners[fleet.open];
}

static void check_stats(const struct load_target *target)
{
    lbroute_target_stats stats =
        api_target_stats(fleet.router, target->handle, fleet.now);
    double others = load_of(target) - target->in_flight;
    CHECK_NEAR(stats.others, others, 1e-9 * (1 + others));
    CHECK_NEAR(stats.load, load_of(target), 1e-9 * (1 + load_of(target)));
}

static void start_fleet(const char *strategy, uint64_t seed)
{
    check_context(strategy, seed);
    memset(&fleet, 0, sizeof fleet);
    rng_seed(&fleet.rng, seed);
    fleet.router = api_router(seed);
    fleet.pool = api_pool(fleet.router, "pool", strategy);
    api_set(fleet.router, fleet.pool, "load.signal_ttl", 86400);
    add_targets();
}

static void run_fleet(const char *strategy, uint64_t seed, int lowest_wins)
{
    start_fleet(strategy, seed);
    for (size_t i = 0; i < scaled(2000); i++) {
        check_step(i);
        fleet.now += rng_below(&fleet.rng, 50) * MILLISECOND;
        struct load_target *target =
            &fleet.targets[rng_below(&fleet.rng, (uint32_t)fleet.count)];
        if (rng_chance(&fleet.rng, 20))
            report(target);
        check_stats(target);
        if (rng_chance(&fleet.rng, 55))
            pick(lowest_wins);
        else
            settle();
    }
    lbroute_router_destroy(fleet.router);
}

static void the_lowest_relative_load_wins(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        run_fleet("least_connections", seed, 1);
}

static void power_of_two_sees_the_same_loads(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        run_fleet("power_of_two", seed, 0);
}

/* --- Reports that grow old ----------------------------------------------- */

static double others_at(lbroute_router *router, lbroute_target target,
                        uint64_t now)
{
    return api_target_stats(router, target, now).others;
}

/* How much a report still counts: all for one TTL, then less and less. */
static double trust_at(uint64_t age, uint64_t ttl)
{
    if (age <= ttl)
        return 1;
    return age >= 2 * ttl ? 0 : 2 - (double)age / (double)ttl;
}

/* An old report of 20 fades to the fresh one of 4 that everybody else gave.
 * The mean itself may count the fading report or not: both are allowed. */
static void old_reports_fade_to_the_mean(void **state)
{
    (void)state;
    check_context("fading", 0);
    const uint64_t ttl = 10 * SECOND;
    lbroute_router *router = api_router(1);
    lbroute_pool pool = api_pool(router, "pool", "least_connections");
    lbroute_target targets[4];
    api_targets(router, pool, 4, targets);
    api_gauges(router, targets[0], 15, 5, 0);
    double before = 20;
    for (uint64_t now = 0; now <= 3 * ttl; now += ttl / 64) {
        check_step(now / (ttl / 64));
        for (int i = 1; i < 4; i++)
            api_gauges(router, targets[i], 4, 0, now);
        double trust = trust_at(now, ttl);
        double others = others_at(router, targets[0], now);
        double low = 20 * trust + 4 * (1 - trust) - 16.0 / 16;
        double high = 20 * trust + 8 * (1 - trust) + 16.0 / 16;
        if (now <= ttl)
            CHECK_NEAR(others, 20, 1e-9);
        if (now >= 2 * ttl)
            CHECK_NEAR(others, 4, 1e-9);
        CHECK(others >= low - 1e-9 && others <= high + 1e-9);
        CHECK(others <= before + 1e-9);
        before = others;
    }
    lbroute_router_destroy(router);
}

/* Without any report that still counts, others are taken to run nothing; the
 * gauges themselves are unknown. */
static void without_reports_there_are_no_others(void **state)
{
    (void)state;
    check_context("nothing known", 0);
    lbroute_router *router = api_router(1);
    lbroute_pool pool = api_pool(router, "pool", "least_connections");
    lbroute_target targets[2];
    api_targets(router, pool, 2, targets);
    CHECK_NEAR(others_at(router, targets[0], 0), 0, 0);
    api_gauges(router, targets[0], 6, 3, SECOND);
    CHECK_NEAR(others_at(router, targets[0], SECOND), 9, 1e-9);
    CHECK_NEAR(others_at(router, targets[1], SECOND), 9, 1e-9);

    lbroute_target_stats stats =
        api_target_stats(router, targets[0], 30 * SECOND);
    CHECK_NEAR(stats.others, 0, 0);
    CHECK(isnan(stats.gauges[LBROUTE_GAUGE_RUNNING]));
    CHECK_I(stats.gauge_age_ns[LBROUTE_GAUGE_RUNNING], 29 * SECOND);
    CHECK_I(stats.gauge_age_ns[LBROUTE_GAUGE_KV_USAGE], -1);
    CHECK(isnan(stats.gauges[LBROUTE_GAUGE_KV_USAGE]));
    lbroute_router_destroy(router);
}

/* Reports of a target that is in no pool grow old as well. */
static void reports_without_a_pool_grow_old(void **state)
{
    (void)state;
    check_context("no pool", 0);
    lbroute_router *router = api_router(1);
    lbroute_target_options options;
    lbroute_target target = 0;
    api_target_options(&options, 0, "a", 1);
    options.model = "m";
    options.model_len = 1;
    CHECK_I(lbroute_target_add(router, &options, 0, &target), LBROUTE_OK);
    api_gauges(router, target, 4, 2, 0);
    lbroute_request request;
    api_request(&request, 0);
    request.model = "m";
    request.model_len = 1;
    double before = 6;
    for (uint64_t now = 0; now <= 40 * SECOND; now += SECOND / 2) {
        lbroute_decision decision;
        check_step(now);
        api_pick(router, &request, now, &decision);
        api_settle(router, decision.ticket, LBROUTE_EVENT_CANCEL, now);
        CHECK_NEAR(decision.load, 6 * trust_at(now, 10 * SECOND), 6.0 / 16);
        CHECK(decision.load <= before);
        CHECK_NEAR(decision.load, others_at(router, target, now), 1e-9);
        before = decision.load;
    }
    lbroute_router_destroy(router);
}

/* A TTL that is set anew holds for the next pick. */
static void the_ttl_is_a_parameter(void **state)
{
    (void)state;
    check_context("another TTL", 0);
    lbroute_router *router = api_router(1);
    lbroute_pool pool = api_pool(router, "pool", "least_connections");
    lbroute_target targets[2];
    api_targets(router, pool, 2, targets);
    api_gauges(router, targets[0], 8, 0, 0);
    api_gauges(router, targets[1], 0, 0, 0);
    CHECK_NEAR(others_at(router, targets[0], 3 * SECOND), 8, 1e-9);
    api_set(router, pool, "load.signal_ttl", 1);
    CHECK_NEAR(others_at(router, targets[0], 3 * SECOND), 0, 0);

    lbroute_request request;
    lbroute_decision decision;
    api_request(&request, pool);
    api_pick(router, &request, 3 * SECOND, &decision);
    CHECK_NEAR(decision.load, 0, 0);
    lbroute_router_destroy(router);
}

/* Requests that were in flight at the scrape are not counted twice, and those
 * picked since are added. */
static void own_requests_count_once(void **state)
{
    (void)state;
    check_context("own requests", 0);
    lbroute_router *router = api_router(1);
    lbroute_pool pool = api_pool(router, "pool", "least_connections");
    lbroute_target target = api_target(router, pool, "a", 1);
    lbroute_request request;
    lbroute_decision decisions[5];
    api_request(&request, pool);
    for (int i = 0; i < 3; i++)
        api_pick(router, &request, 0, &decisions[i]);
    api_gauges(router, target, 4, 1, 0);
    CHECK_NEAR(api_target_stats(router, target, 0).others, 2, 1e-9);
    api_pick(router, &request, 0, &decisions[3]);
    CHECK_NEAR(api_target_stats(router, target, 0).load, 6, 1e-9);
    for (int i = 0; i < 4; i++)
        api_settle(router, decisions[i].ticket, LBROUTE_EVENT_SUCCESS, 0);
    CHECK_NEAR(api_target_stats(router, target, 0).load, 2, 1e-9);
    api_pick(router, &request, 0, &decisions[4]);
    api_gauges(router, target, 0, 0, 0);
    CHECK_NEAR(api_target_stats(router, target, 0).load, 1, 1e-9);
    lbroute_router_destroy(router);
}

/* "I am full" raises the load while fresh, whatever the strategy's count says,
 * and never benches. */
static void overload_raises_the_load_for_a_while(void **state)
{
    (void)state;
    check_context("overload", 0);
    lbroute_router *router = api_router(1);
    lbroute_pool pool = api_pool(router, "pool", "least_connections");
    lbroute_target targets[3];
    api_targets(router, pool, 3, targets);
    lbroute_request request;
    api_request(&request, pool);
    lbroute_target full = 0;
    for (int i = 0; i < 10; i++)
        full = api_serve(router, &request, 0, LBROUTE_EVENT_CANCEL);
    full = api_serve(router, &request, SECOND, LBROUTE_EVENT_OVERLOAD);
    lbroute_target_stats stats = api_target_stats(router, full, SECOND);
    CHECK(stats.load > stats.in_flight + 1e-3);
    CHECK_I(stats.benched, 0);
    for (int i = 0; i < 50; i++)
        CHECK(api_serve(router, &request, 2 * SECOND, LBROUTE_EVENT_CANCEL) !=
              full);
    stats = api_target_stats(router, full, 21 * SECOND);
    CHECK_NEAR(stats.load, 0, 1e-9);
    int served = 0;
    for (int i = 0; i < 3; i++)
        served += api_serve(router, &request, 21 * SECOND,
                            LBROUTE_EVENT_CANCEL) == full;
    CHECK_I(served, 1);
    lbroute_router_destroy(router);
}

/* A target that refuses one of n requests then counts as about twice as busy;
 * this fades like any report. */
static void overload_doubles_the_load(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 9; n += 2) {
        check_context("overload", n);
        lbroute_router *router = api_router(1);
        lbroute_pool pool = api_pool(router, "pool", "least_connections");
        lbroute_target target = api_target(router, pool, "a", 1);
        lbroute_request request;
        lbroute_decision decision;
        api_request(&request, pool);
        for (uint32_t i = 0; i < n; i++)
            api_pick(router, &request, 0, &decision);
        api_settle(router, decision.ticket, LBROUTE_EVENT_OVERLOAD, 0);
        double load = api_target_stats(router, target, 0).load;
        CHECK(load > 2.0 * n - 2 && load <= 2 * n);
        for (uint64_t now = 0; now <= 30 * SECOND; now += SECOND) {
            double trust = trust_at(now, 10 * SECOND);
            double expected = n - 1 + trust * (load - (n - 1));
            CHECK_NEAR(api_target_stats(router, target, now).load, expected,
                       n / 16.0 + 1e-9);
        }
        lbroute_router_destroy(router);
    }
}

/* --- Ties ---------------------------------------------------------------- */

/* Among `tied` targets of equal load each serves once before any serves
 * again; the other targets are busier, the last may be excluded as well. */
static void check_rounds(uint64_t seed, size_t count, size_t tied,
                         size_t excluded)
{
    check_context("ties", seed);
    lbroute_router *router = api_router(seed);
    lbroute_pool pool = api_pool(router, "pool", "least_connections");
    lbroute_target targets[MOST];
    api_targets(router, pool, count, targets);
    for (size_t i = 0; i < count; i++)
        api_gauges(router, targets[i], i < tied ? 1 : 5, 0, 0);
    lbroute_request request;
    api_request(&request, pool);
    request.exclude = &targets[count - 1];
    request.exclude_len = excluded;
    for (size_t round = 0; round < 20; round++) {
        for (size_t i = 0; i < tied; i++)
            (void)api_serve(router, &request, 0, LBROUTE_EVENT_CANCEL);
        for (size_t i = 0; i < count; i++)
            CHECK_U(api_target_stats(router, targets[i], 0).picks,
                    i < tied ? round + 1 : 0);
    }
    lbroute_router_destroy(router);
}

static void ties_are_drawn_without_replacement(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        check_rounds(seed, 2, 2, 0);
        check_rounds(seed, 5, 5, 0);
        check_rounds(seed, 9, 3, 0);
        check_rounds(seed, 9, 3, 1);
        check_rounds(seed, MOST, MOST - 1, 0);
        check_rounds(seed, MOST, MOST - 1, 1);
    }
}

/* Held requests spread evenly, relative to weight: nobody is ever busier than
 * one request above anybody else's level. */
static void bursts_spread_by_weight(void **state)
{
    (void)state;
    static const double weights[] = {1, 2, 4, 0.5};
    for (uint64_t seed = 1; seed <= 10; seed++) {
        check_context("bursts", seed);
        lbroute_router *router = api_router(seed);
        lbroute_pool pool = api_pool(router, "pool", "least_connections");
        lbroute_target targets[4];
        for (int i = 0; i < 4; i++) {
            char name[] = {(char)('a' + i), 0};
            targets[i] = api_target(router, pool, name, weights[i]);
        }
        lbroute_request request;
        lbroute_decision decision;
        api_request(&request, pool);
        for (int i = 0; i < 750; i++)
            api_pick(router, &request, 0, &decision);
        for (int i = 0; i < 4; i++)
            CHECK_NEAR(api_target_stats(router, targets[i], 0).in_flight,
                       100 * weights[i], weights[i] < 1 ? 1 : weights[i]);
        lbroute_router_destroy(router);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lowest_relative_load_wins),
        cmocka_unit_test(power_of_two_sees_the_same_loads),
        cmocka_unit_test(old_reports_fade_to_the_mean),
        cmocka_unit_test(without_reports_there_are_no_others),
        cmocka_unit_test(reports_without_a_pool_grow_old),
        cmocka_unit_test(the_ttl_is_a_parameter),
        cmocka_unit_test(own_requests_count_once),
        cmocka_unit_test(overload_raises_the_load_for_a_while),
        cmocka_unit_test(overload_doubles_the_load),
        cmocka_unit_test(ties_are_drawn_without_replacement),
        cmocka_unit_test(bursts_spread_by_weight),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
