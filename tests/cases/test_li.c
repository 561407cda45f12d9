/* SPDX-License-Identifier: MIT */
/* Field reports LI: accounting of picks, and the life of targets. */
#include <stdio.h>
#include <string.h>

#include "support/fleet.h"
#include "support/rng.h"
#include "support/state.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

static void expect_counts(struct fleet *fleet, uint32_t each)
{
    for (size_t i = 0; i < fleet->count; i++)
        assert_int_equal(fleet_in_flight(fleet, i), each);
}

/* ---- the reported cases ---- */

static void cancel_all(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->held_count; i++) {
        lbroute_ticket ticket = fleet->held[i].ticket;
        assert_int_equal(fleet_observe(fleet, ticket, LBROUTE_EVENT_CANCEL),
                         LBROUTE_OK);
        /* Once more does nothing, and says so. */
        assert_int_equal(fleet_observe(fleet, ticket, LBROUTE_EVENT_CANCEL),
                         LBROUTE_ERR_NOT_FOUND);
    }
    fleet->held_count = 0;
}

static void cancel_and_pick(struct fleet *fleet, const char *strategy)
{
    fleet_open(fleet, strategy, 0, 1);
    for (size_t i = 0; i < 3; i++) {
        fleet_add_limit(fleet, 0);
        fleet_hold(fleet, i, 395);
    }
    expect_counts(fleet, 395);
    cancel_all(fleet);
    expect_counts(fleet, 0);
    fleet_remove(fleet, C);
    fleet_add_again(fleet, C);
    for (int i = 0; i < 30; i++)
        assert_true(fleet_pick(fleet) != FLEET_NONE);
}

static void aborts_leave_nothing(const char *strategy)
{
    struct fleet fleet;

    cancel_and_pick(&fleet, strategy);
    assert_int_equal(fleet_totals(&fleet).open_tickets, 30);
    fleet_close(&fleet);
}

/* Each client that went away left its request counted for ever; the one worker
 * that had been restarted then drew everything. */
static void li_01_phantom_requests(void **state)
{
    static const char *const even[] = {"least_connections", "weighted",
                                       "round_robin"};
    struct fleet fleet;
    (void)state;

    fleet_for_each_strategy(aborts_leave_nothing);
    for (size_t s = 0; s < 3; s++) {
        cancel_and_pick(&fleet, even[s]);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(fleet.picks[i], 10);
        fleet_close(&fleet);
    }
}

/* What hosts do while requests run: scrapes, re-applied settings, and time. */
static void housekeeping(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->count; i++) {
        fleet_gauge(fleet, i, LBROUTE_GAUGE_RUNNING, 0);
        fleet_gauge(fleet, i, LBROUTE_GAUGE_WAITING, 0);
        fleet_gauge(fleet, i, LBROUTE_GAUGE_KV_USAGE, 0.5);
        fleet_set_weight(fleet, i, 1);
        fleet_reapply(fleet, i);
    }
    fleet->now += TEST_H;
    lbroute_tick(fleet->router, fleet->now);
}

static void housekeeping_keeps_counts(const char *strategy)
{
    lbroute_router_options options;
    struct fleet fleet;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.ticket_ttl = 1000 * TEST_H;
    fleet_open_options(&fleet, &options, strategy);
    fleet_add(&fleet);
    fleet_add(&fleet);
    fleet_prompt(&fleet, "prefix P");
    fleet_hold(&fleet, A, 20);
    for (int i = 0; i < 100; i++) {
        housekeeping(&fleet);
        fleet_strategy(&fleet, strategy);
        assert_int_equal(fleet_in_flight(&fleet, A), 20);
        assert_int_equal(fleet_in_flight(&fleet, B), 0);
    }
    for (uint32_t left = 20; left > 0; left--) {
        assert_int_equal(fleet_in_flight(&fleet, A), left);
        fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    }
    expect_counts(&fleet, 0);
    fleet_close(&fleet);
}

/* Every tenth health check set all counts to zero. Only observe and the end of
 * ticket_ttl, here out of reach, lower a count. */
