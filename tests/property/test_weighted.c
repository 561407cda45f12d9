/* SPDX-License-Identifier: MIT */
/*
 * `weighted` against nginx's smooth weighted round-robin, kept as exact
 * numbers and scanned target by target.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "exact.h"
#include "prng.h"
#include "rotation.h"

static struct rotation_shape shape_of(enum rotation_weights weights,
                                      uint32_t distinct, uint32_t targets)
{
    struct rotation_shape shape = {
        .strategy = "weighted",
        .weights = weights,
        .distinct = distinct,
        .targets = targets,
        .churn = 10,
        .tiers = 1,
        .picks = scaled(4000),
    };
    return shape;
}

static void run_seeds(struct rotation_shape shape, uint64_t seeds)
{
    for (uint64_t seed = 1; seed <= seeds; seed++)
        rotation_run(&shape, seed);
}

static void small_pools_of_integers(void **state)
{
    (void)state;
    run_seeds(shape_of(ROTATION_INTEGERS, 4, 5), 20);
}

static void small_pools_of_tenths(void **state)
{
    (void)state;
    run_seeds(shape_of(ROTATION_TENTHS, 5, 8), 20);
}

static void medium_pools_of_decimals(void **state)
{
    (void)state;
    run_seeds(shape_of(ROTATION_DECIMALS, 12, 40), 20);
}

static void large_pools_of_many_weights(void **state)
{
    (void)state;
    run_seeds(shape_of(ROTATION_DECIMALS, 50, 200), 10);
}

static void large_pools_of_few_weights(void **state)
{
    (void)state;
    run_seeds(shape_of(ROTATION_INTEGERS, 3, 200), 10);
}

static void reals_are_taken_exactly(void **state)
{
    (void)state;
    run_seeds(shape_of(ROTATION_REALS, 10, 30), 20);
}

static void extreme_ratios(void **state)
{
    (void)state;
    run_seeds(shape_of(ROTATION_EXTREMES, 14, 20), 20);
}

static void equal_weights(void **state)
{
    (void)state;
    run_seeds(shape_of(ROTATION_EQUAL, 1, 60), 10);
}

static void tiers_have_sequences_of_their_own(void **state)
{
    (void)state;
    struct rotation_shape shape = shape_of(ROTATION_TENTHS, 8, 40);
    shape.tiers = 3;
    run_seeds(shape, 20);
}

static void constant_churn(void **state)
{
    (void)state;
    struct rotation_shape shape = shape_of(ROTATION_TENTHS, 8, 60);
    shape.churn = 90;
    run_seeds(shape, 20);
}

static void long_quiet_run(void **state)
{
    (void)state;
    struct rotation_shape shape = shape_of(ROTATION_DECIMALS, 50, 50);
    shape.churn = 0;
    shape.picks = scaled(100000);
    run_seeds(shape, 2);
}

static void start_pair(lbroute_router *router, double a, double b,
                       lbroute_pool *pool)
{
    *pool = api_pool(router, "pool", "weighted");
    api_target(router, *pool, "a", a);
    api_target(router, *pool, "b", b);
}

/* Both are b a b b for ever; 0.1 and 0.3 as binary fractions would drift. */
static void tenths_behave_like_integers(void **state)
{
    (void)state;
    check_context("0.1 and 0.3 against 1 and 3", 0);
    lbroute_router *tenths = api_router(1);
    lbroute_router *integers = api_router(1);
    lbroute_request of_tenths;
    lbroute_request of_integers;
    lbroute_pool pool;
    start_pair(tenths, 0.1, 0.3, &pool);
    api_request(&of_tenths, pool);
    start_pair(integers, 1, 3, &pool);
    api_request(&of_integers, pool);

    for (size_t i = 0; i < scaled(100000); i++) {
        check_step(i);
        lbroute_decision a;
        lbroute_decision b;
        api_pick(tenths, &of_tenths, 0, &a);
        api_pick(integers, &of_integers, 0, &b);
        CHECK_I(a.target_name[0], b.target_name[0]);
        CHECK_I(a.target_name[0], i % 4 == 1 ? 'a' : 'b');
        api_settle(tenths, a.ticket, LBROUTE_EVENT_SUCCESS, 0);
        api_settle(integers, b.ticket, LBROUTE_EVENT_SUCCESS, 0);
    }
    lbroute_router_destroy(tenths);
    lbroute_router_destroy(integers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_pools_of_integers),
        cmocka_unit_test(small_pools_of_tenths),
        cmocka_unit_test(medium_pools_of_decimals),
        cmocka_unit_test(large_pools_of_many_weights),
        cmocka_unit_test(large_pools_of_few_weights),
        cmocka_unit_test(reals_are_taken_exactly),
        cmocka_unit_test(extreme_ratios),
        cmocka_unit_test(equal_weights),
        cmocka_unit_test(tiers_have_sequences_of_their_own),
        cmocka_unit_test(constant_churn),
        cmocka_unit_test(long_quiet_run),
        cmocka_unit_test(tenths_behave_like_integers),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
