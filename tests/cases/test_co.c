/* SPDX-License-Identifier: MIT */
/* Field reports CO: max concurrency. */
#include <stdio.h>
#include <string.h>

#include "support/fleet.h"
#include "support/rng.h"
#include "support/state.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

static void expect_saturated(struct fleet *fleet)
{
    assert_int_equal(fleet_pick(fleet), FLEET_NONE);
    assert_int_equal(fleet->code, LBROUTE_ERR_SATURATED);
    assert_int_equal(fleet->decision.target, 0);
    assert_int_equal(fleet->decision.ticket, 0);
}

/* ---- the reported cases ---- */

static void settle_and_pick_again(const char *strategy)
{
    static const int kinds[] = {
        LBROUTE_EVENT_SUCCESS,
        LBROUTE_EVENT_FAILURE,
        LBROUTE_EVENT_TIMEOUT,
        LBROUTE_EVENT_CANCEL,
        LBROUTE_EVENT_OVERLOAD,
        LBROUTE_EVENT_CLIENT_ERROR,
        0,
        LBROUTE_EVENT_COUNT,
        -1,
        INT32_MAX,
    };
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    fleet_add_limit(&fleet, 1);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int known = kinds[i] > 0 && kinds[i] < LBROUTE_EVENT_COUNT;
        assert_int_equal(fleet_pick(&fleet), A);
        assert_int_equal(fleet_in_flight(&fleet, A), 1);
        expect_saturated(&fleet);
        /* Every other one with no latency at all. */
        fleet.now += (i % 2) * TEST_S;
        assert_int_equal(fleet_observe(&fleet, fleet.held[0].ticket, kinds[i]),
                         known ? LBROUTE_OK : LBROUTE_ERR_INVALID);
        fleet.held_count = 0;
        assert_int_equal(fleet_in_flight(&fleet, A), 0);
    }
    assert_int_equal(fleet_pick(&fleet), A);
    fleet_close(&fleet);
}

/* Only some outcomes released the slot. */
static void co_01_failed_call_keeps_slot(void **state)
{
    (void)state;
    fleet_for_each_strategy(settle_and_pick_again);
}

/* Opens two alike: three targets of one slot each, all taken. */
static void open_twins(struct fleet twins[2], const char *strategy)
{
    for (size_t t = 0; t < 2; t++) {
        fleet_open(&twins[t], strategy, 0, 3);
        for (size_t i = 0; i < 3; i++) {
            fleet_add_weight(&twins[t], (double)(i + 1));
            fleet_set_limit(&twins[t], i, 1);
        }
        for (size_t i = 0; i < 3; i++)
            fleet_pick(&twins[t]);
    }
}

/* Both must take the same next |n| decisions; sessions vary, and so does who
 * is settled. */
static void expect_alike(struct fleet twins[2], size_t n)
{
    char session[32];

    for (size_t i = 0; i < n; i++) {
        size_t got[2];
        snprintf(session, sizeof session, "s%zu", i % 7);
        for (size_t t = 0; t < 2; t++) {
            fleet_session(&twins[t], i % 3 == 0 ? NULL : session);
            fleet_prompt(&twins[t], i % 5 == 0 ? NULL : session);
            got[t] = fleet_pick(&twins[t]);
            if (i % 4 == 3)
                fleet_settle_all(&twins[t], LBROUTE_EVENT_SUCCESS);
            else if (got[t] != FLEET_NONE && i % 4 != 2)
                fleet_settle_last(&twins[t], LBROUTE_EVENT_SUCCESS);
        }
        assert_int_equal(got[0], got[1]);
        assert_int_equal(twins[0].decision.rule, twins[1].decision.rule);
        assert_int_equal(twins[0].decision.ticket, twins[1].decision.ticket);
    }
}

static void rejections_leave_no_trace(const char *strategy)
{
    struct fleet twins[2];
    char *before;

    open_twins(twins, strategy);
    before = state_text(twins[0].router, 0, STATE_WITHOUT_REJECTIONS);
    fleet_prompt(&twins[0], "s1, in vain");
    for (uint64_t i = 1; i <= 5; i++) {
        expect_saturated(&twins[0]);
        assert_int_equal(
            fleet_totals(&twins[0]).rejections[LBROUTE_REASON_SATURATED], i);
    }
    state_check(twins[0].router, 0, STATE_WITHOUT_REJECTIONS, before);
    for (size_t t = 0; t < 2; t++)
        fleet_settle_all(&twins[t], LBROUTE_EVENT_SUCCESS);
    expect_alike(twins, 60);
    fleet_close(&twins[0]);
    fleet_close(&twins[1]);
}