static void li_02_housekeeping_resets_counts(void **state)
{
    (void)state;
    fleet_for_each_strategy(housekeeping_keeps_counts);
}

/* With the default ticket_ttl of 600 s an hour releases what nobody settled;
 * settling it later is refused and takes nothing off. */
static void li_02_late_observes_after_expiry(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    fleet_hold(&fleet, A, 20);
    housekeeping(&fleet);
    expect_counts(&fleet, 0);
    assert_int_equal(fleet_totals(&fleet).expired, 20);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(
            fleet_observe(&fleet, fleet.held[i].ticket, LBROUTE_EVENT_SUCCESS),
            LBROUTE_ERR_NOT_FOUND);
        expect_counts(&fleet, 0);
    }
    fleet_close(&fleet);
}

static void expect_not_found(struct fleet *fleet, lbroute_ticket ticket,
                             int kind)
{
    char *before = state_text(fleet->router, fleet->now, STATE_FULL);

    assert_int_equal(fleet_observe(fleet, ticket, kind), LBROUTE_ERR_NOT_FOUND);
    state_check(fleet->router, fleet->now, STATE_FULL, before);
}

static void settled_twice(const char *strategy)
{
    struct fleet fleet;
    lbroute_ticket r1, r2;

    fleet_open(&fleet, strategy, 1, 1);
    fleet_hold(&fleet, A, 3);
    r1 = fleet.held[0].ticket;
    r2 = fleet.held[1].ticket;
    assert_int_equal(fleet_observe(&fleet, r1, LBROUTE_EVENT_FAILURE),
                     LBROUTE_OK);
    assert_int_equal(fleet_in_flight(&fleet, A), 2);
    expect_not_found(&fleet, r1, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_in_flight(&fleet, A), 2);
    expect_not_found(&fleet, UINT64_C(0x9999999999999999),
                     LBROUTE_EVENT_SUCCESS);
    expect_not_found(&fleet, 99, LBROUTE_EVENT_SUCCESS);
    expect_not_found(&fleet, 0, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_in_flight(&fleet, A), 2);
    assert_int_equal(fleet_observe(&fleet, r2, LBROUTE_EVENT_SUCCESS),
                     LBROUTE_OK);
    expect_not_found(&fleet, r2, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_in_flight(&fleet, A), 1);
    fleet_close(&fleet);
}

/* The retry path and the normal end both lowered the count. The part with two
 * threads is in the threads suite. */
static void li_03_count_lowered_twice(void **state)
{
    (void)state;
    fleet_for_each_strategy(settled_twice);
}

/* ---- more of the same kind ---- */

/* Every second report of every kind after every first is refused, also a first
 * token after the end. */
static void li_kind_every_pair_of_reports(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    for (int first = -1; first <= LBROUTE_EVENT_COUNT; first++) {
        for (int second = -1; second <= LBROUTE_EVENT_COUNT; second++) {
            lbroute_ticket ticket;
            fleet_hold(&fleet, A, 1);
            ticket = fleet.held[0].ticket;
            fleet.held_count = 0;
            fleet_observe(&fleet, ticket, first);
            if (first == LBROUTE_EVENT_FIRST_TOKEN) {
                assert_int_equal(fleet_in_flight(&fleet, A), 1);
                fleet_observe(&fleet, ticket, LBROUTE_EVENT_SUCCESS);
            }
            if (second > 0 && second < LBROUTE_EVENT_COUNT)
                expect_not_found(&fleet, ticket, second);
            else
                assert_true(fleet_observe(&fleet, ticket, second) < 0);
            expect_counts(&fleet, 0);
            fleet_bench(&fleet, A, 0);
        }
    }
    fleet_close(&fleet);
}

