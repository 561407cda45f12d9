/* SPDX-License-Identifier: MIT */
/* Field reports DR: weight 0 and drain. */
#include <stdio.h>
#include <string.h>

#include "support/fleet.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

/* Makes |n| picks of many sessions, served at once. */
static void serve_sessions(struct fleet *fleet, size_t n)
{
    char session[32];

    for (size_t i = 0; i < n; i++) {
        snprintf(session, sizeof session, "session-%zu", i);
        fleet_session(fleet, i % 5 == 0 ? NULL : session);
        assert_true(fleet_serve(fleet) != FLEET_NONE);
    }
    fleet_session(fleet, NULL);
}

/* Makes one target look idle and the others busy by every signal. */
static void make_attractive(struct fleet *fleet, size_t index)
{
    for (size_t i = 0; i < fleet->count; i++) {
        int busy = i != index;
        fleet_gauge(fleet, i, LBROUTE_GAUGE_RUNNING, busy ? 40 : 0);
        fleet_gauge(fleet, i, LBROUTE_GAUGE_WAITING, busy ? 10 : 0);
        fleet_gauge(fleet, i, LBROUTE_GAUGE_KV_USAGE, busy ? 0.95 : 0);
        if (busy)
            fleet_hold(fleet, i, 20);
    }
}

/* ---- the reported cases ---- */

static void weight_zero_gets_nothing(const char *strategy)
{
    static const double weights[3] = {100, 100, 0};
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    for (size_t i = 0; i < 3; i++)
        fleet_add_weight(&fleet, weights[i]);
    make_attractive(&fleet, C);
    serve_sessions(&fleet, 400);
    assert_int_equal(fleet.picks[C], 0);
    assert_int_equal(fleet.picks[A] + fleet.picks[B], 400);
    fleet_close(&fleet);
}

/* A weight of zero was taken for "not set" and became the smallest. */
static void dr_01_weight_zero_behaves_like_one(void **state)
{
    lbroute_target_options options;
    lbroute_target_info info;
    struct fleet fleet;
    (void)state;

    fleet_for_each_strategy(weight_zero_gets_nothing);

    /* Not set is 1; an explicit 0 stays 0. */
    fleet_open(&fleet, "weighted", 0, 1);
    fleet_target_options(&fleet, &options);
    assert_near(options.weight, 1, 0);
    lbroute_target_info_init(&info, sizeof info);
    fleet_add(&fleet);
    fleet_add_weight(&fleet, 0);
    lbroute_target_get_info(fleet.router, fleet.targets[0], &info);
    assert_near(info.weight, 1, 0);
    lbroute_target_get_info(fleet.router, fleet.targets[1], &info);
    assert_near(info.weight, 0, 0);
    fleet_close(&fleet);
}

static void drain_is_immediate(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 2, 1);
    serve_sessions(&fleet, 10);
    fleet_session(&fleet, "s1");
    fleet_prompt(&fleet, "a prompt that B has seen");
    fleet_send(&fleet, B, LBROUTE_EVENT_SUCCESS);
    fleet_hold(&fleet, B, 3);
    fleet_set_weight(&fleet, B, 0);
    fleet_reset_picks(&fleet);
    for (size_t i = 0; i < 1000; i++) {
        fleet_session(&fleet, i % 2 == 0 ? "s1" : NULL);
        assert_int_equal(fleet_serve(&fleet), A);
    }
    for (uint32_t left = 3; left > 0; left--) {
        assert_int_equal(fleet_in_flight(&fleet, B), left);
        fleet_settle(&fleet, B, LBROUTE_EVENT_SUCCESS);
    }
    assert_int_equal(fleet_in_flight(&fleet, B), 0);
    fleet_close(&fleet);
}

/* A cached choice kept the drained node busy for a minute. */
static void dr_03_traffic_after_drain(void **state)
{
    (void)state;
    fleet_for_each_strategy(drain_is_immediate);
}

/* A session whose key the ring gives to |owner|. */
static void find_session(struct fleet *fleet, size_t owner, char session[32])
{
    for (int i = 0; i < 1000; i++) {
        snprintf(session, 32, "s%d", i);
        fleet_session(fleet, session);
        if (fleet_explain(fleet) == owner)
            return;
    }
    fail_msg("no session of target %zu found", owner);
}

