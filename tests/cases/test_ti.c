/* SPDX-License-Identifier: MIT */
/* Field reports TI: routing tier. */
#include <stdio.h>
#include <string.h>

#include "support/fleet.h"
#include "support/test.h"

#define A 0
#define B 1

static void ask_tier(struct fleet *fleet, const char *tier)
{
    fleet->request.tier = tier;
    fleet->request.tier_len = strlen(tier);
}

static size_t add_tier(struct fleet *fleet, const char *tier)
{
    lbroute_target_options options;

    fleet_target_options(fleet, &options);
    options.tier = tier;
    options.tier_len = strlen(tier);
    return fleet_add_options(fleet, &options);
}

static void expect_no_tier(struct fleet *fleet, const char *tier)
{
    ask_tier(fleet, tier);
    assert_int_equal(fleet_pick(fleet), FLEET_NONE);
    assert_int_equal(fleet->code, LBROUTE_ERR_NO_TARGET);
    assert_int_equal(fleet->decision.reason, LBROUTE_REASON_TIER);
}

/* ---- the reported case ---- */

static void tagged_takes_untagged(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    add_tier(&fleet, "route");
    add_tier(&fleet, "");
    for (int i = 0; i < 50; i++)
        assert_int_equal(fleet_serve(&fleet), B);
    ask_tier(&fleet, "route");
    for (int i = 0; i < 50; i++)
        assert_int_equal(fleet_serve(&fleet), A);
    expect_no_tier(&fleet, "Route");
    expect_no_tier(&fleet, "route ");
    fleet_remove(&fleet, B);
    expect_no_tier(&fleet, "");
    ask_tier(&fleet, "route");
    assert_int_equal(fleet_serve(&fleet), A);
    fleet_close(&fleet);
}

/* A single special entry took every request, tagged or not. */
static void ti_02_tagged_takes_untagged(void **state)
{
    (void)state;
    fleet_for_each_strategy(tagged_takes_untagged);
}

/* ---- more of the same kind ---- */

/* Tiers are compared byte by byte, whole. */
static void ti_kind_near_misses(void **state)
{
    static const char *const misses[] = {
        "rout", "routes", "ROUTE",  " route",        "route ", "route/",
        "r",    "routf",  "troute", "route\xc3\xa9", "route.", "*",
    };
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    add_tier(&fleet, "route");
    for (size_t i = 0; i < sizeof misses / sizeof *misses; i++)
        expect_no_tier(&fleet, misses[i]);
    /* A zero byte in the request ends nothing. */
    fleet.request.tier = "route\0x";
    fleet.request.tier_len = 7;
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    fleet.request.tier_len = 5;
    assert_int_equal(fleet_pick(&fleet), A);
    fleet_close(&fleet);
}

/* Longest tier, one beyond it, and a request with a far longer one. */
static void ti_kind_lengths(void **state)
{
    static char tier[70001];
    struct fleet fleet;
    lbroute_target_options options;
    lbroute_target target = 0;
    (void)state;

    memset(tier, 't', 70000);
    fleet_open(&fleet, "weighted", 0, 1);
    fleet_target_options(&fleet, &options);
    options.tier = tier;
    options.tier_len = 256;
    options.name = "x";
    options.name_len = 1;
    assert_int_equal(lbroute_target_add(fleet.router, &options, 0, &target),
                     LBROUTE_ERR_NAME);
    options.tier_len = 255;
    options.name = NULL;
    fleet_add_options(&fleet, &options);
    fleet.request.tier = tier;
    for (size_t len = 254; len <= 256; len++) {
        fleet.request.tier_len = len;
        assert_int_equal(fleet_pick(&fleet), len == 255 ? A : FLEET_NONE);
    }
    expect_no_tier(&fleet, tier);
    fleet_close(&fleet);
}

static void tiers_share_by_themselves(const char *strategy)
{
    static const char *const tiers[3] = {"", "x", "y"};
    struct fleet fleet;
    char session[32];

    fleet_open(&fleet, strategy, 0, 1);
    for (size_t i = 0; i < 9; i++)
        add_tier(&fleet, tiers[i % 3]);
    for (size_t i = 0; i < 900; i++) {
        snprintf(session, sizeof session, "session-%zu", i);
        fleet_session(&fleet, session);
        ask_tier(&fleet, tiers[i % 3]);
        assert_int_equal(fleet_serve(&fleet) % 3, i % 3);
    }
    /* 100 each; the ring and the draws come close to it. */
    for (size_t i = 0; i < 9; i++)
        assert_near(fleet.picks[i], 100, 50);
    fleet_close(&fleet);
}