/* Old tickets never name a newer request, however often slots are reused. */
static void li_kind_old_tickets_stay_dead(void **state)
{
    enum { KEPT = 64 };
    lbroute_ticket old[KEPT];
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "random", 2, 1);
    for (size_t i = 0; i < 20000; i++) {
        lbroute_ticket ticket;
        fleet_pick(&fleet);
        ticket = fleet.decision.ticket;
        for (size_t k = 0; k < KEPT && k < i; k++)
            assert_true(old[k] != ticket);
        if (i >= KEPT)
            assert_int_equal(
                fleet_observe(&fleet, old[i % KEPT], LBROUTE_EVENT_FAILURE),
                LBROUTE_ERR_NOT_FOUND);
        fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
        old[i % KEPT] = ticket;
    }
    assert_int_equal(fleet_totals(&fleet).settled[LBROUTE_EVENT_SUCCESS],
                     20000);
    assert_int_equal(fleet_totals(&fleet).settled[LBROUTE_EVENT_FAILURE], 0);
    fleet_close(&fleet);
}

static void counts_equal_open_tickets(const char *strategy)
{
    struct test_rng rng = {99};
    struct fleet fleet;
    uint32_t open[5] = {0};

    fleet_open(&fleet, strategy, 5, 1);
    for (int step = 0; step < 6000; step++) {
        uint64_t what = test_rng_below(&rng, 10);
        if (what < 5) {
            size_t index = fleet_pick(&fleet);
            if (index != FLEET_NONE)
                open[index]++;
        } else if (what < 9 && fleet.held_count > 0) {
            size_t which = test_rng_below(&rng, fleet.held_count);
            size_t index = fleet.held[which].index;
            fleet_settle(&fleet, index, 2 + (int)test_rng_below(&rng, 6));
            open[index]--;
        } else {
            size_t index = test_rng_below(&rng, 5);
            fleet_reapply(&fleet, index);
            fleet_drain(&fleet, index, (int)test_rng_below(&rng, 2));
            fleet_gauge(&fleet, index, LBROUTE_GAUGE_RUNNING, 3);
            fleet.now += TEST_MS;
        }
        assert_int_equal(fleet_totals(&fleet).open_tickets, fleet.held_count);
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(fleet_in_flight(&fleet, i), open[i]);
    }
    fleet_close(&fleet);
}

/* Whatever happens, a target's count is the number of its open tickets. */
static void li_kind_counts_equal_open_tickets(void **state)
{
    (void)state;
    fleet_for_each_strategy(counts_equal_open_tickets);
}

/* Targets removed and added under load, again and again: the new one starts at
 * zero, old tickets end without effect, nothing stays behind. */
static void remove_and_add_storm(const char *strategy)
{
    struct test_rng rng = {17};
    struct fleet fleet;

    fleet_open(&fleet, strategy, 4, 1);
    for (int round = 0; round < 300; round++) {
        size_t index = test_rng_below(&rng, 4);
        for (int i = 0; i < 6; i++)
            fleet_pick(&fleet);
        fleet_remove(&fleet, index);
        fleet_add_again(&fleet, index);
        assert_int_equal(fleet_in_flight(&fleet, index), 0);
        assert_int_equal(fleet_stats(&fleet, index).picks, 0);
        while (fleet.held_count > 12) {
            size_t which = test_rng_below(&rng, fleet.held_count);
            fleet_settle(&fleet, fleet.held[which].index,
                         LBROUTE_EVENT_SUCCESS);
        }
    }
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    expect_counts(&fleet, 0);
    assert_int_equal(fleet_totals(&fleet).open_tickets, 0);
    assert_int_equal(fleet_totals(&fleet).orphan_tickets, 0);
    assert_int_equal(fleet_totals(&fleet).targets, 4);
    fleet_close(&fleet);
}

static void li_kind_remove_and_add_storm(void **state)
{
    (void)state;
    fleet_for_each_strategy(remove_and_add_storm);
}

/* A restarted target that honestly reports nothing is not flooded, nor are the
 * others held to counts of long ago. */
