/* SPDX-License-Identifier: MIT */
/* state/group: what is worked out at times, and what moves in between. */
#include "state/group.h"

#include <stdlib.h>
#include <string.h>

#include "consistency.h"
#include "support/fleet.h"
#include "support/rng.h"
#include "support/state.h"
#include "support/test.h"

#define TARGETS 10
#define STRATEGIES 7

/* Tickets outlive the test. */
static void open_fleet(struct fleet *fleet, const char *strategy)
{
    lbroute_router_options options;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.ticket_ttl = 100 * TEST_H;
    fleet_open_options(fleet, &options, strategy);
    for (size_t i = 0; i < TARGETS; i++)
        (void)fleet_add(fleet);
}

static struct lbr_target *target_at(struct fleet *fleet, size_t index)
{
    return lbr_router_target(fleet->router, fleet->targets[index]);
}

/* The group of the current pool and the empty tier. */
static struct lbr_group *group_of(struct fleet *fleet)
{
    struct lbr_pool *pool = lbr_router_pool(fleet->router, fleet->pool);

    return lbr_groups_find(pool->groups, lbr_text(NULL, 0));
}

static void check_now(struct fleet *fleet)
{
    struct lbr_group *group = group_of(fleet);

    check_router(fleet->router);
    lbr_group_ensure(group, fleet->router->clock);
    check_group(group);
}

static void change_target(struct fleet *fleet, size_t index,
                          struct test_rng *rng)
{
    switch (test_rng_below(rng, 8)) {
    case 0:
        fleet_set_weight(fleet, index, (double)test_rng_below(rng, 4));
        break;
    case 1:
        fleet_set_limit(fleet, index, (uint32_t)test_rng_below(rng, 4));
        break;
    case 2:
        fleet_drain(fleet, index, (int)test_rng_below(rng, 2));
        break;
    case 3:
        fleet_bench(fleet, index, test_rng_below(rng, 5) * TEST_S);
        break;
    case 4:
    case 5:
    case 6:
        fleet_gauge(fleet, index, LBROUTE_GAUGE_RUNNING,
                    (double)test_rng_below(rng, 50));
        break;
    default:
        fleet_remove(fleet, index);
        fleet_add_again(fleet, index);
    }
}

static void change_pool(struct fleet *fleet, struct test_rng *rng)
{
    switch (test_rng_below(rng, 4)) {
    case 0:
        fleet_param(fleet, "health.slow_start",
                    (double)test_rng_below(rng, 20));
        break;
    case 1:
        fleet_param(fleet, "load.signal_ttl",
                    1 + (double)test_rng_below(rng, 10));
        break;
    case 2:
        fleet_param(fleet, "consistent_hash.weighted_points",
                    (double)test_rng_below(rng, 2));
        break;
    default:
        fleet_strategy(fleet, lbroute_strategy_name(
                                  (size_t)test_rng_below(rng, STRATEGIES)));
    }
}

static void one_operation(struct fleet *fleet, struct test_rng *rng)
{
    uint64_t dice = test_rng_below(rng, 100);

    fleet->now += test_rng_below(rng, 2) * test_rng_below(rng, TEST_S);
    if (dice < 45)
        (void)fleet_pick(fleet);
    else if (dice < 75 && fleet->held_count)
        fleet_settle_last(fleet,
                          LBROUTE_EVENT_SUCCESS + (int)test_rng_below(rng, 6));
    else if (dice < 90)
        change_target(fleet, (size_t)test_rng_below(rng, TARGETS), rng);
    else if (dice < 95)
        change_pool(fleet, rng);
}

static void tables_follow_the_targets(void **state)
{
    struct test_rng rng = {1};
    (void)state;

    for (size_t strategy = 0; strategy < STRATEGIES; strategy++) {
        struct fleet fleet;

        open_fleet(&fleet, lbroute_strategy_name(strategy));
        for (int step = 0; step < 3000; step++) {
            one_operation(&fleet, &rng);
            check_now(&fleet);
        }
        fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
        check_now(&fleet);
        fleet_close(&fleet);
    }
}

/* What a renewal worked out of a target. */
struct worked_out {
    double extra, weight;
    int in_service;
};

static void note(const struct lbr_group *group, struct worked_out *out)
{
    for (uint32_t i = 0; i < group->count; i++) {
        out[i].extra = group->members[i]->extra;
        out[i].weight = group->members[i]->weight_now;
        out[i].in_service = group->members[i]->in_service;
    }
}

static void check_noted(const struct lbr_group *group,
                        const struct worked_out *out)
{
    for (uint32_t i = 0; i < group->count; i++) {
        assert_near(group->members[i]->extra, out[i].extra, 1e-12);
        assert_near(group->members[i]->weight_now, out[i].weight, 0);
        assert_int_equal(group->members[i]->in_service, out[i].in_service);
    }
}

