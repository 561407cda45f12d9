/* SPDX-License-Identifier: MIT */
/*
 * Random programs of every call: requests in flight equal open tickets at every
 * step, limits hold, stale handles and bad arguments change nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "prng.h"
#include "program.h"

enum { PROGRAMS = 80, OPERATIONS = 25000 };

/* 80 × 25,000 operations: two million. */
static void counts_match_open_tickets(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++)
        program_run_random(seed, scaled(OPERATIONS));
}

static void many_short_programs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scaled(2000); seed++)
        program_run_random(1000 + seed, 100);
}

/* Close to the end of time (the very last moment means "never") nothing wraps:
 * no ticket expires early, benches and reports hold. */
static void the_end_of_time(void **state)
{
    (void)state;
    const uint64_t end = UINT64_MAX - 1;
    check_context("the end of time", 0);
    lbroute_router *router = api_router(1);
    lbroute_pool pool = api_pool(router, "pool", "least_connections");
    lbroute_target target = api_target(router, pool, "a", 1);
    api_set(router, pool, "health.slow_start", 60);
    lbroute_request request;
    api_request(&request, pool);
    lbroute_decision first;
    lbroute_decision second;
    api_pick(router, &request, end - 1, &first);
    api_gauges(router, target, 3, 0, end - 1);
    api_pick(router, &request, end, &second);
    CHECK_I(lbroute_target_bench(router, target, UINT64_MAX, end), 0);
    lbroute_target_stats stats = api_target_stats(router, target, end);
    CHECK_U(stats.in_flight, 2);
    CHECK_I(stats.benched, 1);
    CHECK_NEAR(stats.others, 2, 1e-9);
    api_settle(router, first.ticket, LBROUTE_EVENT_FAILURE, end);
    api_settle(router, second.ticket, LBROUTE_EVENT_TIMEOUT, end);
    CHECK_U(api_target_stats(router, target, end).in_flight, 0);
    lbroute_router_destroy(router);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_match_open_tickets),
        cmocka_unit_test(many_short_programs),
        cmocka_unit_test(the_end_of_time),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