static void li_kind_restart_is_not_flooded(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 3, 1);
    for (size_t i = 0; i < 3; i++)
        fleet_gauge(&fleet, i, LBROUTE_GAUGE_RUNNING, 395);
    fleet_remove(&fleet, C);
    fleet_add_again(&fleet, C);
    /* Unknown: it counts like the mean of its peers. */
    assert_near(fleet_stats(&fleet, C).load, 395, 1e-9);
    for (int i = 0; i < 30; i++)
        fleet_pick(&fleet);
    expect_counts(&fleet, 10);
    fleet_close(&fleet);
}

/* A removed target takes its gauges, failures and pins with it. */
static void li_kind_nothing_survives_removal(void **state)
{
    lbroute_target_stats stats;
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "sticky_session", 2, 1);
    fleet_session(&fleet, "s1");
    fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    for (int i = 0; i < 4; i++)
        fleet_send(&fleet, A, LBROUTE_EVENT_FAILURE);
    fleet_gauge(&fleet, A, LBROUTE_GAUGE_KV_USAGE, 0.7);
    fleet_bench(&fleet, A, TEST_H);
    fleet_drain(&fleet, A, 1);
    fleet_remove(&fleet, A);
    fleet_add_again(&fleet, A);
    stats = fleet_stats(&fleet, A);
    assert_int_equal(stats.picks, 0);
    assert_int_equal(stats.failures_in_row, 0);
    assert_int_equal(stats.benches_in_row, 0);
    assert_int_equal(stats.benched, 0);
    assert_int_equal(stats.on_trial, 0);
    assert_int_equal(stats.bench_left_ns, 0);
    assert_int_equal(stats.gauge_age_ns[LBROUTE_GAUGE_KV_USAGE], -1);
    assert_int_equal(fleet_verdict(&fleet, A), LBROUTE_REASON_NONE);
    assert_int_equal(fleet_totals(&fleet).sessions, 0);
    fleet_close(&fleet);
}

/* Expiry is exact in any order of deadlines, and a first token prolongs
 * nothing. */
static void li_kind_expiry_in_order(void **state)
{
    lbroute_router_options options;
    struct fleet fleet;
    (void)state;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.ticket_ttl = 100;
    fleet_open_options(&fleet, &options, "round_robin");
    fleet_add_limit(&fleet, 0);
    for (uint64_t i = 0; i < 50; i++) {
        fleet.now = i;
        fleet_pick(&fleet);
    }
    /* Every third is settled early. */
    for (size_t i = 0; i < 50; i += 3)
        assert_int_equal(
            fleet_observe(&fleet, fleet.held[i].ticket, LBROUTE_EVENT_SUCCESS),
            LBROUTE_OK);
    fleet.now = 99;
    fleet_observe(&fleet, fleet.held[1].ticket, LBROUTE_EVENT_FIRST_TOKEN);
    for (uint64_t i = 1, left = 33; i < 50; i++) {
        if (i % 3 == 0)
            continue;
        assert_int_equal(lbroute_next_deadline(fleet.router), 100 + i);
        fleet.now = 100 + i - 1;
        lbroute_tick(fleet.router, fleet.now);
        assert_int_equal(fleet_in_flight(&fleet, A), left);
        fleet.now = 100 + i;
        lbroute_tick(fleet.router, fleet.now);
        assert_int_equal(fleet_in_flight(&fleet, A), --left);
    }
    assert_int_equal(lbroute_next_deadline(fleet.router), UINT64_MAX);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(li_01_phantom_requests),
        cmocka_unit_test(li_02_housekeeping_resets_counts),
        cmocka_unit_test(li_02_late_observes_after_expiry),
        cmocka_unit_test(li_03_count_lowered_twice),
        cmocka_unit_test(li_kind_every_pair_of_reports),
        cmocka_unit_test(li_kind_old_tickets_stay_dead),
        cmocka_unit_test(li_kind_counts_equal_open_tickets),
        cmocka_unit_test(li_kind_remove_and_add_storm),
        cmocka_unit_test(li_kind_restart_is_not_flooded),
        cmocka_unit_test(li_kind_nothing_survives_removal),
        cmocka_unit_test(li_kind_expiry_in_order),
    };
    return cmocka_run_group_tests_name("LI", tests, NULL, NULL);
}