/* Serves five requests with |rule|, none of them on |not_on|. */
static void serve_five(struct fleet *fleet, size_t not_on, const char *rule)
{
    for (int i = 0; i < 5; i++) {
        assert_true(fleet_pick(fleet) != not_on);
        assert_string_equal(lbroute_rule_name(fleet->decision.rule), rule);
    }
}

/* Serves five requests with |rule|, all of them on |on|. */
static void serve_five_on(struct fleet *fleet, size_t on, const char *rule)
{
    for (int i = 0; i < 5; i++) {
        assert_int_equal(fleet_serve(fleet), on);
        assert_string_equal(lbroute_rule_name(fleet->decision.rule), rule);
    }
}

/* Under cache_aware the pin, and then the prompt that A has seen, lead away
 * from it while it drains. */
static void drain_pinned_and_warm(void)
{
    struct fleet fleet;
    size_t moved;

    fleet_open(&fleet, "cache_aware", 3, 1);
    fleet_prompt(&fleet, "a prompt that A has seen");
    fleet_session(&fleet, "s1");
    fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    serve_five_on(&fleet, A, "sticky_session");
    fleet_set_weight(&fleet, A, 0);
    moved = fleet_pick(&fleet);
    assert_true(moved != A);
    assert_string_equal(lbroute_rule_name(fleet.decision.rule), "least_warmed");
    assert_int_equal(fleet_pick(&fleet), moved);
    assert_string_equal(lbroute_rule_name(fleet.decision.rule), "cache_aware");
    fleet_session(&fleet, NULL);
    assert_int_equal(fleet_pick(&fleet), moved);
    assert_string_equal(lbroute_rule_name(fleet.decision.rule), "cache_aware");
    fleet_set_weight(&fleet, A, 1);
    fleet_session(&fleet, "s1");
    serve_five_on(&fleet, A, "sticky_session");
    fleet_set_weight(&fleet, A, 0);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    fleet_set_weight(&fleet, A, 1);
    serve_five_on(&fleet, moved, "sticky_session");
    fleet_session(&fleet, NULL);
    fleet_hold(&fleet, moved, 1);
    serve_five_on(&fleet, A, "cache_aware");
    fleet_close(&fleet);
}

/* Persistence was asked before the drain state. The ring hands a drained
 * owner's keys to the next point and takes them back; a pin that moved stays
 * where it was served last. */
static void dr_04_sticky_clients_stay(void **state)
{
    struct fleet fleet;
    char session[32];
    size_t moved;
    (void)state;

    fleet_open(&fleet, "consistent_hash", 3, 1);
    find_session(&fleet, A, session);
    serve_five_on(&fleet, A, "consistent_hash");
    fleet_set_weight(&fleet, A, 0);
    serve_five(&fleet, A, "ring_next");
    fleet_set_weight(&fleet, A, 1);
    serve_five_on(&fleet, A, "consistent_hash");
    fleet_close(&fleet);

    fleet_open(&fleet, "sticky_session", 3, 1);
    fleet_session(&fleet, "s1");
    fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    serve_five_on(&fleet, A, "sticky_session");
    fleet_set_weight(&fleet, A, 0);
    serve_five(&fleet, A, "least_connections");
    moved = fleet.held[4].index;
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    fleet_set_weight(&fleet, A, 1);
    serve_five_on(&fleet, moved, "sticky_session");
    fleet_close(&fleet);

    drain_pinned_and_warm();
}

/* ---- more of the same kind ---- */

static void drain_by_call(struct fleet *fleet, size_t index, int draining)
{
    fleet_drain(fleet, index, draining);
}

static void drain_by_weight(struct fleet *fleet, size_t index, int draining)
{
    fleet_set_weight(fleet, index, draining ? 0 : 1);
}

static void drain_by_update(struct fleet *fleet, size_t index, int draining)
{
    lbroute_target_options options;

    fleet_target_options(fleet, &options);
    options.weight = draining ? 0 : 1;
    assert_int_equal(lbroute_target_update(fleet->router, fleet->targets[index],
                                           &options, fleet->now),
                     LBROUTE_OK);
}

