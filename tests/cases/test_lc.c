/* SPDX-License-Identifier: MIT */
/* Field reports LC: least connections, relative to weight. */
#include <math.h>
#include <stdlib.h>

#include "support/fleet.h"
#include "support/rng.h"
#include "support/test.h"

#define SEEDS 20

/* ---- the reported cases ---- */

/* A strict less-than over the list sent all ties to the first server; entries
 * that could not be used took part. Ties are drawn without replacement, so the
 * split is exact for every seed. */
static void lc_01_ties_go_to_the_first(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fleet fleet;
        fleet_open(&fleet, "least_connections", 2, seed);
        for (size_t i = 0; i < 30; i++)
            fleet_serve(&fleet);
        assert_int_equal(fleet.picks[0], 15);
        assert_int_equal(fleet.picks[1], 15);

        fleet_reset_picks(&fleet);
        for (size_t i = 0; i < 40; i++)
            fleet_pick(&fleet);
        assert_int_equal(fleet.picks[0], 20);
        assert_int_equal(fleet.picks[1], 20);
        fleet_close(&fleet);
    }
}

/* The idle target at its limit or at weight 0 is not compared. */
static void lc_01_unusable_targets_left_out(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    fleet_add_limit(&fleet, 1);
    fleet_add_weight(&fleet, 0);
    fleet_hold(&fleet, 0, 4);
    fleet_hold(&fleet, 1, 5);
    fleet_hold(&fleet, 2, 1);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(fleet_pick_frozen(&fleet), 0);
    fleet_close(&fleet);
}

/* The order of a heap was reused after each release, so the same few of five
 * idle nodes came up again and again. */
static void lc_02_equal_targets_never_reached(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fleet fleet;
        fleet_open(&fleet, "least_connections", 5, seed);
        for (size_t i = 0; i < 10; i++)
            fleet_serve(&fleet);
        for (size_t i = 0; i < 5; i++)
            assert_true(fleet.picks[i] > 0);
        for (size_t i = 10; i < 50; i++)
            fleet_serve(&fleet);
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(fleet.picks[i], 10);
        fleet_close(&fleet);
    }
}

static void expect_lowest(const size_t *loads, size_t n, size_t lowest)
{
    struct fleet fleet;

    fleet_open(&fleet, "least_connections", n, 1);
    for (size_t i = 0; i < n; i++)
        fleet_hold(&fleet, i, loads[i]);
    assert_int_equal(fleet_explain(&fleet), lowest);
    assert_int_equal(fleet_pick(&fleet), lowest);
    fleet_close(&fleet);
}

static void permute(size_t *loads, size_t n, size_t fixed)
{
    if (fixed == n) {
        size_t lowest = 0;
        while (loads[lowest] != 0)
            lowest++;
        expect_lowest(loads, n, lowest);
        return;
    }
    for (size_t i = fixed; i < n; i++) {
        size_t kept = loads[fixed];
        loads[fixed] = loads[i];
        loads[i] = kept;
        permute(loads, n, fixed + 1);
        loads[i] = loads[fixed];
        loads[fixed] = kept;
    }
}

/* The scan compared with its starting value, not with the best so far. */
static void lc_03_minimum_not_updated(void **state)
{
    size_t loads[5] = {0, 1, 2, 3, 4};
    const size_t three[3] = {5, 1, 3};
    const size_t five[5] = {9, 4, 7, 2, 6};
    (void)state;

    permute(loads, 5, 0);
    expect_lowest(three, 3, 1);
    expect_lowest(five, 5, 3);
}

/* Load read on a timer put whole batches on one pod, because what had just
 * been sent was not counted. */
static void lc_06_timer_figures_bunch_up(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fleet fleet;
        fleet_open(&fleet, "least_connections", 3, seed);
        for (size_t i = 0; i < 3; i++)
            fleet_gauge(&fleet, i, LBROUTE_GAUGE_RUNNING, 2);
        for (size_t i = 0; i < 30; i++)
            fleet_pick(&fleet);
        for (size_t i = 0; i < 3; i++)
            assert_near(fleet.picks[i], 10, 1);
        fleet_close(&fleet);
    }
}