static void renewals_hold_as_long_as_they_say(void **state)
{
    struct test_rng rng = {2};
    struct fleet fleet;
    (void)state;

    open_fleet(&fleet, "least_connections");
    fleet_param(&fleet, "health.slow_start", 7);
    for (int step = 0; step < 2000; step++) {
        struct lbr_group *group = group_of(&fleet);
        struct worked_out worked_out[TARGETS];
        uint64_t from = fleet.now + test_rng_next(&rng) % (30 * TEST_S);
        uint64_t until;

        lbr_group_renew(group, from);
        until = group->valid_until;
        assert_true(until > from);
        note(group, worked_out);
        if (until != UINT64_MAX) {
            lbr_group_renew(group, until - 1);
            check_noted(group, worked_out);
            lbr_group_renew(group, from + test_rng_next(&rng) % (until - from));
            check_noted(group, worked_out);
        } else {
            lbr_group_renew(group, from + TEST_H);
            check_noted(group, worked_out);
        }
        group->stale = 1;
        one_operation(&fleet, &rng);
        fleet_strategy(&fleet, "least_connections");
    }
    fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
    fleet_close(&fleet);
}

/* Where others are unknown, the mean of the known takes their place. */
static void the_unknown_count_as_the_mean(void **state)
{
    struct fleet fleet;
    struct lbr_group *group;
    (void)state;

    fleet_open(&fleet, "least_connections", 4, 1);
    fleet_gauge(&fleet, 0, LBROUTE_GAUGE_RUNNING, 10);
    fleet_gauge(&fleet, 1, LBROUTE_GAUGE_RUNNING, 20);
    fleet_gauge(&fleet, 2, LBROUTE_GAUGE_RUNNING, 0);
    group = group_of(&fleet);
    lbr_group_renew(group, 0);
    assert_near(group->others_mean, 10, 1e-12);
    assert_near(target_at(&fleet, 0)->extra, 10, 1e-12);
    assert_near(target_at(&fleet, 1)->extra, 20, 1e-12);
    assert_near(target_at(&fleet, 2)->extra, 0, 1e-12);
    assert_near(target_at(&fleet, 3)->extra, 10, 1e-12);

    /* Half faded: half its own, half the mean. */
    fleet.now = 5 * TEST_S;
    fleet_gauge(&fleet, 0, LBROUTE_GAUGE_RUNNING, 40);
    lbr_group_renew(group, 15 * TEST_S);
    assert_near(group->others_mean, (40 + 20 * 0.5 + 0 * 0.5) / 2, 1e-12);
    assert_near(target_at(&fleet, 1)->extra, 0.5 * 20 + 0.5 * 25, 1e-12);
    fleet_close(&fleet);
}

static void what_members_have_in_common(void **state)
{
    lbroute_target_options options;
    struct fleet fleet;
    struct lbr_group *group;
    (void)state;

    fleet_open(&fleet, "weighted", 1, 1);
    group = group_of(&fleet);
    lbr_group_renew(group, 0);
    assert_true(group->smallest_input == UINT64_MAX);
    assert_null(group->model);
    assert_false(group->mixed_models);

    fleet_target_options(&fleet, &options);
    options.model = "m";
    options.model_len = 1;
    options.max_input_tokens = 500;
    (void)fleet_add_options(&fleet, &options);
    options.max_input_tokens = 300;
    (void)fleet_add_options(&fleet, &options);
    lbr_group_renew(group, 0);
    assert_true(group->smallest_input == 300);
    assert_true(group->mixed_models);
    fleet_remove(&fleet, 0);
    lbr_group_renew(group, 0);
    assert_false(group->mixed_models);
    assert_ptr_equal(group->model, target_at(&fleet, 1)->model);
    fleet_close(&fleet);
}

/* Repeats a change with allocation N refused until it succeeds. */
static uint64_t change_against_odds(struct fleet *fleet,
                                    int (*change)(struct fleet *fleet))
{
    for (uint64_t after = 0;; after++) {
        char *before = state_text(fleet->router, fleet->now, STATE_FULL);
        int result;

        test_alloc_fail(&fleet->alloc, after, 1);
        result = change(fleet);
        test_alloc_heal(&fleet->alloc);
        check_now(fleet);
        if (result == LBROUTE_OK) {
            free(before);
            return after;
        }
        assert_int_equal(result, LBROUTE_ERR_NO_MEMORY);
        state_check(fleet->router, fleet->now, STATE_FULL, before);
    }
}

static int to_ring(struct fleet *fleet)
{
    static const char name[] = "consistent_hash";

    return lbroute_pool_update(fleet->router, fleet->pool, name,
                               sizeof name - 1);
}

