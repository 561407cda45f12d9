/* SPDX-License-Identifier: MIT */
/* Field reports RR: round robin. */
#include <string.h>

#include "support/fleet.h"
#include "support/rng.h"
#include "support/test.h"

#include "models/rotation.h"

/* ---- the reported cases ---- */

/* Serves three rounds of a rotation of |n| that is told it has served |preset|
 * requests before, and checks that the order is cyclic. */
static void serve_from_preset(uint64_t preset, uint32_t n)
{
    struct lbr_rotation rotation = {0};
    struct lbr_rotation_place places[128];

    rotation.served = preset;
    for (uint32_t i = 0; i < n; i++) {
        lbr_rotation_add(&rotation, &places[i], i ? &places[i - 1] : NULL,
                         &places[0]);
        lbr_rotation_set_active(&rotation, &places[i], 1);
    }
    for (uint32_t i = 0; i < 3 * n; i++) {
        struct lbr_rotation_place *place = lbr_rotation_peek(&rotation);
        assert_ptr_equal(place, &places[i % n]);
        lbr_rotation_serve(&rotation, place);
    }
}

/* A free-running counter turned negative and became a bad index; where it
 * wraps without sign, the target at the wrap is served twice. */
static void rr_01_counter_wrap(void **state)
{
    (void)state;
    serve_from_preset(4294967294u, 3);
    serve_from_preset(2147483646u, 3);
    serve_from_preset(4294967294u, 5);
    serve_from_preset(2147483646u, 5);
}

/* A scrape that says what it said before, and the same settings again. */
static void refresh_all(struct fleet *fleet)
{
    fleet_strategy(fleet, "round_robin");
    for (size_t i = 0; i < fleet->count; i++) {
        fleet_reapply(fleet, i);
        fleet_gauge(fleet, i, LBROUTE_GAUGE_RUNNING, 0);
        fleet_gauge(fleet, i, LBROUTE_GAUGE_WAITING, 0);
    }
}

/* Every refresh of the list put the rotation back to the first server. */
static void rr_04_refresh_restarts_rotation(void **state)
{
    static const char order[] = "ABCDABCD";
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "round_robin", 4, 1);
    for (size_t i = 0; order[i] != '\0'; i++) {
        assert_int_equal(fleet_serve(&fleet), order[i] - 'A');
        refresh_all(&fleet);
    }
    fleet_close(&fleet);

    fleet_open(&fleet, "round_robin", 4, 1);
    fleet_expect(&fleet, "AB");
    fleet_add(&fleet);
    fleet_expect(&fleet, "CDEA");
    fleet_close(&fleet);

    fleet_open(&fleet, "round_robin", 4, 1);
    fleet_expect(&fleet, "AB");
    fleet_remove(&fleet, 1);
    fleet_expect(&fleet, "CDACDA");
    fleet_close(&fleet);
}

/* The index ran from 1 to n: the first replica was never first and the last
 * index lay behind the list. */
static void rr_05_first_index_skipped(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "round_robin", 1, 1);
    fleet_expect(&fleet, "AAA");
    fleet_close(&fleet);
    fleet_open(&fleet, "round_robin", 2, 1);
    fleet_expect(&fleet, "AB");
    fleet_close(&fleet);
    fleet_open(&fleet, "round_robin", 5, 1);
    fleet_expect(&fleet, "ABCDE");
    fleet_close(&fleet);
}

/* ---- more of the same kind ---- */

/* Every size, around every power of two at which a counter could end. */
static void rr_kind_counter_wrap_everywhere(void **state)
{
    (void)state;

    for (uint32_t n = 1; n <= 128; n++)
        for (unsigned bit = 7; bit < 63; bit++)
            serve_from_preset((UINT64_C(1) << bit) - 2, n);
}

/* The first request goes to target 0 and the n-th to target n-1, whatever the
 * size and the seed. */
static void rr_kind_first_and_last_index(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 70; n++) {
        struct fleet fleet;
        fleet_open(&fleet, "round_robin", n, n * 977);
        for (size_t i = 0; i < 2 * n; i++)
            assert_int_equal(fleet_serve(&fleet), i % n);
        fleet_close(&fleet);
    }
}

/* Refreshes of every sort between all picks, held open or not. */
static void rr_kind_update_storm(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 9; n++) {
        struct fleet fleet;
        fleet_open(&fleet, "round_robin", n, 3);
        for (size_t i = 0; i < 5 * n; i++) {
            refresh_all(&fleet);
            fleet_set_weight(&fleet, i % n, 1.0 + (double)(i % 3));
            fleet_param(&fleet, "health.bench_after", 5);
            assert_int_equal(fleet_pick(&fleet), i % n);
            refresh_all(&fleet);
            if (i % 2 == 0)
                fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
            fleet.now += TEST_S;
        }
        fleet_close(&fleet);
    }
}

/* Removes |gone| after |served| picks of |n| targets and checks that the
 * survivors go on in their order, from the one that was next. */