/* Two servers with a fixed service time each, in virtual time. */
struct service {
    struct fleet fleet;
    uint64_t latency[2];
    uint64_t started[2][2400]; /* Of each request, in order. */
    size_t first[2];           /* Oldest one still open. */
    size_t last[2];            /* One past the newest. */
    double busy[2];            /* Integral of requests in flight, ns. */
};

static void check_shares_unflagged(struct fleet *fleet)
{
    lbroute_share shares[2];

    for (size_t i = 0; i < 2; i++)
        lbroute_share_init(&shares[i], sizeof shares[i]);
    assert_int_equal(lbroute_pool_shares(fleet->router, fleet->pool, fleet->now,
                                         shares, 2, NULL),
                     LBROUTE_OK);
    assert_int_equal(shares[0].flagged, 0);
    assert_int_equal(shares[1].flagged, 0);
}

/* Ends what is due until |now|. */
static void complete_due(struct service *service, uint64_t now)
{
    for (size_t i = 0; i < 2; i++) {
        while (service->first[i] < service->last[i]) {
            uint64_t due =
                service->started[i][service->first[i]] + service->latency[i];
            if (due > now)
                break;
            service->fleet.now = due;
            fleet_settle(&service->fleet, i, LBROUTE_EVENT_SUCCESS);
            service->busy[i] += (double)service->latency[i];
            service->first[i]++;
        }
    }
    service->fleet.now = now;
}

static void run_service(struct service *service, uint64_t gap)
{
    for (size_t n = 0; n < 2400; n++) {
        size_t index;
        complete_due(service, n * gap);
        index = fleet_pick(&service->fleet);
        service->started[index][service->last[index]++] = n * gap;
        if (n % 100 == 99)
            check_shares_unflagged(&service->fleet);
    }
}

/* The slower of two equal servers holds its requests longer and gets fewer:
 * open work is what is equal, and no drift display may call that a fault. */
static void lc_07_unequal_totals_are_no_fault(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct service *service = calloc(1, sizeof *service);
        assert_non_null(service);
        service->latency[0] = 100 * TEST_MS;
        service->latency[1] = 300 * TEST_MS;
        fleet_open(&service->fleet, "least_connections", 2, seed);
        run_service(service, 25 * TEST_MS);
        assert_near(service->busy[0] / service->busy[1], 1, 0.15);
        assert_in_real_range((double)service->fleet.picks[0] / 2400, 0.68,
                             0.80);
        fleet_close(&service->fleet);
        free(service);
    }
}

/* ---- more of the same kind ---- */

/* Sequential requests visit all equal targets before any twice, at all sizes
 * and whatever is re-applied in between. */
static void lc_kind_every_tie_is_served_first(void **state)
{
    static const size_t sizes[] = {2, 3, 7, 16, 17, 64, 100, 257};
    (void)state;

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct fleet fleet;
        fleet_open(&fleet, "least_connections", sizes[s], 31 + s);
        for (size_t round = 1; round <= 3; round++) {
            for (size_t i = 0; i < sizes[s]; i++) {
                fleet_serve(&fleet);
                fleet_reapply(&fleet, i);
            }
            for (size_t i = 0; i < sizes[s]; i++)
                assert_int_equal(fleet.picks[i], round);
        }
        fleet_close(&fleet);
    }
}

/* A constant number of requests in flight, oldest out first: all equal targets
 * get the same. */
static void lc_kind_rolling_window_is_even(void **state)
{
    (void)state;
    for (size_t open = 1; open <= 9; open++) {
        struct fleet fleet;
        fleet_open(&fleet, "least_connections", 5, open);
        for (size_t i = 0; i < 1000; i++) {
            fleet_pick(&fleet);
            if (fleet.held_count > open)
                fleet_settle(&fleet, fleet.held[0].index,
                             LBROUTE_EVENT_SUCCESS);
        }
        for (size_t i = 0; i < 5; i++)
            assert_near(fleet.picks[i], 200, 20);
        fleet_close(&fleet);
    }
}