static int to_order(struct fleet *fleet)
{
    static const char name[] = "sticky_session";

    return lbroute_pool_update(fleet->router, fleet->pool, name,
                               sizeof name - 1);
}

static int to_schedule(struct fleet *fleet)
{
    return lbroute_pool_update(fleet->router, fleet->pool, NULL, 0);
}

static int to_weighted_points(struct fleet *fleet)
{
    return lbroute_pool_set(fleet->router, fleet->pool,
                            "consistent_hash.weighted_points", 1);
}

static int to_equal_points(struct fleet *fleet)
{
    return lbroute_pool_set(fleet->router, fleet->pool,
                            "consistent_hash.weighted_points", 0);
}

static int to_heavy(struct fleet *fleet)
{
    return lbroute_target_set_weight(fleet->router, fleet->targets[0], 50,
                                     fleet->now);
}

static void add_golden(struct fleet *fleet)
{
    lbroute_target_options options;

    fleet_target_options(fleet, &options);
    options.tier = "gold";
    options.tier_len = 4;
    options.weight = 3;
    (void)fleet_add_options(fleet, &options);
}

static void changes_without_memory_leave_no_trace(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "random", 40, 1);
    for (int i = 0; i < 20; i++)
        add_golden(&fleet);
    assert_true(change_against_odds(&fleet, to_ring) > 2);
    assert_true(change_against_odds(&fleet, to_weighted_points) > 2);
    assert_true(change_against_odds(&fleet, to_heavy) > 0);
    assert_true(change_against_odds(&fleet, to_equal_points) > 2);
    (void)change_against_odds(&fleet, to_order);
    assert_true(change_against_odds(&fleet, to_schedule) > 2);
    assert_true(change_against_odds(&fleet, to_order) > 2);
    fleet_close(&fleet);
}

static void points_follow_weights(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "consistent_hash", 0, 1);
    (void)fleet_add_weight(&fleet, 1);
    (void)fleet_add_weight(&fleet, 2.5);
    assert_int_equal(target_at(&fleet, 1)->by_pool.ring_points, 100);
    assert_int_equal(to_weighted_points(&fleet), LBROUTE_OK);
    assert_int_equal(target_at(&fleet, 0)->by_pool.ring_points, 100);
    assert_int_equal(target_at(&fleet, 1)->by_pool.ring_points, 250);
    fleet_set_weight(&fleet, 1, 0.5);
    assert_int_equal(target_at(&fleet, 1)->by_pool.ring_points, 50);
    (void)fleet_add_weight(&fleet, 4);
    assert_int_equal(target_at(&fleet, 2)->by_pool.ring_points, 400);
    assert_int_equal(to_equal_points(&fleet), LBROUTE_OK);
    assert_int_equal(target_at(&fleet, 1)->by_pool.ring_points, 100);
    check_now(&fleet);
    fleet_close(&fleet);
}

/* Sums that no service could have led to, of a round of 4 for each of 4: two of
 * them are taken back to nothing, and what is left is even. */
static void no_more_turns_than_needed(void **state)
{
    struct lbr_wide most = lbr_schedule_weight(8);
    struct fleet fleet;
    struct lbr_group *group;
    (void)state;

    fleet_open(&fleet, "weighted", 4, 1);
    group = group_of(&fleet);
    for (uint32_t i = 0; i < 4; i++)
        lbr_schedule_set_sum(&group->schedule,
                             &lbr_group_member(group, i)->turn,
                             lbr_schedule_weight(9));
    lbr_group_accept_turns(group);
    for (uint32_t i = 0; i < 4; i++) {
        struct lbr_wide sum = lbr_schedule_sum(
            &group->schedule, &lbr_group_member(group, i)->turn);
        struct lbr_wide wanted = {0, 0};

        assert_true(lbr_wide_equal(sum, i < 2 ? wanted : most));
    }
    fleet_close(&fleet);
}

static void buckets_of_time(void **state)
{
    struct test_rng rng = {4};
    struct fleet fleet;
    struct lbr_group *group;
    (void)state;

    fleet_open(&fleet, "weighted", 1, 1);
    group = group_of(&fleet);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = test_rng_below(&rng, 100000);

        assert_int_equal(lbr_group_share_bucket(group, now, 777), now / 777);
    }
    assert_true(lbr_group_share_bucket(group, UINT64_MAX, 777) ==
                UINT64_MAX / 777);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_follow_the_targets),
        cmocka_unit_test(renewals_hold_as_long_as_they_say),
        cmocka_unit_test(the_unknown_count_as_the_mean),
        cmocka_unit_test(what_members_have_in_common),
        cmocka_unit_test(changes_without_memory_leave_no_trace),
        cmocka_unit_test(points_follow_weights),
        cmocka_unit_test(no_more_turns_than_needed),
        cmocka_unit_test(buckets_of_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
