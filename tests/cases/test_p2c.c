/* SPDX-License-Identifier: MIT */
/* Field reports P2C: power of two. */
#include "support/fleet.h"
#include "support/test.h"

/* Counts |n| picks, each of which leaves the figures as they were. */
static void pick_frozen(struct fleet *fleet, size_t n)
{
    fleet_reset_picks(fleet);
    for (size_t i = 0; i < n; i++)
        assert_true(fleet_pick_frozen(fleet) != FLEET_NONE);
}

/* ---- the reported cases ---- */

/* Sampling with replacement let the busiest host meet itself and win. */
static void p2c_01_samples_can_be_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct fleet fleet;
        fleet_open(&fleet, "power_of_two", 4, seed);
        for (size_t i = 0; i < 4; i++)
            fleet_hold(&fleet, i, i);
        pick_frozen(&fleet, 40000);
        assert_near((double)fleet.picks[0] / 40000, 0.5, 0.015);
        assert_near((double)fleet.picks[1] / 40000, 1.0 / 3, 0.015);
        assert_near((double)fleet.picks[2] / 40000, 1.0 / 6, 0.015);
        assert_int_equal(fleet.picks[3], 0);
        fleet_close(&fleet);

        fleet_open(&fleet, "power_of_two", 2, seed);
        fleet_hold(&fleet, 0, 5);
        pick_frozen(&fleet, 1000);
        assert_int_equal(fleet.picks[1], 1000);
        fleet_close(&fleet);
    }
}

/* A second draw that always gave index 0 let the first host take part in
 * every comparison. Load is compared relative to weight, so idle targets tie
 * and share equally with weights too. */
static void p2c_03_second_is_always_the_first(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct fleet fleet;
        fleet_open(&fleet, "power_of_two", 6, seed);
        pick_frozen(&fleet, 60000);
        for (size_t i = 0; i < 6; i++)
            assert_near((double)fleet.picks[i] / 60000, 1.0 / 6, 0.01);
        fleet_set_weight(&fleet, 0, 2);
        pick_frozen(&fleet, 60000);
        for (size_t i = 0; i < 6; i++)
            assert_near((double)fleet.picks[i] / 60000, 1.0 / 6, 0.01);
        fleet_close(&fleet);
    }
}

static void scrape(struct fleet *fleet, size_t index, double running)
{
    fleet_gauge(fleet, index, LBROUTE_GAUGE_RUNNING, running);
    fleet_gauge(fleet, index, LBROUTE_GAUGE_WAITING, 0);
}

/* Between two polls the same stale figure sent every request to the engine
 * that looked lighter at the last one. */
static void p2c_05_scrape_replaces_own_count(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct fleet fleet;
        fleet_open(&fleet, "power_of_two", 2, seed);
        scrape(&fleet, 0, 0);
        scrape(&fleet, 1, 1);
        assert_int_equal(fleet_pick(&fleet), 0);
        for (size_t i = 1; i < 8; i++)
            fleet_pick(&fleet);
        assert_in_real_range((double)fleet.picks[0], 4, 5);
        assert_int_equal(fleet.picks[0] + fleet.picks[1], 8);

        /* A scrape that shows these very requests counts none of them twice. */
        scrape(&fleet, 0, (double)fleet.picks[0]);
        scrape(&fleet, 1, (double)fleet.picks[1]);
        for (size_t i = 0; i < 2; i++)
            assert_near(fleet_stats(&fleet, i).load, fleet.picks[i], 0);

        fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
        scrape(&fleet, 0, 0);
        scrape(&fleet, 1, 0);
        assert_near(fleet_stats(&fleet, 0).load, 0, 0);
        assert_near(fleet_stats(&fleet, 1).load, 0, 0);
        fleet_reset_picks(&fleet);
        fleet_pick(&fleet);
        fleet_pick(&fleet);
        assert_int_equal(fleet.picks[0], 1);
        assert_int_equal(fleet.picks[1], 1);
        fleet_close(&fleet);
    }
}

/* ---- more of the same kind ---- */

/* With loads 0..n-1, target i wins against the n-1-i that are busier: its
 * share is 2(n-1-i)/(n(n-1)). */
