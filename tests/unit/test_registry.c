/* SPDX-License-Identifier: MIT */
/* state/registry: who is where, and moves that fail half way. */
#include "state/registry.h"

#include <stdlib.h>
#include <string.h>

#include "consistency.h"
#include "support/fleet.h"
#include "support/rng.h"
#include "support/state.h"
#include "support/test.h"

#define POOLS 5
#define TARGETS 8

static const char *const strategies[POOLS] = {"weighted", "consistent_hash",
                                              "least_connections",
                                              "round_robin", "sticky_session"};

struct world {
    struct fleet fleet;
    lbroute_pool pools[POOLS + 1]; /* 0: none */
    struct test_rng rng;
};

static void open_world(struct world *world, uint64_t seed)
{
    lbroute_router_options options;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = seed;
    fleet_open_options(&world->fleet, &options, strategies[0]);
    world->rng.state = seed;
    world->pools[0] = 0;
    world->pools[1] = world->fleet.pool;
    for (size_t i = 1; i < POOLS; i++)
        world->pools[i + 1] =
            fleet_add_pool(&world->fleet, strategies[i], strategies[i]);
}

/* Some place: a pool or none, a tier, a model or none, and a weight. */
static lbroute_target_options random_place(struct world *world)
{
    static const char *const tiers[] = {"", "gold", "silver"};
    static const char *const models[] = {"", "m", "n"};
    lbroute_target_options options;

    lbroute_target_options_init(&options, sizeof options);
    options.pool = world->pools[test_rng_below(&world->rng, POOLS + 1)];
    options.tier = tiers[test_rng_below(&world->rng, 3)];
    options.tier_len = strlen(options.tier);
    options.model = models[test_rng_below(&world->rng, 3)];
    options.model_len = strlen(options.model);
    options.weight = (double)test_rng_below(&world->rng, 4);
    return options;
}

static void add_target(struct world *world)
{
    lbroute_target_options options = random_place(world);

    (void)fleet_add_options(&world->fleet, &options);
}

/* Moves a target while the next allocation is refused, then the one after
 * that, until it is moved. Each failure must leave everything as it was. */
static uint64_t move_against_odds(struct world *world, size_t index,
                                  const lbroute_target_options *options)
{
    struct fleet *fleet = &world->fleet;

    for (uint64_t after = 0;; after++) {
        char *before = state_text(fleet->router, fleet->now, STATE_FULL);
        int result;

        test_alloc_fail(&fleet->alloc, after, 1);
        result = lbroute_target_update(fleet->router, fleet->targets[index],
                                       options, fleet->now);
        test_alloc_heal(&fleet->alloc);
        check_router(fleet->router);
        if (result == LBROUTE_OK) {
            free(before);
            return after;
        }
        assert_int_equal(result, LBROUTE_ERR_NO_MEMORY);
        state_check(fleet->router, fleet->now, STATE_FULL, before);
    }
}

static void moves_without_memory_leave_no_trace(void **state)
{
    struct world world;
    uint64_t failures = 0;
    (void)state;

    open_world(&world, 1);
    for (size_t i = 0; i < TARGETS; i++)
        add_target(&world);
    for (int move = 0; move < 300; move++) {
        lbroute_target_options options = random_place(&world);
        size_t index = (size_t)test_rng_below(&world.rng, TARGETS);

        failures += move_against_odds(&world, index, &options);
    }
    assert_true(failures > 300);
    fleet_close(&world.fleet);
}

/* The same for one that is new. */
static void additions_without_memory_leave_no_trace(void **state)
{
    struct world world;
    struct fleet *fleet = &world.fleet;
    (void)state;

    open_world(&world, 2);
    for (uint64_t round = 0; round < 60; round++) {
        lbroute_target_options options = random_place(&world);
        char name[32];

        fleet_name(fleet->count, name);
        options.name = name;
        options.name_len = strlen(name);
        for (uint64_t after = 0;; after++) {
            char *before = state_text(fleet->router, 0, STATE_FULL);
            lbroute_target target;
            int result;

            test_alloc_fail(&fleet->alloc, after, 1);
            result = lbroute_target_add(fleet->router, &options, 0, &target);
            test_alloc_heal(&fleet->alloc);
            if (result == LBROUTE_OK) {
                free(before);
                assert_int_equal(lbroute_target_remove(fleet->router, target),
                                 0);
                break;
            }
            state_check(fleet->router, 0, STATE_FULL, before);
            check_router(fleet->router);
        }
        if (round % 2)
            add_target(&world);
    }
    fleet_close(fleet);
}

static void random_moves(void **state)
{
    struct world world;
    struct fleet *fleet = &world.fleet;
    (void)state;

    open_world(&world, 3);
    for (int step = 0; step < 3000; step++) {
        lbroute_target_options options = random_place(&world);
        size_t index = (size_t)test_rng_below(&world.rng, fleet->count + 1);

        if (index == fleet->count) {
            if (fleet->count < 40)
                add_target(&world);
        } else if (test_rng_below(&world.rng, 20) == 0) {
            (void)lbroute_target_remove(fleet->router, fleet->targets[index]);
        } else {
            (void)lbroute_target_update(fleet->router, fleet->targets[index],
                                        &options, 0);
        }
        check_router(fleet->router);
    }
    fleet_close(fleet);
}