/* Loads and weights at random: the answer is the lowest quotient. */
static void lc_kind_lowest_quotient(void **state)
{
    static const double weights[] = {0.25, 0.5, 1, 2, 3, 8};
    struct test_rng rng = {5};
    (void)state;

    for (int round = 0; round < 200; round++) {
        size_t n = 2 + test_rng_below(&rng, 30);
        double lowest = 1e300, load, weight;
        struct fleet fleet;
        fleet_open(&fleet, "least_connections", 0, 1);
        for (size_t i = 0; i < n; i++) {
            weight = weights[test_rng_below(&rng, 6)];
            load = (double)test_rng_below(&rng, 20);
            fleet_add_weight(&fleet, weight);
            fleet_hold(&fleet, i, (size_t)load);
            if (load / weight < lowest)
                lowest = load / weight;
        }
        for (int i = 0; i < 20; i++) {
            size_t index = fleet_pick_frozen(&fleet);
            weight = fleet_stats(&fleet, index).weight;
            load = (double)fleet_in_flight(&fleet, index);
            assert_near(load / weight, lowest, 1e-12);
        }
        fleet_close(&fleet);
    }
}

/* Held requests end in the ratio of the weights. */
static void lc_kind_burst_follows_weights(void **state)
{
    static const double weights[4] = {4, 2, 1, 0.5};
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 0, 1);
    for (size_t i = 0; i < 4; i++) {
        fleet_add_weight(&fleet, weights[i]);
        fleet_set_limit(&fleet, i, 0);
    }
    for (size_t i = 0; i < 750; i++)
        fleet_pick(&fleet);
    for (size_t i = 0; i < 4; i++)
        assert_near(fleet.picks[i], 100 * weights[i], 2 * weights[i] + 1);
    fleet_close(&fleet);
}

/* A target that flaps does not disturb the others' turns. */
static void lc_kind_flapping_target(void **state)
{
    struct test_rng rng = {8};
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct fleet fleet;
        fleet_open(&fleet, "least_connections", 4, seed);
        for (size_t i = 0; i < 2000; i++) {
            fleet_drain(&fleet, 2, (int)test_rng_below(&rng, 2));
            fleet_serve(&fleet);
        }
        assert_near((double)fleet.picks[0] / (double)fleet.picks[1], 1, 0.1);
        assert_near((double)fleet.picks[3] / (double)fleet.picks[1], 1, 0.1);
        assert_true(fleet.picks[2] > 0);
        fleet_close(&fleet);
    }
}

/* Removing one of the tied in the middle of a turn skips no survivor. */
static void lc_kind_removal_among_ties(void **state)
{
    (void)state;
    for (size_t served = 0; served < 6; served++) {
        for (size_t gone = 0; gone < 6; gone++) {
            struct fleet fleet;
            fleet_open(&fleet, "least_connections", 6, 3 + served);
            for (size_t i = 0; i < served; i++)
                fleet_serve(&fleet);
            fleet_remove(&fleet, gone);
            fleet_reset_picks(&fleet);
            for (size_t i = 0; i < 10; i++)
                fleet_serve(&fleet);
            for (size_t i = 0; i < 6; i++)
                assert_in_real_range((double)fleet.picks[i], i == gone ? 0 : 1,
                                     i == gone ? 0 : 3);
            fleet_close(&fleet);
        }
    }
}

/* Unequal scrapes: a burst evens out the sums of scraped and own requests. */
static void lc_kind_burst_on_unequal_scrapes(void **state)
{
    static const double running[4] = {0, 3, 6, 12};
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 4, 2);
    for (size_t i = 0; i < 4; i++) {
        fleet_gauge(&fleet, i, LBROUTE_GAUGE_RUNNING, running[i]);
        fleet_gauge(&fleet, i, LBROUTE_GAUGE_WAITING, 0);
    }
    for (size_t i = 0; i < 47; i++)
        fleet_pick(&fleet);
    /* 21 and 47 requests over four targets: 17 each. */
    for (size_t i = 0; i < 4; i++)
        assert_near(fleet.picks[i], 17 - running[i], 0);
    fleet_close(&fleet);
}

/* A target without a scrape is neither best nor worst: it counts the mean of
 * the others. */
static void lc_kind_unknown_is_the_mean(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 3, 2);
    fleet_gauge(&fleet, 0, LBROUTE_GAUGE_RUNNING, 2);
    fleet_gauge(&fleet, 1, LBROUTE_GAUGE_RUNNING, 6);
    assert_near(fleet_stats(&fleet, 2).load, 4, 1e-9);
    assert_int_equal(fleet_pick_frozen(&fleet), 0);
    fleet_hold(&fleet, 0, 3);
    assert_int_equal(fleet_pick_frozen(&fleet), 2);
    fleet_hold(&fleet, 2, 3);
    assert_int_equal(fleet_pick_frozen(&fleet), 0);
    fleet_close(&fleet);
}

