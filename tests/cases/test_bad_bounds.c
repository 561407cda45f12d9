/* SPDX-License-Identifier: MIT */
/* Bounds of a router, time that runs backward or to its end, reports that come
 * twice, and pools without a target. */
#include <stdio.h>
#include <string.h>

#include "busy.h"

static void bounded(struct fleet *fleet, const char *strategy)
{
    lbroute_router_options options;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.max_pools = 2;
    options.max_targets = 5;
    options.max_tickets = 8;
    options.max_sessions = 4;
    options.ticket_ttl = 100 * TEST_S;
    fleet_open_options(fleet, &options, strategy);
}

/* A million targets beyond the bound: each is refused, none costs memory, and
 * what is there goes on. */
static void bounds_of_targets(void **state)
{
    struct fleet fleet;
    lbroute_target_options options;
    lbroute_target out = 0;
    size_t bytes;
    char *before, name[32];
    (void)state;

    bounded(&fleet, "round_robin");
    for (size_t i = 0; i < 5; i++)
        fleet_add(&fleet);
    fleet_target_options(&fleet, &options);
    options.name = name;
    before = state_text(fleet.router, 0, STATE_FULL);
    bytes = fleet.alloc.live_bytes;
    for (size_t i = 0; i < 1000000; i++) {
        int len = snprintf(name, sizeof name, "extra-%zu", i);
        options.name_len = (size_t)len;
        assert_int_equal(lbroute_target_add(fleet.router, &options, 0, &out),
                         LBROUTE_ERR_LIMIT);
    }
    assert_int_equal(out, 0);
    assert_int_equal(fleet.alloc.live_bytes, bytes);
    state_check(fleet.router, 0, STATE_FULL, before);
    fleet_expect(&fleet, "ABCDE");
    fleet_remove(&fleet, 2);
    fleet_add_again(&fleet, 2);
    assert_int_equal(fleet_totals(&fleet).targets, 5);
    fleet_close(&fleet);
}

/* Pools beyond the bound. */
static void bounds_of_pools(void **state)
{
    struct fleet fleet;
    lbroute_pool_options options;
    lbroute_pool out = 0;
    char *before, name[32];
    (void)state;

    bounded(&fleet, "weighted");
    fleet_add_pool(&fleet, "second", "random");
    lbroute_pool_options_init(&options, sizeof options);
    options.name = name;
    before = state_text(fleet.router, 0, STATE_FULL);
    for (size_t i = 0; i < 10000; i++) {
        int len = snprintf(name, sizeof name, "extra-%zu", i);
        options.name_len = (size_t)len;
        assert_int_equal(lbroute_pool_add(fleet.router, &options, &out),
                         LBROUTE_ERR_LIMIT);
    }
    assert_int_equal(out, 0);
    state_check(fleet.router, 0, STATE_FULL, before);
    assert_int_equal(lbroute_pool_remove(fleet.router, fleet.pool), LBROUTE_OK);
    fleet_add_pool(&fleet, "third", "random");
    fleet_close(&fleet);
}

static void tickets_beyond_the_bound(const char *strategy)
{
    struct fleet fleet;
    char *before;

    bounded(&fleet, strategy);
    fleet_add_limit(&fleet, 0);
    fleet_add_limit(&fleet, 0);
    for (size_t i = 0; i < 8; i++)
        assert_true(fleet_pick(&fleet) != FLEET_NONE);
    before = state_text(fleet.router, 0, STATE_FULL);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
        assert_int_equal(fleet.code, LBROUTE_ERR_LIMIT);
    }
    state_check(fleet.router, 0, STATE_FULL, before);
    /* Expired tickets make room without being settled. */
    fleet.now = 100 * TEST_S;
    for (size_t i = 0; i < 8; i++)
        assert_true(fleet_pick(&fleet) != FLEET_NONE);
    assert_int_equal(fleet_totals(&fleet).expired, 8);
    fleet_close(&fleet);
}