static void remove_and_go_on(size_t n, size_t served, size_t gone)
{
    struct fleet fleet;
    size_t next = served % n;

    fleet_open(&fleet, "round_robin", n, 5);
    for (size_t i = 0; i < served; i++)
        fleet_serve(&fleet);
    fleet_remove(&fleet, gone);
    for (size_t i = 0; i < 2 * n; i++) {
        if (next == gone)
            next = (next + 1) % n;
        assert_int_equal(fleet_serve(&fleet), next);
        next = (next + 1) % n;
    }
    fleet_close(&fleet);
}

/* A removal skips no survivor and repeats none. */
static void rr_kind_removal_in_the_middle(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 6; n++) {
        for (size_t served = 0; served <= n + 1; served++) {
            for (size_t gone = 0; gone < n; gone++)
                remove_and_go_on(n, served, gone);
        }
    }
}

/* After an addition each target has its turn before any has a second. */
static void rr_kind_addition_in_the_middle(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 6; n++) {
        for (size_t served = 0; served <= 2 * n; served++) {
            struct fleet fleet;
            fleet_open(&fleet, "round_robin", n, 5);
            for (size_t i = 0; i < served; i++)
                fleet_serve(&fleet);
            fleet_add(&fleet);
            if (served % n != 0)
                assert_int_equal(fleet_explain(&fleet), served % n);
            fleet_reset_picks(&fleet);
            for (size_t i = 0; i <= n; i++)
                fleet_serve(&fleet);
            for (size_t i = 0; i <= n; i++)
                assert_int_equal(fleet.picks[i], 1);
            fleet_close(&fleet);
        }
    }
}

static void drain(struct fleet *fleet)
{
    fleet_drain(fleet, 2, 1);
}

static void bench(struct fleet *fleet)
{
    fleet_bench(fleet, 2, TEST_H);
}

static void fill(struct fleet *fleet)
{
    fleet_set_limit(fleet, 2, 2);
    fleet_hold(fleet, 2, 2);
}

static void exclude(struct fleet *fleet)
{
    fleet->request.exclude = &fleet->targets[2];
    fleet->request.exclude_len = 1;
}

static void other_tier(struct fleet *fleet)
{
    lbroute_target_options options;
    fleet_target_options(fleet, &options);
    options.tier = "other";
    options.tier_len = 5;
    assert_int_equal(lbroute_target_update(fleet->router, fleet->targets[2],
                                           &options, fleet->now),
                     LBROUTE_OK);
}

/* A target out of the rotation gives its share to all, not to the one that
 * stands behind it in the list. */
static void rr_kind_share_of_an_absent_target(void **state)
{
    static void (*const ways[])(struct fleet *) = {drain, bench, fill, exclude,
                                                   other_tier};
    (void)state;

    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        struct fleet fleet;
        fleet_open(&fleet, "round_robin", 4, 7);
        fleet_expect(&fleet, "AB");
        ways[way](&fleet);
        fleet_reset_picks(&fleet);
        for (size_t i = 0; i < 300; i++)
            fleet_serve(&fleet);
        assert_int_equal(fleet.picks[2], 0);
        assert_near(fleet.picks[0], 100, 1);
        assert_near(fleet.picks[1], 100, 1);
        assert_near(fleet.picks[3], 100, 1);
        fleet_close(&fleet);
    }
}

/* A target that comes and goes at random robs nobody and favours nobody. */
static void rr_kind_flapping_target(void **state)
{
    struct test_rng rng = {11};
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "round_robin", 4, 7);
    for (size_t i = 0; i < 4000; i++) {
        fleet_drain(&fleet, 2, (int)test_rng_below(&rng, 2));
        fleet_serve(&fleet);
    }
    assert_near((double)fleet.picks[0] / (double)fleet.picks[3], 1, 0.05);
    assert_near((double)fleet.picks[1] / (double)fleet.picks[3], 1, 0.05);
    assert_true(fleet.picks[2] > 0);
    assert_true(fleet.picks[2] <= fleet.picks[0]);
    fleet_close(&fleet);
}

/* Requests that see different parts of a pool take turns: each part still
 * goes round, whatever the other requests did in between. */
static void rr_kind_alternating_tiers(void **state)
{
    static const char *const tiers[2] = {"x", "y"};
    struct fleet fleet;
    lbroute_target_options options;
    (void)state;

    fleet_open(&fleet, "round_robin", 0, 1);
    for (size_t i = 0; i < 4; i++) {
        fleet_target_options(&fleet, &options);
        options.tier = tiers[i / 2];
        options.tier_len = 1;
        fleet_add_options(&fleet, &options);
    }
    for (size_t i = 0; i < 400; i++) {
        fleet.request.tier = tiers[i % 2];
        fleet.request.tier_len = 1;
        assert_int_equal(fleet_serve(&fleet) / 2, i % 2);
    }
    for (size_t i = 0; i < 4; i++)
        assert_near(fleet.picks[i], 100, 1);
    fleet_close(&fleet);
}