/* A scrape counts in full until load.signal_ttl, fades out over one more, and
 * then says nothing. */
static void lc_kind_stale_scrape_fades(void **state)
{
    struct fleet fleet;
    double last = 10;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 2);
    fleet_gauge(&fleet, 0, LBROUTE_GAUGE_RUNNING, 10);
    fleet_gauge(&fleet, 1, LBROUTE_GAUGE_RUNNING, 0);
    fleet.now = 10 * TEST_S;
    assert_near(fleet_stats(&fleet, 0).load, 10, 1e-9);
    for (int i = 0; i < 10; i++) {
        double gap;
        fleet.now += TEST_S;
        gap = fleet_stats(&fleet, 0).load - fleet_stats(&fleet, 1).load;
        assert_in_real_range(gap, 0, last);
        last = gap;
    }
    fleet.now += 1;
    assert_near(fleet_stats(&fleet, 0).load, fleet_stats(&fleet, 1).load, 1e-9);
    fleet_reset_picks(&fleet);
    for (size_t i = 0; i < 20; i++)
        fleet_pick(&fleet);
    assert_int_equal(fleet.picks[0], 10);
    fleet_close(&fleet);
}

/* One half of a scrape stops coming while the other goes on: the old half does
 * not stay fresh with it. */
static void lc_kind_stale_half_of_a_scrape(void **state)
{
    lbroute_target_stats stats;
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 2);
    fleet_gauge(&fleet, 0, LBROUTE_GAUGE_RUNNING, 50);
    fleet_gauge(&fleet, 1, LBROUTE_GAUGE_RUNNING, 0);
    for (int i = 0; i < 60; i++) {
        fleet_gauge(&fleet, 0, LBROUTE_GAUGE_WAITING, 0);
        fleet_gauge(&fleet, 1, LBROUTE_GAUGE_WAITING, 0);
        fleet.now += TEST_S;
    }
    stats = fleet_stats(&fleet, 0);
    assert_true(isnan(stats.gauges[LBROUTE_GAUGE_RUNNING]));
    assert_near(stats.load, fleet_stats(&fleet, 1).load, 1e-9);
    fleet_close(&fleet);
}

/* Any speed ratio: open work is even, no share is flagged. */
static void lc_kind_other_speed_ratios(void **state)
{
    static const uint64_t slow[] = {100, 150, 200, 500};
    (void)state;

    for (size_t s = 0; s < sizeof slow / sizeof *slow; s++) {
        struct service *service = calloc(1, sizeof *service);
        assert_non_null(service);
        service->latency[0] = 100 * TEST_MS;
        service->latency[1] = slow[s] * TEST_MS;
        fleet_open(&service->fleet, "least_connections", 2, 9);
        run_service(service, 7 * TEST_MS);
        assert_near(service->busy[0] / service->busy[1], 1, 0.15);
        fleet_close(&service->fleet);
        free(service);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lc_01_ties_go_to_the_first),
        cmocka_unit_test(lc_01_unusable_targets_left_out),
        cmocka_unit_test(lc_02_equal_targets_never_reached),
        cmocka_unit_test(lc_03_minimum_not_updated),
        cmocka_unit_test(lc_06_timer_figures_bunch_up),
        cmocka_unit_test(lc_07_unequal_totals_are_no_fault),
        cmocka_unit_test(lc_kind_every_tie_is_served_first),
        cmocka_unit_test(lc_kind_rolling_window_is_even),
        cmocka_unit_test(lc_kind_lowest_quotient),
        cmocka_unit_test(lc_kind_burst_follows_weights),
        cmocka_unit_test(lc_kind_flapping_target),
        cmocka_unit_test(lc_kind_removal_among_ties),
        cmocka_unit_test(lc_kind_burst_on_unequal_scrapes),
        cmocka_unit_test(lc_kind_unknown_is_the_mean),
        cmocka_unit_test(lc_kind_stale_scrape_fades),
        cmocka_unit_test(lc_kind_stale_half_of_a_scrape),
        cmocka_unit_test(lc_kind_other_speed_ratios),
    };
    return cmocka_run_group_tests_name("LC", tests, NULL, NULL);
}