/* Requests of several tiers in turn: each tier shares among its own. */
static void ti_kind_tiers_share_by_themselves(void **state)
{
    (void)state;
    fleet_for_each_strategy(tiers_share_by_themselves);
}

static void full_tier_does_not_spill(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    add_tier(&fleet, "gold");
    add_tier(&fleet, "");
    fleet_set_limit(&fleet, A, 2);
    ask_tier(&fleet, "gold");
    assert_int_equal(fleet_pick(&fleet), A);
    assert_int_equal(fleet_pick(&fleet), A);
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    fleet_drain(&fleet, A, 1);
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.code, LBROUTE_ERR_NO_TARGET);
    ask_tier(&fleet, "");
    for (int i = 0; i < 32; i++)
        assert_int_equal(fleet_pick(&fleet), B);
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    fleet_close(&fleet);
}

/* A tier that is full or drained does not borrow from another. */
static void ti_kind_full_tier_does_not_spill(void **state)
{
    (void)state;
    fleet_for_each_strategy(full_tier_does_not_spill);
}

static void pins_stay_in_their_tier(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    add_tier(&fleet, "gold");
    add_tier(&fleet, "");
    fleet_session(&fleet, "s1");
    fleet_client(&fleet, "c1");
    for (int i = 0; i < 20; i++) {
        ask_tier(&fleet, "gold");
        assert_int_equal(fleet_serve(&fleet), A);
        ask_tier(&fleet, "");
        assert_int_equal(fleet_serve(&fleet), B);
    }
    fleet_close(&fleet);
}

/* One session that asks for two tiers is not pulled across. */
static void ti_kind_pins_stay_in_their_tier(void **state)
{
    (void)state;
    fleet_for_each_strategy(pins_stay_in_their_tier);
}

/* A target that changes its tier takes its requests along and serves the new
 * one from the next pick on. */
static void ti_kind_change_of_tier(void **state)
{
    struct fleet fleet;
    lbroute_target_options options;
    (void)state;

    fleet_open(&fleet, "round_robin", 0, 1);
    add_tier(&fleet, "x");
    add_tier(&fleet, "");
    ask_tier(&fleet, "x");
    for (int i = 0; i < 3; i++)
        fleet_pick(&fleet);
    fleet_target_options(&fleet, &options);
    for (int i = 0; i < 20; i++) {
        options.tier = "y";
        options.tier_len = i % 2 == 0;
        assert_int_equal(lbroute_target_update(fleet.router, fleet.targets[A],
                                               &options, fleet.now),
                         LBROUTE_OK);
        assert_int_equal(fleet_in_flight(&fleet, A), 3);
        expect_no_tier(&fleet, "x");
        ask_tier(&fleet, "y");
        assert_int_equal(fleet_serve(&fleet), i % 2 == 0 ? A : FLEET_NONE);
    }
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_in_flight(&fleet, A), 0);
    fleet_close(&fleet);
}

/* Asked by model over several pools, tiers isolate as well. */
static void ti_kind_tiers_across_pools(void **state)
{
    struct fleet fleet;
    lbroute_target_options options;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    for (size_t i = 0; i < 4; i++) {
        if (i == 2)
            fleet_add_pool(&fleet, "second", "random");
        fleet_target_options(&fleet, &options);
        options.model = "m";
        options.model_len = 1;
        options.tier = "gold";
        options.tier_len = i % 2 == 0 ? 4 : 0;
        fleet_add_options(&fleet, &options);
    }
    fleet.request.pool = 0;
    fleet.request.model = "m";
    fleet.request.model_len = 1;
    ask_tier(&fleet, "gold");
    fleet_expect(&fleet, "ACACAC");
    ask_tier(&fleet, "");
    fleet_expect(&fleet, "BDBDBD");
    expect_no_tier(&fleet, "silver");
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ti_02_tagged_takes_untagged),
        cmocka_unit_test(ti_kind_near_misses),
        cmocka_unit_test(ti_kind_lengths),
        cmocka_unit_test(ti_kind_tiers_share_by_themselves),
        cmocka_unit_test(ti_kind_full_tier_does_not_spill),
        cmocka_unit_test(ti_kind_pins_stay_in_their_tier),
        cmocka_unit_test(ti_kind_change_of_tier),
        cmocka_unit_test(ti_kind_tiers_across_pools),
    };
    return cmocka_run_group_tests_name("TI", tests, NULL, NULL);
}