/* Every second request is a retry that excludes one target. The others share
 * what it does not take. */
static void rr_kind_alternating_exclusions(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "round_robin", 3, 1);
    for (size_t i = 0; i < 600; i++) {
        fleet.request.exclude = &fleet.targets[0];
        fleet.request.exclude_len = i % 2;
        fleet_serve(&fleet);
    }
    assert_in_real_range((double)fleet.picks[0], 95, 205);
    assert_near(fleet.picks[1], (double)fleet.picks[2], 10);
    fleet_close(&fleet);
}

/* Large requests fit only half of the targets, small ones all: in turn, they
 * still leave nobody out. */
static void rr_kind_alternating_sizes(void **state)
{
    struct fleet fleet;
    lbroute_target_options options;
    (void)state;

    fleet_open(&fleet, "round_robin", 0, 1);
    for (size_t i = 0; i < 4; i++) {
        fleet_target_options(&fleet, &options);
        options.max_input_tokens = i < 2 ? 100 : 0;
        fleet_add_options(&fleet, &options);
    }
    for (size_t i = 0; i < 400; i++) {
        fleet.request.input_tokens = i % 2 == 0 ? 1000 : 10;
        fleet_serve(&fleet);
    }
    for (size_t i = 0; i < 4; i++)
        assert_in_real_range((double)fleet.picks[i], 45, 155);
    fleet_close(&fleet);
}

/* Two models in one pool, asked for in turn: each goes round by itself. */
static void rr_kind_alternating_models(void **state)
{
    static const char *const models[2] = {"m1", "m2"};
    struct fleet fleet;
    lbroute_target_options options;
    (void)state;

    fleet_open(&fleet, "round_robin", 0, 1);
    for (size_t i = 0; i < 4; i++) {
        fleet_target_options(&fleet, &options);
        options.model = models[i / 2];
        options.model_len = 2;
        fleet_add_options(&fleet, &options);
    }
    for (size_t i = 0; i < 400; i++) {
        fleet.request.model = models[i % 2];
        fleet.request.model_len = 2;
        assert_int_equal(fleet_serve(&fleet) / 2, i % 2);
    }
    for (size_t i = 0; i < 4; i++)
        assert_near(fleet.picks[i], 100, 1);
    fleet_close(&fleet);
}

/* Two pools do not share a cursor. */
static void rr_kind_cursor_per_pool(void **state)
{
    struct fleet fleet;
    lbroute_pool pools[2];
    (void)state;

    fleet_open(&fleet, "round_robin", 2, 1);
    pools[0] = fleet.pool;
    pools[1] = fleet_add_pool(&fleet, "second", "round_robin");
    fleet_add(&fleet);
    fleet_add(&fleet);
    for (size_t i = 0; i < 40; i++) {
        fleet.request.pool = pools[i % 2];
        assert_int_equal(fleet_serve(&fleet), 2 * (i % 2) + (i / 2) % 2);
    }
    fleet_close(&fleet);
}

/* Rejected and explained requests, and reads, leave the rotation alone. */
static void rr_kind_reads_and_rejections(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "round_robin", 3, 1);
    for (size_t i = 0; i < 30; i++) {
        lbroute_target all[3];
        memcpy(all, fleet.targets, sizeof all);
        fleet.request.exclude = all;
        fleet.request.exclude_len = 3;
        for (size_t j = 0; j < 5; j++)
            assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
        fleet.request.exclude_len = 0;
        for (size_t j = 0; j < 5; j++)
            assert_int_equal(fleet_explain(&fleet), i % 3);
        fleet_totals(&fleet);
        fleet_stats(&fleet, i % 3);
        assert_int_equal(fleet_serve(&fleet), i % 3);
    }
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rr_01_counter_wrap),
        cmocka_unit_test(rr_04_refresh_restarts_rotation),
        cmocka_unit_test(rr_05_first_index_skipped),
        cmocka_unit_test(rr_kind_counter_wrap_everywhere),
        cmocka_unit_test(rr_kind_first_and_last_index),
        cmocka_unit_test(rr_kind_update_storm),
        cmocka_unit_test(rr_kind_removal_in_the_middle),
        cmocka_unit_test(rr_kind_addition_in_the_middle),
        cmocka_unit_test(rr_kind_share_of_an_absent_target),
        cmocka_unit_test(rr_kind_flapping_target),
        cmocka_unit_test(rr_kind_alternating_tiers),
        cmocka_unit_test(rr_kind_alternating_exclusions),
        cmocka_unit_test(rr_kind_alternating_sizes),
        cmocka_unit_test(rr_kind_alternating_models),
        cmocka_unit_test(rr_kind_cursor_per_pool),
        cmocka_unit_test(rr_kind_reads_and_rejections),
    };
    return cmocka_run_group_tests_name("RR", tests, NULL, NULL);
}
