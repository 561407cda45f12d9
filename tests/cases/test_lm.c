/* SPDX-License-Identifier: MIT */
/* Field reports LM: lookups and occupancy of offloaded caches. */
#include <math.h>
#include <string.h>

#include "support/fleet.h"
#include "support/test.h"

enum { A, B, C };

static struct fleet fleet;
static lbroute_target looked_up[8];
static uint64_t tokens[8];

static void occupy(size_t index, double occupancy, int available)
{
    assert_int_equal(lbroute_set_occupancy(fleet.router, fleet.targets[index],
                                           occupancy, available, fleet.now),
                     LBROUTE_OK);
}

/* Adds an entry to the lookup of the requests to come. */
static void find(size_t index, uint64_t matched)
{
    looked_up[fleet.request.lookup_len] = fleet.targets[index];
    tokens[fleet.request.lookup_len++] = matched;
    fleet.request.lookup_targets = looked_up;
    fleet.request.lookup_tokens = tokens;
}

static void forget(void)
{
    fleet.request.lookup_len = 0;
}

static void open_lm(size_t targets)
{
    fleet_open(&fleet, "lmcache_aware", targets, 1);
}

static const char *rule(void)
{
    return lbroute_rule_name(fleet.decision.rule);
}

/* ---- LM-01 ---- */

static void lm_01_longest_match(void **state)
{
    static const uint64_t matched[] = {256, 1024, 512};
    static const size_t orders[6][3] = {{A, B, C}, {A, C, B}, {B, A, C},
                                        {B, C, A}, {C, A, B}, {C, B, A}};
    (void)state;

    for (size_t order = 0; order < 6; order++)
        for (int reported = 0; reported < 2; reported++) {
            open_lm(3);
            fleet.request.input_tokens = 1200;
            for (size_t i = 0; i < 3; i++) {
                find(orders[order][i], matched[orders[order][i]]);
                if (reported)
                    occupy(i, 0.5, 1);
            }
            for (int i = 0; i < 20; i++)
                assert_int_equal(fleet_pick_frozen(&fleet), B);
            assert_string_equal(rule(), "lmcache_aware");
            assert_int_equal(fleet.decision.prefix_matched, 1024);
            assert_int_equal(fleet.decision.prefix_total, 1200);
            assert_near(fleet.decision.score, 1024.0 / 1200, 1e-12);
            fleet_close(&fleet);
        }
}

/* Several entries of one target: the longest. Stale handles: nothing. */
static void lm_01_kind_odd_lookups(void **state)
{
    (void)state;
    open_lm(3);
    find(A, 100);
    find(C, 300);
    find(C, 50);
    find(B, 200);
    assert_int_equal(fleet_pick_frozen(&fleet), C);
    assert_int_equal(fleet.decision.prefix_matched, 300);
    assert_int_equal(fleet.decision.prefix_total, -1);
    forget();
    find(A, 5);
    looked_up[1] = fleet.targets[B] + ((uint64_t)1 << 24);
    tokens[1] = 1000;
    looked_up[2] = 0;
    tokens[2] = UINT64_MAX;
    fleet.request.lookup_len = 3;
    assert_int_equal(fleet_pick_frozen(&fleet), A);
    forget();
    find(B, UINT64_MAX);
    fleet.request.input_tokens = 10;
    assert_int_equal(fleet_pick_frozen(&fleet), B);
    assert_true(fleet.decision.prefix_matched == INT64_MAX);
    assert_near(fleet.decision.score, 1, 0);
    forget();
    find(B, 0);
    fleet_pick_frozen(&fleet);
    assert_string_equal(rule(), "least_connections");
    assert_int_equal(fleet.decision.prefix_matched, 0);
    fleet_close(&fleet);
}

/* A lookup of one request says nothing to the next. */
static void lm_01_kind_lookups_do_not_last(void **state)
{
    (void)state;
    open_lm(3);
    find(C, 500);
    assert_int_equal(fleet_pick_frozen(&fleet), C);
    forget();
    fleet_pick_frozen(&fleet);
    assert_string_equal(rule(), "least_connections");
    assert_int_equal(fleet.decision.prefix_matched, -1);
    fleet_close(&fleet);
}

