/* SPDX-License-Identifier: MIT */
/*
 * Traffic shares against a naive log of every pick. The window may be cut to
 * within one of its twelve buckets.
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

enum { TARGETS = 5, LOG = 8192, BUCKETS = 12 };

static struct run {
    struct rng rng;
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target targets[TARGETS];
    double weights[TARGETS];
    uint64_t now;
    uint64_t window;
    size_t logged;
    struct {
        uint64_t at;
        lbroute_target target;
    } log[LOG];
} run;

static void start(const char *strategy, uint64_t seed, double seconds)
{
    static const double weights[] = {1, 2, 0.5, 3, 1};
    check_context(strategy, seed);
    memset(&run, 0, sizeof run);
    rng_seed(&run.rng, seed);
    run.router = api_router(seed);
    run.pool = api_pool(run.router, "pool", strategy);
    run.window = (uint64_t)(seconds * 1e9);
    api_set(run.router, run.pool, "shares.window", seconds);
    for (size_t i = 0; i < TARGETS; i++) {
        char name[] = {(char)('a' + i), 0};
        run.weights[i] = weights[i];
        run.targets[i] = api_target(run.router, run.pool, name, weights[i]);
    }
}

static void read_shares(lbroute_share *shares)
{
    size_t count = 0;
    for (size_t i = 0; i < TARGETS; i++)
        lbroute_share_init(&shares[i], sizeof shares[i]);
    CHECK_I(lbroute_pool_shares(run.router, run.pool, run.now, shares, TARGETS,
                                &count),
            LBROUTE_OK);
    CHECK_U(count, TARGETS);
}

static const lbroute_share *share_of(const lbroute_share *shares,
                                     lbroute_target target)
{
    for (size_t i = 0; i < TARGETS; i++) {
        if (shares[i].target == target)
            return &shares[i];
    }
    CHECK(target == 0);
    return shares;
}

/* Requests to a target that are less than `age` old. */
static uint64_t count_since(lbroute_target target, uint64_t age)
{
    uint64_t count = 0;
    for (size_t i = 0; i < run.logged; i++)
        count += run.log[i].target == target && run.now - run.log[i].at < age;
    return count;
}

static void check_counts(const lbroute_share *shares)
{
    uint64_t bucket = run.window / BUCKETS;
    uint64_t total = 0;
    for (size_t i = 0; i < TARGETS; i++)
        total += shares[i].requests;
    for (size_t i = 0; i < TARGETS; i++) {
        const lbroute_share *share = share_of(shares, run.targets[i]);
        CHECK(share->requests >=
              count_since(run.targets[i], run.window - bucket));
        CHECK(share->requests <=
              count_since(run.targets[i], run.window + bucket + 1));
        if (total == 0)
            CHECK(isnan(share->dispatched));
        else
            CHECK_NEAR(share->dispatched,
                       (double)share->requests / (double)total, 1e-12);
    }
}

/* What must hold between the figures of a share, whatever they are. */
static void check_drift(const lbroute_share *shares, int by_weight,
                        int promised)
{
    double total = 0;
    double sum = 0;
    for (size_t i = 0; i < TARGETS; i++) {
        total += (double)shares[i].requests;
        sum += run.weights[i];
    }
    for (size_t i = 0; i < TARGETS; i++) {
        const lbroute_share *share = share_of(shares, run.targets[i]);
        double configured = by_weight ? run.weights[i] / sum : 1.0 / TARGETS;
        CHECK_NEAR(share->configured, configured, 1e-12);
        if (!(total > 0)) {
            CHECK(isnan(share->drift));
            CHECK_I(share->flagged, 0);
            continue;
        }
        double drift = share->dispatched / configured - 1;
        double requests = fabs((double)share->requests - configured * total);
        CHECK_NEAR(share->drift, drift, 1e-9);
        int near_the_edge =
            fabs(fabs(drift) - 0.1) < 1e-9 || fabs(requests - 2) < 1e-9;
        if (!near_the_edge)
            CHECK_I(share->flagged,
                    promised && fabs(drift) > 0.1 && requests > 2);
    }
}

static void serve(void)
{
    lbroute_request request;
    api_request(&request, run.pool);
    if (run.logged == LOG)
        return;
    run.log[run.logged].at = run.now;
    run.log[run.logged++].target =
        api_serve(run.router, &request, run.now, LBROUTE_EVENT_SUCCESS);
}

static void run_program(const char *strategy, uint64_t seed, double seconds,
                        int by_weight, int promised)
{
    start(strategy, seed, seconds);
    for (size_t i = 0; i < scaled(1500); i++) {
        lbroute_share shares[TARGETS];
        check_step(i);
        uint64_t step = run.window / (seed % 3 ? 200 : 10);
        if (rng_chance(&run.rng, 60))
            run.now += rng_next(&run.rng) % (step + 1);
        if (rng_chance(&run.rng, 1))
            run.now += run.window * rng_below(&run.rng, 4) / 2;
        if (rng_chance(&run.rng, 80))
            serve();
        read_shares(shares);
        check_counts(shares);
        check_drift(shares, by_weight, promised);
    }
    lbroute_router_destroy(run.router);
}

static void shares_match_a_log(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        run_program("weighted", seed, 60, 1, 1);
        run_program("round_robin", seed, 60, 0, 1);
        run_program("random", seed, 7.5, 0, 1);
        run_program("least_connections", seed, 60, 1, 0);
        run_program("consistent_hash", seed, 1, 1, 0);
    }
}