static void bounds_of_tickets(void **state)
{
    (void)state;
    fleet_for_each_strategy(tickets_beyond_the_bound);
}

/* More sessions than fit: no error, the least recently used pin goes. */
static void bounds_of_sessions(void **state)
{
    struct fleet fleet;
    char session[32];
    size_t home;
    (void)state;

    bounded(&fleet, "sticky_session");
    for (size_t i = 0; i < 3; i++)
        fleet_add(&fleet);
    fleet_session(&fleet, "kept");
    home = fleet_serve(&fleet);
    for (int i = 0; i < 3000; i++) {
        snprintf(session, sizeof session, "passing-%d", i);
        fleet_session(&fleet, session);
        assert_true(fleet_serve(&fleet) != FLEET_NONE);
        assert_true(fleet_totals(&fleet).sessions <= 4);
        fleet_session(&fleet, "kept");
        assert_int_equal(fleet_serve(&fleet), home);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_STICKY_SESSION);
    }
    fleet_close(&fleet);
}

/* A report that comes again, of any kind, is refused and teaches nothing. */
static void bounds_settled_twice(void **state)
{
    struct busy busy;
    (void)state;

    busy_open(&busy, "sticky_session");
    for (int kind = 1; kind < LBROUTE_EVENT_COUNT; kind++) {
        for (int i = 0; i < 3; i++)
            REFUSED(&busy, LBROUTE_ERR_NOT_FOUND,
                    fleet_observe(&busy.fleet, busy.gone_ticket, kind));
    }
    busy_close(&busy);
}

static void empty_pool(const char *strategy)
{
    struct fleet fleet;
    lbroute_decision decision;
    lbroute_share share;
    size_t count = 77;
    char *before;

    fleet_open(&fleet, strategy, 0, 1);
    before = state_text(fleet.router, 0, STATE_WITHOUT_REJECTIONS);
    lbroute_decision_init(&decision, sizeof decision);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(lbroute_explain(fleet.router, &fleet.request, 0,
                                         &decision, NULL, 0, &count),
                         LBROUTE_ERR_NO_TARGET);
        assert_int_equal(count, 0);
        assert_int_equal(decision.reason, LBROUTE_REASON_NO_TARGETS);
        assert_int_equal(
            fleet_totals(&fleet).rejections[LBROUTE_REASON_NO_TARGETS], i);
        assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
        assert_int_equal(fleet.code, LBROUTE_ERR_NO_TARGET);
        assert_int_equal(fleet.decision.candidates, 0);
    }
    lbroute_share_init(&share, sizeof share);
    assert_int_equal(
        lbroute_pool_shares(fleet.router, fleet.pool, 0, &share, 1, &count),
        LBROUTE_OK);
    assert_int_equal(count, 0);
    state_check(fleet.router, 0, STATE_WITHOUT_REJECTIONS, before);
    /* A target that came and went leaves the pool as empty as before. */
    fleet_add(&fleet);
    fleet_serve(&fleet);
    fleet_remove(&fleet, 0);
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.decision.reason, LBROUTE_REASON_NO_TARGETS);
    fleet_close(&fleet);
}

static void bounds_pool_without_target(void **state)
{
    (void)state;
    fleet_for_each_strategy(empty_pool);
}

