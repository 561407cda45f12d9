/* SPDX-License-Identifier: MIT */
/* Modes of admission: what counts as full. */
#include <math.h>

#include "support/state.h"
#include "support/test.h"
#include "waiting.h"

#define A 0
#define B 1

static void set_mode(struct fleet *fleet, int mode)
{
    fleet_param(fleet, "admission.mode", mode);
}

/* Picks until nobody has a slot; gives how many were picked. */
static size_t fill(struct fleet *fleet)
{
    size_t count = 0;

    while (count < 1000 && fleet_pick(fleet) != FLEET_NONE)
        count++;
    return count;
}

static void superfast(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    fleet_add_limit(&fleet, 32);
    fleet_add_limit(&fleet, 3);
    fleet_add_limit(&fleet, 0);
    set_mode(&fleet, LBROUTE_ADMISSION_SUPERFAST);
    assert_int_equal(fill(&fleet), 4 + 3 + 4);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    assert_int_equal(fleet.decision.reason, LBROUTE_REASON_SATURATED);
    assert_int_equal(fleet.decision.in_flight, 11);
    assert_int_equal(fleet.decision.max_concurrency, 11);
    assert_int_equal(fleet_stats(&fleet, A).limit, 4);
    assert_int_equal(fleet_stats(&fleet, B).limit, 3);
    fleet_param(&fleet, "admission.fast_limit", 2);
    fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fill(&fleet), 0);
    fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_pick(&fleet), A);
    assert_int_equal(fleet.decision.in_flight, 2);
    assert_int_equal(fleet.decision.max_concurrency, 2);
    fleet_close(&fleet);
}

/* At most 4 on a target, or its own limit if that is less; and none at all is
 * no way around it. */
static void superfast_limits(void **state)
{
    (void)state;
    fleet_for_each_strategy(superfast);
}

/* A mode counts from the next pick on, for targets that come later, too, and
 * for those that leave the pool no more. */
static void modes_at_run_time(void **state)
{
    lbroute_target_options options;
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 0, 1);
    fleet_add_limit(&fleet, 6);
    assert_int_equal(fill(&fleet), 6);
    set_mode(&fleet, LBROUTE_ADMISSION_SUPERFAST);
    assert_int_equal(fill(&fleet), 0);
    fleet_add_limit(&fleet, 6);
    assert_int_equal(fill(&fleet), 4);
    set_mode(&fleet, LBROUTE_ADMISSION_MAX_CONCURRENCY);
    assert_int_equal(fill(&fleet), 2);
    set_mode(&fleet, LBROUTE_ADMISSION_SUPERFAST);
    fleet_add_pool(&fleet, "other", "weighted");
    fleet_target_options(&fleet, &options);
    options.max_concurrency = 7;
    assert_int_equal(lbroute_target_update(fleet.router, fleet.targets[A],
                                           &options, fleet.now),
                     LBROUTE_OK);
    assert_int_equal(fleet_stats(&fleet, A).limit, 7);
    assert_int_equal(fill(&fleet), 1);
    assert_int_equal(waiting_stats(&fleet).in_flight, 7);
    assert_int_equal(waiting_stats(&fleet).limit, 7);
    fleet_close(&fleet);
}

/* Whoever finds no slot waits, though the queue is not switched on, and
 * however many do. */
static void queue_all(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    fleet_add_limit(&fleet, 2);
    set_mode(&fleet, LBROUTE_ADMISSION_QUEUE_ALL);
    fleet_param(&fleet, "queue.depth", 1);
    fleet_hold(&fleet, A, 2);
    for (uint64_t i = 0; i < 100; i++)
        waiting_queue(&fleet, i);
    for (uint64_t i = 0; i < 100; i++) {
        fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
        waiting_expect(&fleet, i);
    }
    fleet_close(&fleet);
}