static void the_target_takes_its_requests_along(void **state)
{
    lbroute_target_options options;
    struct world world;
    struct fleet *fleet = &world.fleet;
    (void)state;

    open_world(&world, 4);
    fleet->pool = fleet->request.pool = world.pools[1];
    (void)fleet_add(fleet);
    fleet_pick(fleet);
    fleet_pick(fleet);
    fleet_target_options(fleet, &options);
    options.pool = world.pools[3];
    assert_int_equal(lbroute_target_update(fleet->router, fleet->targets[0],
                                           &options, fleet->now),
                     LBROUTE_OK);
    assert_int_equal(fleet_in_flight(fleet, 0), 2);
    fleet_settle_all(fleet, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_in_flight(fleet, 0), 0);
    fleet_close(fleet);
}

/* To the place where it is: nothing moves. */
static void settling_again_keeps_the_place(void **state)
{
    struct fleet fleet;
    struct lbr_target *target;
    struct lbr_place place;
    uint64_t calls;
    (void)state;

    fleet_open(&fleet, "round_robin", 3, 1);
    target = lbr_router_target(fleet.router, fleet.targets[1]);
    place.pool = target->pool;
    place.tier = target->tier;
    place.model = lbr_text(NULL, 0);
    calls = fleet.alloc.calls;
    assert_int_equal(lbr_target_settle(fleet.router, target, &place), 0);
    assert_int_equal(target->by_pool.position, 1);
    assert_int_equal(fleet.alloc.calls, calls);
    check_router(fleet.router);
    fleet_expect(&fleet, "ABC");
    fleet_close(&fleet);
}

static void unsettled_targets_are_nowhere(void **state)
{
    struct world world;
    struct fleet *fleet = &world.fleet;
    (void)state;

    open_world(&world, 5);
    for (size_t i = 0; i < 20; i++)
        add_target(&world);
    test_alloc_fail(&fleet->alloc, 0, UINT64_MAX);
    for (size_t i = 0; i < 20; i++) {
        lbr_target_unsettle(
            fleet->router, lbr_router_target(fleet->router, fleet->targets[i]));
        check_router(fleet->router);
    }
    assert_int_equal(fleet->router->models.live, 0);
    assert_int_equal(fleet->alloc.failures, 0);
    fleet_close(fleet);
}

/* Names are found whole, and only while their owner lives. */
static void names(void **state)
{
    struct fleet fleet;
    struct lbr_target *target;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    (void)fleet_add_named(&fleet, "gpu");
    (void)fleet_add_named(&fleet, "gpu-0");
    target = lbr_target_named(fleet.router, lbr_text("gpu", 3));
    assert_ptr_equal(target, lbr_router_target(fleet.router, fleet.targets[0]));
    assert_null(lbr_target_named(fleet.router, lbr_text("gpu-", 4)));
    assert_null(lbr_target_named(fleet.router, lbr_text("gpu\0", 4)));
    assert_null(lbr_target_named(fleet.router, lbr_text(NULL, 0)));
    assert_null(lbr_pool_named(fleet.router, lbr_text("gpu", 3)));
    assert_null(lbr_model_named(fleet.router, lbr_text("gpu", 3)));
    fleet_remove(&fleet, 0);
    assert_null(lbr_target_named(fleet.router, lbr_text("gpu", 3)));
    fleet_close(&fleet);
}

static void limits(void **state)
{
    lbroute_router_options options;
    struct fleet fleet;
    struct lbr_target *target = NULL;
    struct lbr_pool *pool = NULL;
    (void)state;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.max_pools = 1;
    options.max_targets = 2;
    fleet_open_options(&fleet, &options, "weighted");
    (void)fleet_add(&fleet);
    (void)fleet_add(&fleet);
    assert_int_equal(lbr_pool_create(fleet.router, lbr_text("p", 1), &pool),
                     LBROUTE_ERR_LIMIT);
    assert_int_equal(lbr_target_create(fleet.router, lbr_text("t", 1), &target),
                     LBROUTE_ERR_LIMIT);
    assert_null(lbr_pool_named(fleet.router, lbr_text("p", 1)));
    assert_null(lbr_target_named(fleet.router, lbr_text("t", 1)));
    check_router(fleet.router);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_without_memory_leave_no_trace),
        cmocka_unit_test(additions_without_memory_leave_no_trace),
        cmocka_unit_test(random_moves),
        cmocka_unit_test(the_target_takes_its_requests_along),
        cmocka_unit_test(settling_again_keeps_the_place),
        cmocka_unit_test(unsettled_targets_are_nowhere),
        cmocka_unit_test(names),
        cmocka_unit_test(limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