/* The rate counter rose before the concurrency check, so that a refused
 * request used up quota. Here no cursor, sum, pin or generator moves. */
static void co_03_refused_request_uses_quota(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "round_robin", 0, 1);
    fleet_add_limit(&fleet, 1);
    fleet_pick(&fleet);
    for (int i = 0; i < 5; i++)
        expect_saturated(&fleet);
    fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_pick(&fleet), A);
    fleet_close(&fleet);
    fleet_for_each_strategy(rejections_leave_no_trace);
}

/* What a target knows of a prompt, asked without effect. */
static int64_t known_to(struct fleet *fleet, size_t index)
{
    lbroute_decision decision;

    lbroute_decision_init(&decision, sizeof decision);
    assert_int_equal(lbroute_explain(fleet->router, &fleet->request, fleet->now,
                                     &decision, NULL, 0, NULL),
                     LBROUTE_OK);
    assert_int_equal(decision.target, fleet->targets[index]);
    return decision.prefix_matched;
}

/* Nor is the prompt of a refused request remembered, whoever refused it. */
static void co_03_refused_prompt_is_forgotten(void **state)
{
    static const char *const tiers[] = {"", "gold"};
    struct fleet fleet;
    uint64_t memory;
    (void)state;

    fleet_open(&fleet, "cache_aware", 0, 1);
    fleet_add_limit(&fleet, 1);
    fleet_prompt(&fleet, "a prompt that came through");
    fleet_pick(&fleet);
    memory = fleet_totals(&fleet).memory_bytes;
    fleet_prompt(&fleet, "a refused one");
    for (int i = 0; i < 5; i++)
        expect_saturated(&fleet);
    for (size_t i = 0; i < 2; i++) {
        fleet.request.tier = tiers[i];
        fleet.request.tier_len = strlen(tiers[i]);
        fleet.request.exclude = fleet.targets;
        fleet.request.exclude_len = 1;
        assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
        fleet.request.exclude_len = 0;
    }
    fleet.request.tier_len = 0;
    assert_int_equal(fleet_totals(&fleet).memory_bytes, memory);
    fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(known_to(&fleet, A), 2); /* "a " */
    fleet_prompt(&fleet, "a prompt that came through");
    assert_int_equal(known_to(&fleet, A), fleet.request.prompt_len);
    fleet_close(&fleet);
}

static void limit_of_five(const char *strategy)
{
    lbroute_target_options options;
    lbroute_target again = 0;
    struct fleet fleet;

    for (int twice = 0; twice < 2; twice++) {
        size_t accepted = 0;
        fleet_open(&fleet, strategy, 0, 1);
        fleet_add_limit(&fleet, 5);
        if (twice) {
            fleet_target_options(&fleet, &options);
            options.name = "A";
            options.name_len = 1;
            options.max_concurrency = 5;
            assert_int_equal(
                lbroute_target_add(fleet.router, &options, 0, &again),
                LBROUTE_ERR_EXISTS);
            assert_int_equal(again, fleet.targets[A]);
        }
        for (int i = 0; i < 40; i++)
            accepted += fleet_pick(&fleet) == A;
        assert_int_equal(accepted, 5);
        assert_int_equal(
            fleet_totals(&fleet).rejections[LBROUTE_REASON_SATURATED], 35);
        fleet_close(&fleet);
    }
}

/* A name that became two peers had its limit twice. */
static void co_05_limit_counted_twice(void **state)
{
    (void)state;
    fleet_for_each_strategy(limit_of_five);
}

static void mark_is_cleared(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    fleet_add_limit(&fleet, 1);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(fleet_pick(&fleet), A);
        fleet_gauge(&fleet, A, LBROUTE_GAUGE_WAITING, 50);
        expect_saturated(&fleet);
        fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
        assert_int_equal(fleet_verdict(&fleet, A), LBROUTE_REASON_NONE);
        fleet_gauge(&fleet, A, LBROUTE_GAUGE_WAITING, 0);
        assert_int_equal(fleet_verdict(&fleet, A), LBROUTE_REASON_NONE);
        fleet.now += TEST_MS;
    }
    fleet_close(&fleet);
}

/* A worker once marked busy stayed out for ever. */
static void co_06_overloaded_mark_sticks(void **state)
{
    (void)state;
    fleet_for_each_strategy(mark_is_cleared);
}