typedef void drain_way(struct fleet *fleet, size_t index, int draining);

static drain_way *const drain_ways[3] = {drain_by_call, drain_by_weight,
                                         drain_by_update};

static void every_way_to_drain(const char *strategy)
{
    for (size_t way = 0; way < 3; way++) {
        struct fleet fleet;
        fleet_open(&fleet, strategy, 3, 1);
        for (size_t out = 0; out < 3; out++) {
            make_attractive(&fleet, out);
            drain_ways[way](&fleet, out, 1);
            assert_int_equal(fleet_verdict(&fleet, out),
                             LBROUTE_REASON_DRAINING);
            fleet_reset_picks(&fleet);
            serve_sessions(&fleet, 60);
            assert_int_equal(fleet.picks[out], 0);
            drain_ways[way](&fleet, out, 0);
            assert_int_equal(fleet_verdict(&fleet, out), LBROUTE_REASON_NONE);
            fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
        }
        fleet_close(&fleet);
    }
}

/* By call, by weight or by update: out with the next pick, and in again. */
static void dr_kind_every_way_to_drain(void **state)
{
    (void)state;
    fleet_for_each_strategy(every_way_to_drain);
}

static void flapping(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 3, 1);
    fleet_session(&fleet, "s1");
    fleet_send(&fleet, B, LBROUTE_EVENT_SUCCESS);
    for (size_t i = 0; i < 300; i++) {
        int draining = i % 2 == 0;
        drain_ways[i % 3](&fleet, B, draining);
        fleet_session(&fleet, i % 4 < 2 ? "s1" : NULL);
        assert_true(fleet_serve(&fleet) != FLEET_NONE);
        if (draining)
            assert_true(fleet.decision.target != fleet.targets[B]);
        drain_ways[i % 3](&fleet, B, 0);
    }
    fleet_close(&fleet);
}

/* Draining that flaps with each request is obeyed by each request. */
static void dr_kind_flapping(void **state)
{
    (void)state;
    fleet_for_each_strategy(flapping);
}

static void all_drained(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 3, 1);
    drain_by_call(&fleet, A, 1);
    drain_by_weight(&fleet, B, 1);
    drain_by_update(&fleet, C, 1);
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.code, LBROUTE_ERR_NO_TARGET);
    assert_int_equal(fleet.decision.reason, LBROUTE_REASON_DRAINING);
    assert_int_equal(fleet.decision.reasons[LBROUTE_REASON_DRAINING], 3);
    drain_by_weight(&fleet, B, 0);
    assert_int_equal(fleet_pick(&fleet), B);
    fleet_close(&fleet);
}

/* With all targets drained there is no fallback to any of them. */
static void dr_kind_all_drained(void **state)
{
    (void)state;
    fleet_for_each_strategy(all_drained);
}

static void drained_and_benched(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 2, 1);
    fleet_drain(&fleet, A, 1);
    fleet_bench(&fleet, B, TEST_H);
    for (int i = 0; i < 20; i++)
        assert_int_equal(fleet_pick_frozen(&fleet), B);
    assert_int_equal(fleet.decision.bench_ignored, 1);
    fleet_close(&fleet);
}

/* Benching may be ignored, draining may not. */
static void dr_kind_drain_outlasts_benching(void **state)
{
    (void)state;
    fleet_for_each_strategy(drained_and_benched);
}

/* The two ways to drain are independent: ending the one does not end the
 * other, and the weight survives a drain call. */
static void dr_kind_weight_and_call_are_independent(void **state)
{
    struct fleet fleet;
    lbroute_target_info info;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    fleet_add_weight(&fleet, 3);
    fleet_add_weight(&fleet, 1);
    fleet_drain(&fleet, A, 1);
    fleet_expect(&fleet, "BB");
    lbroute_target_info_init(&info, sizeof info);
    lbroute_target_get_info(fleet.router, fleet.targets[A], &info);
    assert_near(info.weight, 3, 0);
    assert_int_equal(info.draining, 1);
    fleet_set_weight(&fleet, A, 5);
    fleet_reapply(&fleet, A);
    fleet_expect(&fleet, "BB");
    fleet_set_weight(&fleet, A, 0);
    fleet_drain(&fleet, A, 0);
    fleet_expect(&fleet, "BB");
    fleet_set_weight(&fleet, A, 3);
    fleet_reset_picks(&fleet);
    for (int i = 0; i < 40; i++)
        fleet_serve(&fleet);
    assert_near(fleet.picks[A], 30, 1);
    fleet_close(&fleet);
}