/* Every call with a time, at a time long past, is like the same call now. */
static void time_backward(const char *strategy)
{
    struct fleet now, past;
    char session[16], *text;

    fleet_open(&now, strategy, 4, 5);
    fleet_open(&past, strategy, 4, 5);
    for (int i = 0; i < 200; i++) {
        struct fleet *both[2] = {&now, &past};
        size_t index[2];
        snprintf(session, sizeof session, "s%d", i % 5);
        now.now = (uint64_t)(i - i % 2) * 20 * TEST_S;
        past.now = i % 2 == 0 ? now.now : (uint64_t)i;
        for (size_t f = 0; f < 2; f++) {
            fleet_session(both[f], i % 3 == 0 ? NULL : session);
            index[f] = fleet_pick(both[f]);
            fleet_gauge(both[f], 1, LBROUTE_GAUGE_RUNNING, i % 7);
            fleet_set_weight(both[f], 2, 1 + i % 3);
            fleet_drain(both[f], 3, i % 4 == 1);
            fleet_bench(both[f], 0, (uint64_t)(i % 2) * TEST_S);
            if (index[f] != FLEET_NONE)
                fleet_settle_last(both[f], 2 + i % 6);
            lbroute_tick(both[f]->router, both[f]->now);
        }
        assert_int_equal(index[0], index[1]);
    }
    text = state_text(now.router, now.now, STATE_FULL);
    state_check(past.router, 0, STATE_FULL, text);
    fleet_close(&now);
    fleet_close(&past);
}

static void bounds_time_backward(void **state)
{
    (void)state;
    fleet_for_each_strategy(time_backward);
}

/* The largest time there is: nothing wraps round, and every slot comes back. */
static void bounds_end_of_time(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    fleet_pick(&fleet);
    fleet.now = UINT64_MAX - 1;
    assert_int_equal(lbroute_tick(fleet.router, fleet.now), LBROUTE_OK);
    assert_int_equal(fleet_totals(&fleet).expired, 1);
    for (int i = 0; i < 10; i++) {
        assert_true(fleet_pick(&fleet) != FLEET_NONE);
        lbroute_tick(fleet.router, fleet.now);
        assert_int_equal(fleet_in_flight(&fleet, 0) +
                             fleet_in_flight(&fleet, 1),
                         fleet_totals(&fleet).open_tickets);
        fleet_bench(&fleet, 1, TEST_H);
        assert_true(fleet_stats(&fleet, 1).bench_left_ns >= 0);
        fleet_gauge(&fleet, 0, LBROUTE_GAUGE_RUNNING, 1);
        fleet.now = UINT64_MAX - (uint64_t)(i % 2);
    }
    for (size_t i = 0; i < 11; i++)
        fleet_observe(&fleet, fleet.held[i].ticket, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_totals(&fleet).open_tickets, 0);
    fleet_close(&fleet);
}

/* Reads of a time to come do not move the clock. */
static void bounds_reads_keep_the_clock(void **state)
{
    struct busy busy;
    lbroute_target_stats stats;
    lbroute_decision decision;
    (void)state;

    busy_open(&busy, "least_connections");
    lbroute_target_stats_init(&stats, sizeof stats);
    lbroute_decision_init(&decision, sizeof decision);
    REFUSED(&busy, LBROUTE_OK,
            lbroute_get_target_stats(busy.fleet.router, busy.fleet.targets[1],
                                     1000 * TEST_H, &stats));
    assert_int_equal(stats.benched, 0);
    REFUSED(&busy, LBROUTE_OK,
            lbroute_explain(busy.fleet.router, &busy.fleet.request,
                            1000 * TEST_H, &decision, NULL, 0, NULL));
    REFUSED(&busy, LBROUTE_OK,
            lbroute_pool_shares(busy.fleet.router, busy.pools[0], 1000 * TEST_H,
                                NULL, 0, NULL));
    busy_close(&busy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_of_targets),
        cmocka_unit_test(bounds_of_pools),
        cmocka_unit_test(bounds_of_tickets),
        cmocka_unit_test(bounds_of_sessions),
        cmocka_unit_test(bounds_settled_twice),
        cmocka_unit_test(bounds_pool_without_target),
        cmocka_unit_test(bounds_time_backward),
        cmocka_unit_test(bounds_end_of_time),
        cmocka_unit_test(bounds_reads_keep_the_clock),
    };
    return cmocka_run_group_tests_name("bad bounds", tests, NULL, NULL);
}