static void all_full(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    for (size_t i = 0; i < 3; i++) {
        fleet_add_limit(&fleet, 2);
        fleet_hold(&fleet, i, 2);
    }
    for (int i = 0; i < 5; i++) {
        expect_saturated(&fleet);
        assert_int_equal(fleet.decision.reason, LBROUTE_REASON_SATURATED);
        assert_int_equal(fleet.decision.in_flight, 6);
        assert_int_equal(fleet.decision.max_concurrency, 6);
    }
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fleet_in_flight(&fleet, i), 2);
    for (size_t i = 0; i < 3; i++) {
        fleet_set_limit(&fleet, i, 0);
        fleet_hold(&fleet, i, 98);
    }
    for (int i = 0; i < 5; i++)
        assert_true(fleet_pick(&fleet) != FLEET_NONE);
    fleet_close(&fleet);
}

/* With everything full the head of the list took the rest; a limit of 0 is no
 * limit, never "none allowed". */
static void co_07_first_one_takes_the_rest(void **state)
{
    static const char *const even[] = {"least_connections", "weighted",
                                       "round_robin"};
    (void)state;

    fleet_for_each_strategy(all_full);
    for (size_t s = 0; s < 3; s++) {
        struct fleet fleet;
        fleet_open(&fleet, even[s], 0, 1);
        for (size_t i = 0; i < 3; i++) {
            fleet_add_limit(&fleet, 0);
            fleet_hold(&fleet, i, 100);
        }
        for (int i = 0; i < 5; i++)
            fleet_pick(&fleet);
        for (size_t i = 0; i < 3; i++)
            assert_in_real_range((double)fleet.picks[i], 1, 2);
        fleet_close(&fleet);
    }
}

/* ---- more of the same kind ---- */

/* A slot whose ticket nobody settles comes back when ticket_ttl is over, and
 * exactly then; the late report finds nothing. */
static void forgotten_tickets(const char *strategy)
{
    lbroute_router_options options;
    struct fleet fleet;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.ticket_ttl = 10 * TEST_S;
    fleet_open_options(&fleet, &options, strategy);
    fleet_add_limit(&fleet, 2);
    fleet_pick(&fleet);
    fleet.now = TEST_S;
    fleet_pick(&fleet);
    assert_int_equal(lbroute_next_deadline(fleet.router), 10 * TEST_S);
    fleet.now = 10 * TEST_S - 1;
    expect_saturated(&fleet);
    fleet.now = 10 * TEST_S;
    assert_int_equal(fleet_pick(&fleet), A);
    expect_saturated(&fleet);
    assert_int_equal(
        fleet_observe(&fleet, fleet.held[0].ticket, LBROUTE_EVENT_SUCCESS),
        LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(fleet_in_flight(&fleet, A), 2);
    fleet.now = 11 * TEST_S;
    assert_int_equal(lbroute_tick(fleet.router, fleet.now), LBROUTE_OK);
    assert_int_equal(fleet_in_flight(&fleet, A), 1);
    assert_int_equal(fleet_totals(&fleet).expired, 2);
    assert_int_equal(fleet_stats(&fleet, A).expired, 2);
    fleet_close(&fleet);
}

static void co_kind_forgotten_tickets(void **state)
{
    (void)state;
    fleet_for_each_strategy(forgotten_tickets);
}

static void limit_changes(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    fleet_add_limit(&fleet, 10);
    fleet_hold(&fleet, A, 8);
    fleet_set_limit(&fleet, A, 3);
    for (int i = 0; i < 5; i++) {
        expect_saturated(&fleet);
        fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    }
    expect_saturated(&fleet);
    fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_pick(&fleet), A);
    expect_saturated(&fleet);
    fleet_set_limit(&fleet, A, 4);
    assert_int_equal(fleet_pick(&fleet), A);
    expect_saturated(&fleet);
    fleet_set_limit(&fleet, A, 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(fleet_pick(&fleet), A);
    fleet_set_limit(&fleet, A, UINT32_MAX);
    assert_int_equal(fleet_pick(&fleet), A);
    fleet_close(&fleet);
}

/* A limit lowered below what is in flight holds until enough is settled; one
 * raised counts at once. */
static void co_kind_limit_changes(void **state)
{
    (void)state;
    fleet_for_each_strategy(limit_changes);
}

static void settle_any(struct fleet *fleet, struct test_rng *rng)
{
    size_t which = test_rng_below(rng, fleet->held_count);
    fleet_settle(fleet, fleet->held[which].index, LBROUTE_EVENT_SUCCESS);
}

static void limits_hold(const char *strategy)
{
    struct test_rng rng = {6};
    struct fleet fleet;
    char session[32];

    fleet_open(&fleet, strategy, 0, 1);
    for (size_t i = 0; i < 6; i++)
        fleet_add_limit(&fleet, (uint32_t)i + 1);
    for (int i = 0; i < 4000; i++) {
        snprintf(session, sizeof session, "s%d", (int)test_rng_below(&rng, 9));
        fleet_session(&fleet, session);
        if (fleet_pick(&fleet) == FLEET_NONE)
            assert_int_equal(fleet.held_count, 21);
        for (size_t t = 0; t < 6; t++)
            assert_true(fleet_in_flight(&fleet, t) <= t + 1);
        /* Fills up for a while, then runs nearly empty, and again. */
        while (fleet.held_count > ((i / 40) % 2 == 0 ? 21u : 6u))
            settle_any(&fleet, &rng);
        if (fleet.held_count > 0 && test_rng_below(&rng, 3) == 0)
            settle_any(&fleet, &rng);
    }
    fleet_close(&fleet);
}

/* No order of picks and settles passes a limit, and none is refused while a
 * slot is free. */
static void co_kind_limits_hold(void **state)
{
    (void)state;
    fleet_for_each_strategy(limits_hold);
}

static void first_token_keeps_slot(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    fleet_add_limit(&fleet, 1);
    fleet_pick(&fleet);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fleet_observe(&fleet, fleet.held[0].ticket,
                                       LBROUTE_EVENT_FIRST_TOKEN),
                         LBROUTE_OK);
        assert_int_equal(fleet_in_flight(&fleet, A), 1);
        expect_saturated(&fleet);
    }
    fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_in_flight(&fleet, A), 0);
    fleet_close(&fleet);
}