/* Inside the window only: the holder is left when it is too busy. */
static void lm_01_kind_busy_holder(void **state)
{
    (void)state;
    open_lm(2);
    find(A, 1000);
    fleet_hold(&fleet, A, 2);
    assert_int_equal(fleet_pick_frozen(&fleet), A);
    fleet_hold(&fleet, A, 1);
    assert_int_equal(fleet_pick_frozen(&fleet), B);
    fleet_close(&fleet);
}

/* Two with the same match: the one with more room, then the less busy. */
static void lm_01_kind_equal_matches(void **state)
{
    (void)state;
    open_lm(3);
    find(A, 640);
    find(B, 640);
    occupy(A, 0.9, 1);
    occupy(B, 0.1, 1);
    occupy(C, 0, 1);
    assert_int_equal(fleet_pick_frozen(&fleet), B);
    occupy(A, 0.1, 1);
    fleet_hold(&fleet, B, 1);
    assert_int_equal(fleet_pick_frozen(&fleet), A);
    fleet_close(&fleet);
}

/* ---- LM-03 ---- */

static void lm_03_stale_occupancy(void **state)
{
    lbroute_target_stats stats;
    (void)state;

    open_lm(2);
    fleet_param(&fleet, "lmcache_aware.ttl", 30);
    fleet.request.input_tokens = 1000;
    occupy(A, 0.5, 1);
    occupy(B, 0.5, 1);
    find(A, 800);
    find(B, 0);
    fleet_hold(&fleet, A, 1);
    fleet.now = 29999 * TEST_MS;
    assert_int_equal(fleet_pick_frozen(&fleet), A);
    assert_string_equal(rule(), "lmcache_aware");
    fleet.now = 30001 * TEST_MS;
    assert_int_equal(fleet_pick_frozen(&fleet), B);
    assert_string_equal(rule(), "least_connections");
    stats = fleet_stats(&fleet, A);
    assert_int_equal(stats.cache_stale, 1);
    assert_int_equal(stats.cache_available, -1);
    assert_true(isnan(stats.occupancy));
    assert_int_equal(stats.occupancy_age_ns, 30001 * TEST_MS);
    fleet.now = 31000 * TEST_MS;
    occupy(A, 0.2, 1);
    assert_int_equal(fleet_pick_frozen(&fleet), A);
    stats = fleet_stats(&fleet, A);
    assert_int_equal(stats.cache_stale, 0);
    assert_int_equal(stats.cache_available, 1);
    assert_near(stats.occupancy, 0.2, 0);
    fleet_close(&fleet);
}

/* The usual limit is ten seconds. */
static void lm_03_kind_default_limit(void **state)
{
    (void)state;
    open_lm(2);
    occupy(A, 0.9, 1);
    occupy(B, 0.1, 1);
    fleet.now = 10 * TEST_S;
    assert_int_equal(fleet_pick_frozen(&fleet), B);
    assert_string_equal(rule(), "lmcache_room");
    fleet.now += 1;
    fleet_pick_frozen(&fleet);
    assert_string_equal(rule(), "least_connections");
    fleet_close(&fleet);
}

/* What is unknown is neither best nor worst: its room is the others' mean. */
static void lm_03_kind_unknown_room(void **state)
{
    (void)state;
    open_lm(3);
    occupy(A, 0.8, 1);
    occupy(B, 0.2, 1);
    assert_int_equal(fleet_pick_frozen(&fleet), B);
    fleet_hold(&fleet, B, 1);
    assert_int_equal(fleet_pick_frozen(&fleet), C);
    assert_near(fleet.decision.score, 0.75, 1e-12);
    fleet_drain(&fleet, C, 1);
    /* 0.6 / 1 against 0.9 / 2. */
    assert_int_equal(fleet_pick_frozen(&fleet), A);
    fleet_close(&fleet);
}

