/* SPDX-License-Identifier: MIT */
/*
 * `round_robin` against a plain queue: whoever has waited longest is next. That
 * is a rotation in list order as long as nobody drops out, and whoever is
 * passed over gives its share to all, not to its neighbour.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "prng.h"
#include "rotation.h"

static void run_seeds(uint32_t targets, uint32_t churn, int tiers,
                      uint64_t seeds)
{
    struct rotation_shape shape = {
        .strategy = "round_robin",
        .weights = ROTATION_TENTHS,
        .distinct = 6,
        .targets = targets,
        .churn = churn,
        .tiers = tiers,
        .picks = scaled(4000),
    };
    for (uint64_t seed = 1; seed <= seeds; seed++)
        rotation_run(&shape, seed);
}

static void small_pools(void **state)
{
    (void)state;
    run_seeds(4, 15, 1, 40);
}

static void large_pools(void **state)
{
    (void)state;
    run_seeds(200, 15, 1, 15);
}

static void constant_churn(void **state)
{
    (void)state;
    run_seeds(30, 90, 1, 30);
}

static void quiet_run(void **state)
{
    (void)state;
    run_seeds(100, 0, 1, 20);
}

static void tiers_rotate_on_their_own(void **state)
{
    (void)state;
    run_seeds(30, 15, 3, 20);
}

/* --- What that amounts to ------------------------------------------------ */

enum { TARGETS = 17, ROUNDS = 50 };

struct pool_of {
    lbroute_router *router;
    lbroute_request request;
    lbroute_target targets[TARGETS];
};

static void start(struct pool_of *pool, uint64_t seed)
{
    pool->router = api_router(seed);
    lbroute_pool handle = api_pool(pool->router, "pool", "round_robin");
    api_targets(pool->router, handle, TARGETS, pool->targets);
    api_request(&pool->request, handle);
}

/* With k of n eligible from the start, these k serve in list order, round
 * after round. */
static void the_eligible_rotate_in_list_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        check_context("list order", seed);
        struct rng rng;
        rng_seed(&rng, seed);
        struct pool_of pool;
        start(&pool, seed);
        int drained[TARGETS];
        for (size_t i = 0; i < TARGETS; i++) {
            drained[i] = i > 0 && rng_chance(&rng, 50);
            CHECK_I(lbroute_target_drain(pool.router, pool.targets[i],
                                         drained[i], 0),
                    LBROUTE_OK);
        }
        for (size_t i = 0; i < (size_t)ROUNDS * TARGETS; i++) {
            if (!drained[i % TARGETS])
                CHECK_U(api_serve(pool.router, &pool.request, 0,
                                  LBROUTE_EVENT_SUCCESS),
                        pool.targets[i % TARGETS]);
        }
        lbroute_router_destroy(pool.router);
    }
}

/* Two targets are passed over by most requests; what they miss goes to all
 * others alike, and not to those that follow them. */
static void missing_shares_go_to_all(void **state)
{
    (void)state;
    enum { PICKS = 17000 };
    for (uint64_t seed = 1; seed <= 5; seed++) {
        check_context("missing shares", seed);
        struct rng rng;
        rng_seed(&rng, seed);
        struct pool_of pool;
        start(&pool, seed);
        const lbroute_target avoided[] = {pool.targets[3], pool.targets[9]};
        pool.request.exclude = avoided;
        uint64_t avoided_picks = 0;
        for (int i = 0; i < PICKS; i++) {
            pool.request.exclude_len = rng_chance(&rng, 97) ? 2 : 0;
            (void)api_serve(pool.router, &pool.request, 0,
                            LBROUTE_EVENT_SUCCESS);
        }
        for (int i = 0; i < 2; i++)
            avoided_picks += api_target_stats(pool.router, avoided[i], 0).picks;
        double others = (double)(PICKS - avoided_picks) / (TARGETS - 2);
        CHECK(others > 1.05 * PICKS / TARGETS);
        for (size_t i = 0; i < TARGETS; i++) {
            uint64_t picks =
                api_target_stats(pool.router, pool.targets[i], 0).picks;
            if (i != 3 && i != 9)
                CHECK_NEAR((double)picks, others, 0.02 * others);
        }
        lbroute_router_destroy(pool.router);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_pools),
        cmocka_unit_test(large_pools),
        cmocka_unit_test(constant_churn),
        cmocka_unit_test(quiet_run),
        cmocka_unit_test(tiers_rotate_on_their_own),
        cmocka_unit_test(the_eligible_rotate_in_list_order),
        cmocka_unit_test(missing_shares_go_to_all),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