static void p2c_kind_closed_form(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 9; n++) {
        struct fleet fleet;
        double pairs = (double)(n * (n - 1)) / 2;
        fleet_open(&fleet, "power_of_two", n, 40 + n);
        for (size_t i = 0; i < n; i++)
            fleet_hold(&fleet, i, i);
        pick_frozen(&fleet, 20000);
        for (size_t i = 0; i < n; i++) {
            double share = (double)(n - 1 - i) / pairs;
            assert_near((double)fleet.picks[i] / 20000, share, 0.018);
        }
        assert_int_equal(fleet.picks[n - 1], 0);
        fleet_close(&fleet);
    }
}

/* The draw is among the eligible: a target that is out is not one of the two,
 * so the other is never compared with nothing. */
static void p2c_kind_draws_among_the_eligible(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct fleet fleet;
        fleet_open(&fleet, "power_of_two", 5, 6);
        fleet_hold(&fleet, 0, 5);
        for (size_t i = 2; i < 5; i++) {
            if (way == 0)
                fleet_drain(&fleet, i, 1);
            if (way == 1)
                fleet_bench(&fleet, i, TEST_H);
            if (way == 2)
                fleet_remove(&fleet, i);
        }
        if (way == 3) {
            fleet.request.exclude = &fleet.targets[2];
            fleet.request.exclude_len = 3;
        }
        pick_frozen(&fleet, 1000);
        assert_int_equal(fleet.picks[1], 1000);
        fleet_close(&fleet);
    }
}

/* One eligible target needs no second draw. */
static void p2c_kind_single_target(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "power_of_two", 1, 6);
    for (size_t i = 0; i < 32; i++)
        assert_int_equal(fleet_pick(&fleet), 0);
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    fleet_close(&fleet);
}

/* Relative load decides: 6 on a target of weight 4 is less than 2 on one of
 * weight 1. */
static void p2c_kind_load_relative_to_weight(void **state)
{
    (void)state;
    for (size_t heavy = 0; heavy < 2; heavy++) {
        struct fleet fleet;
        fleet_open(&fleet, "power_of_two", 2, 6);
        fleet_set_weight(&fleet, heavy, 4);
        fleet_hold(&fleet, heavy, 6);
        fleet_hold(&fleet, 1 - heavy, 2);
        pick_frozen(&fleet, 500);
        assert_int_equal(fleet.picks[heavy], 500);
        fleet_hold(&fleet, heavy, 3);
        pick_frozen(&fleet, 500);
        assert_int_equal(fleet.picks[1 - heavy], 500);
        fleet_close(&fleet);
    }
}

/* Equal loads tie whatever their height, and list order decides nothing. */
static void p2c_kind_ties_ignore_list_order(void **state)
{
    (void)state;
    for (size_t load = 0; load <= 6; load += 3) {
        struct fleet fleet;
        fleet_open(&fleet, "power_of_two", 2, 17 + load);
        fleet_hold(&fleet, 0, load);
        fleet_hold(&fleet, 1, load);
        pick_frozen(&fleet, 4000);
        assert_near(fleet.picks[0], 2000, 160);
        fleet_close(&fleet);
    }
}

/* A burst between two scrapes follows scraped load plus own requests, also
 * when the scrapes come one target at a time. */
static void p2c_kind_burst_between_scrapes(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "power_of_two", 2, 5);
    for (int round = 0; round < 20; round++) {
        scrape(&fleet, 0, 4 + fleet_in_flight(&fleet, 0));
        fleet_pick(&fleet);
        scrape(&fleet, 1, fleet_in_flight(&fleet, 1));
        for (size_t i = 0; i < 12; i++)
            fleet_pick(&fleet);
        assert_near(fleet_stats(&fleet, 0).load, fleet_stats(&fleet, 1).load,
                    1);
        fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
        fleet.now += TEST_S;
    }
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p2c_01_samples_can_be_the_same),
        cmocka_unit_test(p2c_03_second_is_always_the_first),
        cmocka_unit_test(p2c_05_scrape_replaces_own_count),
        cmocka_unit_test(p2c_kind_closed_form),
        cmocka_unit_test(p2c_kind_draws_among_the_eligible),
        cmocka_unit_test(p2c_kind_single_target),
        cmocka_unit_test(p2c_kind_load_relative_to_weight),
        cmocka_unit_test(p2c_kind_ties_ignore_list_order),
        cmocka_unit_test(p2c_kind_burst_between_scrapes),
    };
    return cmocka_run_group_tests_name("P2C", tests, NULL, NULL);
}