/* A first token, even reported more than once, releases nothing. */
static void co_kind_first_token_keeps_slot(void **state)
{
    (void)state;
    fleet_for_each_strategy(first_token_keeps_slot);
}

static void counts_of_a_removed_target(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    fleet_add_limit(&fleet, 32);
    fleet_hold(&fleet, A, 5);
    fleet_remove(&fleet, A);
    assert_int_equal(fleet_totals(&fleet).orphan_tickets, 5);
    fleet_add_again(&fleet, A);
    assert_int_equal(fleet_in_flight(&fleet, A), 0);
    assert_int_equal(fleet_pick(&fleet), A);
    for (int i = 0; i < 5; i++) {
        fleet_settle(&fleet, A, LBROUTE_EVENT_FAILURE);
        assert_int_equal(fleet_in_flight(&fleet, A), 1);
    }
    assert_int_equal(fleet_stats(&fleet, A).failures_in_row, 0);
    assert_int_equal(fleet_totals(&fleet).open_tickets, 1);
    assert_int_equal(fleet_totals(&fleet).orphan_tickets, 0);
    fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_in_flight(&fleet, A), 0);
    fleet_close(&fleet);
}

/* What was in flight on a removed target is not counted on, or taken off, the
 * one that comes back under its name. */
static void co_kind_counts_of_a_removed_target(void **state)
{
    (void)state;
    fleet_for_each_strategy(counts_of_a_removed_target);
}

/* A target moved to another pool brings its requests in flight along, and its
 * limit covers both. */
static void co_kind_move_between_pools(void **state)
{
    struct fleet fleet;
    lbroute_pool first;
    lbroute_target_options options;
    (void)state;

    fleet_open(&fleet, "least_connections", 0, 1);
    first = fleet.pool;
    fleet_add_limit(&fleet, 3);
    fleet_hold(&fleet, A, 2);
    fleet_add_pool(&fleet, "second", "round_robin");
    fleet_target_options(&fleet, &options);
    options.max_concurrency = 3;
    assert_int_equal(lbroute_target_update(fleet.router, fleet.targets[A],
                                           &options, fleet.now),
                     LBROUTE_OK);
    assert_int_equal(fleet_in_flight(&fleet, A), 2);
    assert_int_equal(fleet_pick(&fleet), A);
    expect_saturated(&fleet);
    fleet.request.pool = first;
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.code, LBROUTE_ERR_NO_TARGET);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_in_flight(&fleet, A), 0);
    fleet_close(&fleet);
}

/* Full, and something else: as long as one is out only because it is full the
 * caller may wait; the reason is that of the majority. */