static void expect_state(struct fleet *fleet, int busy, uint64_t changes)
{
    lbroute_pool_stats stats = waiting_stats(fleet);

    assert_int_equal(stats.mode, LBROUTE_ADMISSION_HYBRID);
    assert_int_equal(stats.busy, busy);
    assert_int_equal(stats.mode_changes, changes);
}

static void open_hybrid(struct fleet *fleet, size_t targets)
{
    fleet_open(fleet, "least_connections", 0, 1);
    set_mode(fleet, LBROUTE_ADMISSION_HYBRID);
    for (size_t i = 0; i < targets; i++)
        fleet_add_limit(fleet, 32);
}

/* Ten in flight make it busy, at which the next request finds the full limit;
 * it stays so with eight, and is quiet below that. */
static void hybrid_by_requests_in_flight(void **state)
{
    struct fleet fleet;
    (void)state;

    open_hybrid(&fleet, 3);
    for (int i = 0; i < 10; i++) {
        assert_int_not_equal(fleet_pick(&fleet), FLEET_NONE);
        assert_int_equal(fleet.decision.max_concurrency, 4);
        expect_state(&fleet, 0, 0);
    }
    /* The ten arrivals alone are 2/s, and in 6 s are forgotten. */
    fleet.now += 6 * TEST_S;
    assert_int_not_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.decision.max_concurrency, 32);
    expect_state(&fleet, 1, 1);
    for (int i = 0; i < 3; i++)
        fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
    fleet_serve(&fleet);
    assert_int_equal(fleet.decision.max_concurrency, 32);
    expect_state(&fleet, 1, 1);
    fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
    fleet_serve(&fleet);
    assert_int_equal(fleet.decision.max_concurrency, 4);
    expect_state(&fleet, 0, 2);
    fleet_close(&fleet);
}

/* Ten a second over 5 s make it busy, rejected ones included; below eight it is
 * quiet again. */
static void hybrid_by_arrivals(void **state)
{
    struct fleet fleet;
    (void)state;

    open_hybrid(&fleet, 1);
    fleet_set_limit(&fleet, A, 1);
    fleet_pick(&fleet);
    for (int i = 1; i < 49; i++) {
        fleet.now += 100 * TEST_MS;
        fleet_pick(&fleet);
        assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    }
    expect_state(&fleet, 0, 0);
    assert_near(waiting_stats(&fleet).arrivals, 9.8, 1e-9);
    fleet_pick(&fleet);
    expect_state(&fleet, 1, 1);
    /* 9/s for 20 s: between the thresholds. */
    for (int i = 0; i < 180; i++) {
        fleet.now += TEST_S / 9;
        fleet_pick(&fleet);
        expect_state(&fleet, 1, 1);
    }
    /* 7/s: below both. */
    for (int i = 0; i < 140; i++) {
        fleet.now += TEST_S / 7;
        fleet_pick(&fleet);
    }
    expect_state(&fleet, 0, 2);
    /* 9/s again: not enough. */
    for (int i = 0; i < 180; i++) {
        fleet.now += TEST_S / 9;
        fleet_pick(&fleet);
        expect_state(&fleet, 0, 2);
    }
    fleet_close(&fleet);
}

/* Requests that wait are under way, too: otherwise a pool of two targets could
 * never have ten. Whoever waits goes as soon as it is busy. */
static void hybrid_with_a_queue(void **state)
{
    struct fleet fleet;
    (void)state;

    open_hybrid(&fleet, 2);
    fleet_param(&fleet, "queue.enabled", 1);
    for (int i = 0; i < 8; i++)
        assert_int_not_equal(fleet_pick(&fleet), FLEET_NONE);
    for (uint64_t i = 0; i < 2; i++)
        waiting_queue(&fleet, i);
    waiting_expect_none(&fleet);
    waiting_queue(&fleet, 2);
    expect_state(&fleet, 1, 1);
    for (uint64_t i = 0; i < 3; i++)
        waiting_expect(&fleet, i);
    waiting_expect_none(&fleet);
    fleet_close(&fleet);
}