/* --- Causes -------------------------------------------------------------- */

static uint32_t causes_of(size_t number)
{
    lbroute_share shares[TARGETS];
    read_shares(shares);
    return share_of(shares, run.targets[number])->causes;
}

static void check_causes(uint32_t expected)
{
    CHECK_U(causes_of(1), expected);
    CHECK_U(causes_of(0), 0);
    CHECK_U(causes_of(TARGETS - 1), 0);
}

/* Limits the second target to so many requests at once. */
static void limit_second(uint32_t limit)
{
    lbroute_target_options options;
    api_target_options(&options, run.pool, "b", run.weights[1]);
    options.max_concurrency = limit;
    CHECK_I(
        lbroute_target_update(run.router, run.targets[1], &options, run.now),
        LBROUTE_OK);
}

/* Sends a request to the second target: all others are excluded. */
static lbroute_ticket pick_second(void)
{
    const lbroute_target others[] = {run.targets[0], run.targets[2],
                                     run.targets[3], run.targets[4]};
    lbroute_request request;
    lbroute_decision decision;
    api_request(&request, run.pool);
    request.exclude = others;
    request.exclude_len = TARGETS - 1;
    api_pick(run.router, &request, run.now, &decision);
    return decision.ticket;
}

/* Brings a cause about for the second target, or ends it: a bench lasts a
 * second and ends with a success. */
static void cause(uint32_t bit, int begin)
{
    static lbroute_ticket held;
    if (bit == LBROUTE_CAUSE_BENCHED && begin)
        CHECK_I(
            lbroute_target_bench(run.router, run.targets[1], SECOND, run.now),
            LBROUTE_OK);
    else if (bit == LBROUTE_CAUSE_BENCHED)
        api_settle(run.router, pick_second(), LBROUTE_EVENT_SUCCESS, run.now);
    if (bit == LBROUTE_CAUSE_DRAINED)
        CHECK_I(
            lbroute_target_drain(run.router, run.targets[1], begin, run.now),
            LBROUTE_OK);
    if (bit == LBROUTE_CAUSE_FULL && begin) {
        limit_second(1);
        held = pick_second();
    } else if (bit == LBROUTE_CAUSE_FULL) {
        api_settle(run.router, held, LBROUTE_EVENT_SUCCESS, run.now);
        limit_second(0);
    }
}

/* Each cause is seen while it holds and for a window afterwards, give or take
 * a bucket; then it is forgotten. */
static void causes_are_seen_and_forgotten(void **state)
{
    (void)state;
    static const uint32_t causes[] = {LBROUTE_CAUSE_BENCHED, LBROUTE_CAUSE_FULL,
                                      LBROUTE_CAUSE_DRAINED};
    for (size_t i = 0; i < 3; i++) {
        start("weighted", causes[i], 60);
        check_causes(0);
        run.now = 100 * SECOND;
        cause(causes[i], 1);
        serve();
        check_causes(causes[i]);
        run.now = 130 * SECOND;
        cause(causes[i], 0);
        serve();
        check_causes(causes[i]);
        run.now = 180 * SECOND;
        serve();
        check_causes(causes[i]);
        run.now = 200 * SECOND;
        check_causes(0);
        lbroute_router_destroy(run.router);
    }
}

/* Time 0 is a time like any other. */
static void causes_at_time_zero_are_seen(void **state)
{
    (void)state;
    static const uint32_t causes[] = {LBROUTE_CAUSE_BENCHED, LBROUTE_CAUSE_FULL,
                                      LBROUTE_CAUSE_DRAINED};
    for (size_t i = 0; i < 3; i++) {
        start("weighted", causes[i], 60);
        cause(causes[i], 1);
        check_causes(causes[i]);
        if (causes[i] == LBROUTE_CAUSE_BENCHED)
            run.now = SECOND;
        cause(causes[i], 0);
        run.now = 10 * SECOND;
        check_causes(causes[i]);
        lbroute_router_destroy(run.router);
    }
}

/* A target that is held back is flagged, with the cause; once all is well the
 * window forgets. */
static void a_benched_target_is_flagged(void **state)
{
    (void)state;
    lbroute_share shares[TARGETS];
    start("weighted", 1, 60);
    CHECK_I(lbroute_target_bench(run.router, run.targets[3], 30 * SECOND, 0),
            LBROUTE_OK);
    for (run.now = 0; run.now < 30 * SECOND; run.now += SECOND / 2)
        serve();
    read_shares(shares);
    const lbroute_share *share = share_of(shares, run.targets[3]);
    CHECK_I(share->flagged, 1);
    CHECK_U(share->causes, LBROUTE_CAUSE_BENCHED);
    CHECK_NEAR(share->drift, -1, 1e-9);
    for (; run.now < 300 * SECOND; run.now += SECOND / 2)
        serve();
    read_shares(shares);
    for (size_t i = 0; i < TARGETS; i++)
        CHECK_I(shares[i].flagged, 0);
    lbroute_router_destroy(run.router);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_match_a_log),
        cmocka_unit_test(causes_are_seen_and_forgotten),
        cmocka_unit_test(causes_at_time_zero_are_seen),
        cmocka_unit_test(a_benched_target_is_flagged),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