/* A cache that cannot be used has no matches and no room of its own. */
static void lm_03_kind_unavailable(void **state)
{
    (void)state;
    open_lm(2);
    occupy(A, 0, 0);
    occupy(B, 0.9, 1);
    find(A, 900);
    find(B, 100);
    assert_int_equal(fleet_pick_frozen(&fleet), B);
    assert_int_equal(fleet.decision.prefix_matched, 100);
    assert_int_equal(fleet_stats(&fleet, A).cache_available, 0);
    occupy(A, 0, 1);
    assert_int_equal(fleet_pick_frozen(&fleet), A);
    occupy(A, (double)NAN, 1);
    assert_int_equal(fleet_pick_frozen(&fleet), A);
    occupy(A, 0, 0);
    occupy(B, 0, 0);
    fleet_pick_frozen(&fleet);
    assert_string_equal(rule(), "least_connections");
    fleet_close(&fleet);
}

/* Without any report or lookup it is least_connections, tie by tie. */
static void lm_03_kind_nothing_known(void **state)
{
    struct fleet plain;
    (void)state;

    open_lm(5);
    fleet_open(&plain, "least_connections", 5, 1);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(fleet_pick(&fleet), fleet_pick(&plain));
        assert_near(fleet.decision.score, plain.decision.score, 0);
        if (i % 3 == 0) {
            fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
            fleet_settle_last(&plain, LBROUTE_EVENT_SUCCESS);
        }
        if (fleet.held_count > 60) {
            fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
            fleet_settle_all(&plain, LBROUTE_EVENT_SUCCESS);
        }
    }
    fleet_close(&plain);
    fleet_close(&fleet);
}

/* Full caches draw no herd to the one with a percent to spare. */
static void lm_03_kind_full_caches(void **state)
{
    (void)state;
    open_lm(4);
    for (size_t i = 0; i < 4; i++)
        occupy(i, i == 2 ? 0.98 : 1, 1);
    for (int i = 0; i < 40; i++)
        fleet_pick(&fleet);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(fleet_in_flight(&fleet, i), 10);
    fleet_close(&fleet);
}

/* ---- LM-04 ---- */

static void lm_04_twins(void **state)
{
    (void)state;
    open_lm(2);
    fleet.request.input_tokens = 1000;
    occupy(A, 0.3, 1);
    occupy(B, 0.4, 1);
    find(A, 100);
    find(B, 900);
    fleet_remove(&fleet, A);
    assert_int_equal(fleet_pick_frozen(&fleet), B);
    assert_string_equal(rule(), "lmcache_aware");
    assert_int_equal(fleet.decision.prefix_matched, 900);
    fleet_add_again(&fleet, A);
    assert_int_equal(fleet_stats(&fleet, A).occupancy_age_ns, -1);
    assert_int_equal(fleet_stats(&fleet, A).cache_available, -1);
    assert_int_equal(fleet_stats(&fleet, A).cache_stale, 0);
    assert_near(fleet_stats(&fleet, B).occupancy, 0.4, 0);
    fleet_remove(&fleet, B);
    /* Both entries name targets that are gone. */
    assert_int_equal(fleet_pick_frozen(&fleet), A);
    assert_string_equal(rule(), "least_connections");
    assert_int_equal(fleet.decision.prefix_matched, 0);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lm_01_longest_match),
        cmocka_unit_test(lm_01_kind_odd_lookups),
        cmocka_unit_test(lm_01_kind_lookups_do_not_last),
        cmocka_unit_test(lm_01_kind_busy_holder),
        cmocka_unit_test(lm_01_kind_equal_matches),
        cmocka_unit_test(lm_03_stale_occupancy),
        cmocka_unit_test(lm_03_kind_default_limit),
        cmocka_unit_test(lm_03_kind_unknown_room),
        cmocka_unit_test(lm_03_kind_unavailable),
        cmocka_unit_test(lm_03_kind_nothing_known),
        cmocka_unit_test(lm_03_kind_full_caches),
        cmocka_unit_test(lm_04_twins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