static void co_kind_full_among_other_reasons(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    fleet_add_limit(&fleet, 1);
    fleet_hold(&fleet, A, 1);
    fleet_add_weight(&fleet, 0);
    fleet_add_weight(&fleet, 0);
    expect_saturated(&fleet);
    assert_int_equal(fleet.decision.reason, LBROUTE_REASON_DRAINING);
    assert_int_equal(fleet.decision.reasons[LBROUTE_REASON_SATURATED], 1);
    assert_int_equal(fleet.decision.reasons[LBROUTE_REASON_DRAINING], 2);
    assert_int_equal(fleet.decision.in_flight, 1);
    assert_int_equal(fleet.decision.max_concurrency, 1);
    /* Full and drained: not only full. */
    fleet_drain(&fleet, A, 1);
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.code, LBROUTE_ERR_NO_TARGET);
    fleet_close(&fleet);
}

/* Rejections for all other reasons leave no trace either. */
static void other_rejections_leave_no_trace(const char *strategy)
{
    struct fleet twins[2];
    lbroute_target all[3];

    open_twins(twins, strategy);
    for (size_t t = 0; t < 2; t++)
        fleet_settle_all(&twins[t], LBROUTE_EVENT_SUCCESS);
    for (int i = 0; i < 20; i++) {
        memcpy(all, twins[0].targets, sizeof all);
        fleet_session(&twins[0], i % 2 == 0 ? "s1" : NULL);
        twins[0].request.exclude = all;
        twins[0].request.exclude_len = 3;
        assert_int_equal(fleet_pick(&twins[0]), FLEET_NONE);
        twins[0].request.exclude_len = 0;
        twins[0].request.tier = "none";
        twins[0].request.tier_len = 4;
        assert_int_equal(fleet_pick(&twins[0]), FLEET_NONE);
        twins[0].request.tier_len = 0;
        expect_alike(twins, 8);
    }
    fleet_close(&twins[0]);
    fleet_close(&twins[1]);
}

static void co_kind_other_rejections(void **state)
{
    (void)state;
    fleet_for_each_strategy(other_rejections_leave_no_trace);
}

/* Many targets, all full: a rejection, and the one freed slot is found. */
static void needle_in_a_full_fleet(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    for (size_t i = 0; i < 130; i++)
        fleet_add_limit(&fleet, 1);
    for (size_t i = 0; i < 130; i++)
        assert_true(fleet_pick(&fleet) != FLEET_NONE);
    for (size_t i = 0; i < 130; i += 13) {
        expect_saturated(&fleet);
        fleet_settle(&fleet, i, LBROUTE_EVENT_SUCCESS);
        fleet_session(&fleet, i % 2 == 0 ? "s1" : NULL);
        assert_int_equal(fleet_pick(&fleet), i);
    }
    fleet_close(&fleet);
}

static void co_kind_needle_in_a_full_fleet(void **state)
{
    (void)state;
    fleet_for_each_strategy(needle_in_a_full_fleet);
}

/* max_tickets is a bound of its own, with its own error and no trace. */
static void co_kind_ticket_table_full(void **state)
{
    lbroute_router_options options;
    struct fleet fleet;
    char *before;
    (void)state;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.max_tickets = 7;
    fleet_open_options(&fleet, &options, "round_robin");
    for (size_t i = 0; i < 3; i++)
        fleet_add(&fleet);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(fleet_pick(&fleet), i % 3);
    before = state_text(fleet.router, 0, STATE_WITHOUT_REJECTIONS);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
        assert_int_equal(fleet.code, LBROUTE_ERR_LIMIT);
    }
    state_check(fleet.router, 0, STATE_WITHOUT_REJECTIONS, before);
    fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_pick(&fleet), 1);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(co_01_failed_call_keeps_slot),
        cmocka_unit_test(co_03_refused_request_uses_quota),
        cmocka_unit_test(co_03_refused_prompt_is_forgotten),
        cmocka_unit_test(co_05_limit_counted_twice),
        cmocka_unit_test(co_06_overloaded_mark_sticks),
        cmocka_unit_test(co_07_first_one_takes_the_rest),
        cmocka_unit_test(co_kind_forgotten_tickets),
        cmocka_unit_test(co_kind_limit_changes),
        cmocka_unit_test(co_kind_limits_hold),
        cmocka_unit_test(co_kind_first_token_keeps_slot),
        cmocka_unit_test(co_kind_counts_of_a_removed_target),
        cmocka_unit_test(co_kind_move_between_pools),
        cmocka_unit_test(co_kind_full_among_other_reasons),
        cmocka_unit_test(co_kind_other_rejections),
        cmocka_unit_test(co_kind_needle_in_a_full_fleet),
        cmocka_unit_test(co_kind_ticket_table_full),
    };
    return cmocka_run_group_tests_name("CO", tests, NULL, NULL);
}