/* The smallest weight is not a drain. */
static void dr_kind_smallest_weight_serves(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    fleet_add_weight(&fleet, 1e-6);
    fleet_add_weight(&fleet, 0);
    fleet_expect(&fleet, "AAAA");
    fleet_strategy(&fleet, "least_connections");
    for (int i = 0; i < 10; i++)
        assert_int_equal(fleet_pick(&fleet), A);
    fleet_close(&fleet);
}

/* A pin is not thrown away while its target drains, unless the session
 * succeeds elsewhere. */
static void dr_kind_pin_survives_a_drain(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "sticky_session", 3, 1);
    fleet_session(&fleet, "s1");
    fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    fleet_drain(&fleet, A, 1);
    for (int i = 0; i < 5; i++) {
        assert_true(fleet_pick(&fleet) != A);
        fleet_settle_last(&fleet, i % 2 == 0 ? LBROUTE_EVENT_CANCEL
                                             : LBROUTE_EVENT_CLIENT_ERROR);
    }
    fleet_drain(&fleet, A, 0);
    fleet_hold(&fleet, A, 20);
    assert_int_equal(fleet_pick(&fleet), A);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_STICKY_SESSION);
    fleet_close(&fleet);
}

/* Clients without a session are drained like sessions. */
static void dr_kind_sticky_client_drained(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "sticky_session", 2, 1);
    fleet_client(&fleet, "c1");
    fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_serve(&fleet), A);
    fleet_set_weight(&fleet, A, 0);
    assert_int_equal(fleet_serve(&fleet), B);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_LEAST_CONNECTIONS);
    assert_int_equal(fleet_serve(&fleet), B);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_STICKY_SESSION);
    fleet_close(&fleet);
}

/* The display of shares calls drained what is drained, and a drained target
 * is due nothing. */
static void dr_kind_shares_name_the_drain(void **state)
{
    lbroute_share shares[3];
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 3, 1);
    fleet_set_weight(&fleet, C, 0);
    serve_sessions(&fleet, 100);
    for (size_t i = 0; i < 3; i++)
        lbroute_share_init(&shares[i], sizeof shares[i]);
    assert_int_equal(lbroute_pool_shares(fleet.router, fleet.pool, fleet.now,
                                         shares, 3, NULL),
                     LBROUTE_OK);
    for (size_t i = 0; i < 3; i++) {
        size_t index = shares[i].target == fleet.targets[C] ? C : A;
        assert_near(shares[i].configured, index == C ? 0 : 0.5, 1e-12);
        assert_near(shares[i].requests, index == C ? 0 : 50, 0);
        assert_int_equal(shares[i].flagged, 0);
        assert_int_equal((shares[i].causes & LBROUTE_CAUSE_DRAINED) != 0,
                         index == C);
    }
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dr_01_weight_zero_behaves_like_one),
        cmocka_unit_test(dr_03_traffic_after_drain),
        cmocka_unit_test(dr_04_sticky_clients_stay),
        cmocka_unit_test(dr_kind_every_way_to_drain),
        cmocka_unit_test(dr_kind_flapping),
        cmocka_unit_test(dr_kind_all_drained),
        cmocka_unit_test(dr_kind_drain_outlasts_benching),
        cmocka_unit_test(dr_kind_weight_and_call_are_independent),
        cmocka_unit_test(dr_kind_smallest_weight_serves),
        cmocka_unit_test(dr_kind_pin_survives_a_drain),
        cmocka_unit_test(dr_kind_sticky_client_drained),
        cmocka_unit_test(dr_kind_shares_name_the_drain),
    };
    return cmocka_run_group_tests_name("DR", tests, NULL, NULL);
}