/* An explanation counts the request for itself alone. */
static void hybrid_explained(void **state)
{
    lbroute_decision told;
    struct fleet fleet;
    char *before;
    (void)state;

    open_hybrid(&fleet, 1);
    fleet.now = TEST_S;
    lbroute_decision_init(&told, sizeof told);
    for (int i = 0; i < 60; i++) {
        int code;
        before = state_text(fleet.router, fleet.now, STATE_FULL);
        code = lbroute_explain(fleet.router, &fleet.request, fleet.now, &told,
                               NULL, 0, NULL);
        state_check(fleet.router, fleet.now, STATE_FULL, before);
        fleet_pick(&fleet);
        assert_int_equal(code, fleet.code);
        assert_int_equal(told.max_concurrency, fleet.decision.max_concurrency);
        if (fleet.held_count > 1)
            fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
    }
    expect_state(&fleet, 1, 1);
    fleet_close(&fleet);
}

/* Bursts of 40 requests/s for 10 s, between them 10 s of 4/s: one change for
 * each end of a burst, whatever happens within it. */
static void hybrid_bursts(void **state)
{
    struct fleet fleet;
    (void)state;

    open_hybrid(&fleet, 4);
    for (uint64_t ms = 0; ms < 200000; ms += 25) {
        int burst = ms / 10000 % 2 == 0;
        fleet.now = ms * TEST_MS;
        if (ms % 250 == 0 || burst)
            fleet_pick(&fleet);
        while (fleet.held_count > (burst ? 20u + ms / 25 % 7 : 3u))
            fleet_settle(&fleet, fleet.held[0].index, LBROUTE_EVENT_SUCCESS);
    }
    expect_state(&fleet, 0, 20);
    fleet_close(&fleet);
}

static void expect_refused(struct fleet *fleet, const char *name, double value)
{
    assert_int_equal(lbroute_pool_set(fleet->router, fleet->pool, name, value),
                     LBROUTE_ERR_RANGE);
}

static void bad_values(void **state)
{
    static const int32_t priorities[] = {-9, 8, INT32_MAX, INT32_MIN};
    lbroute_pool_stats stats;
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 1, 1);
    expect_refused(&fleet, "admission.mode", LBROUTE_ADMISSION_COUNT);
    expect_refused(&fleet, "admission.mode", -1);
    expect_refused(&fleet, "admission.mode", 0.5);
    expect_refused(&fleet, "admission.fast_limit", 0);
    expect_refused(&fleet, "admission.calm", 1.01);
    expect_refused(&fleet, "queue.timeout", 0);
    expect_refused(&fleet, "queue.depth", -1);
    expect_refused(&fleet, "queue.aging", (double)NAN);
    for (size_t i = 0; i < 4; i++) {
        fleet.request.priority = priorities[i];
        fleet_pick(&fleet);
        assert_int_equal(fleet.code, LBROUTE_ERR_RANGE);
    }
    lbroute_pool_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_get_pool_stats(fleet.router, 1, &stats),
                     LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(lbroute_get_pool_stats(NULL, fleet.pool, &stats),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_get_pool_stats(fleet.router, fleet.pool, NULL),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_next_ready(NULL, 0, &fleet.decision),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_next_ready(fleet.router, 0, NULL),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_place_cancel(NULL, 1, 0), LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_place_cancel(fleet.router, UINT64_MAX, 0),
                     LBROUTE_ERR_NOT_FOUND);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(superfast_limits),
        cmocka_unit_test(modes_at_run_time),
        cmocka_unit_test(queue_all),
        cmocka_unit_test(hybrid_by_requests_in_flight),
        cmocka_unit_test(hybrid_by_arrivals),
        cmocka_unit_test(hybrid_with_a_queue),
        cmocka_unit_test(hybrid_explained),
        cmocka_unit_test(hybrid_bursts),
        cmocka_unit_test(bad_values),
    };
    return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
