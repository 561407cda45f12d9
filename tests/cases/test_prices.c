/* SPDX-License-Identifier: MIT */
/* The price catalog by itself: keys, bounds, walks, bad input. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "catalog.h"
#include "support/state.h"
#include "support/test.h"

enum { MANY = 10000 };

static int set(struct fleet *fleet, const char *key, size_t length,
               const lbroute_price *price)
{
    return lbroute_set_price(fleet->router, key, length, price);
}

static lbroute_price get(struct fleet *fleet, const char *key)
{
    lbroute_price price;

    lbroute_price_init(&price, sizeof price);
    assert_int_equal(lbroute_get_price(fleet->router, key, strlen(key), &price),
                     LBROUTE_OK);
    return price;
}

/* ---- what is kept ---- */

static void defaults_are_unknown(void **state)
{
    lbroute_price price;
    (void)state;

    lbroute_price_init(&price, sizeof price);
    assert_int_equal(price.size, sizeof price);
    assert_int_equal(price.input, -1);
    assert_int_equal(price.output, -1);
    assert_int_equal(price.cached_input, -1);
    assert_int_equal(price.tier_count, 0);
    for (size_t i = 0; i < LBROUTE_PRICE_TIERS; i++) {
        assert_int_equal(price.tiers[i].input, -1);
        assert_int_equal(price.tiers[i].output, -1);
        assert_int_equal(price.tiers[i].cached_input, -1);
    }
    lbroute_price_init(NULL, sizeof price);
}

/* Read back as set; what stands behind the last tier is nothing. */
static void a_price_is_read_back(void **state)
{
    lbroute_price price = catalog_price(3, 15, 1);
    lbroute_price back;
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "cheapest", 0, 1);
    price.tier_count = 2;
    price.tiers[0] = (lbroute_price_tier){0, 4, 16, 2};
    price.tiers[1] = (lbroute_price_tier){INT64_MAX, 5, 17, -1};
    price.tiers[2] = (lbroute_price_tier){-5, -7, 1, 1};
    assert_int_equal(set(&fleet, "a", 1, &price), LBROUTE_OK);
    back = get(&fleet, "a");
    assert_memory_equal(price.tiers, back.tiers, 2 * sizeof price.tiers[0]);
    assert_int_equal(back.tier_count, 2);
    assert_int_equal(back.tiers[2].above_tokens, 0);
    assert_int_equal(back.tiers[2].input, -1);
    assert_int_equal(back.input, 3);
    assert_int_equal(back.output, 15);
    assert_int_equal(back.cached_input, 1);
    fleet_close(&fleet);
}

/* An older caller's struct ends before the tiers. */
static void shorter_structs(void **state)
{
    lbroute_price price = catalog_price(3, 15, 1);
    lbroute_price back;
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "cheapest", 0, 1);
    price.tier_count = 1;
    price.tiers[0] = (lbroute_price_tier){10, 1, 1, 1};
    assert_int_equal(set(&fleet, "a", 1, &price), LBROUTE_OK);
    price.size = offsetof(lbroute_price, cached_input);
    assert_int_equal(set(&fleet, "a", 1, &price), LBROUTE_OK);
    back = get(&fleet, "a");
    assert_int_equal(back.output, 15);
    assert_int_equal(back.cached_input, -1);
    assert_int_equal(back.tier_count, 0);
    back.size = offsetof(lbroute_price, output);
    back.output = 77;
    assert_int_equal(lbroute_get_price(fleet.router, "a", 1, &back),
                     LBROUTE_OK);
    assert_int_equal(back.output, 77);
    fleet_close(&fleet);
}

/* Any bytes but control characters name a price; case and length count. */
static void odd_keys(void **state)
{
    char longest[LBROUTE_NAME_MAX];
    static const char *const keys[] = {"a",      "A",        "a ", " a",
                                       "gpt/4o", "\xc3\xa4", "%",  "\xff\xfe"};
    struct fleet fleet;
    (void)state;

    memset(longest, 'k', sizeof longest);
    fleet_open(&fleet, "cheapest", 0, 1);
    for (size_t i = 0; i < 8; i++)
        catalog_flat(&fleet, keys[i], (int64_t)i);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(get(&fleet, keys[i]).input, i);
    assert_int_equal(
        set(&fleet, longest, sizeof longest, &(lbroute_price){.size = 40}),
        LBROUTE_OK);
    assert_int_equal(fleet_totals(&fleet).prices, 9);
    fleet_close(&fleet);
}

/* ---- bounds and walks ---- */

static size_t walk(struct fleet *fleet, int seen[MANY])
{
    char key[LBROUTE_NAME_MAX + 1];
    uint64_t place = 0;
    size_t length = 0;
    size_t count = 0;

    while (lbroute_price_next(fleet->router, place, &place, key, sizeof key,
                              &length) == LBROUTE_OK) {
        unsigned number = 0;
        assert_int_equal(length, strlen(key));
        assert_int_equal(sscanf(key, "provider/model-%u", &number), 1);
        assert_in_range(number, 0, MANY - 1);
        seen[number]++;
        count++;
    }
    return count;
}

static void key_of(char key[64], unsigned number)
{
    snprintf(key, 64, "provider/model-%u", number);
}

/* Ten thousand keys: each is found, each is walked over once, each goes. */
static void many_keys(void **state)
{
    static int seen[MANY];
    char key[64];
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "cheapest", 0, 1);
    for (unsigned i = 0; i < MANY; i++) {
        key_of(key, i);
        catalog_flat(&fleet, key, i);
    }
    key_of(key, 1234);
    catalog_add(&fleet, key, 32);
    key_of(key, 1233);
    catalog_add(&fleet, key, 32);
    fleet.request.input_tokens = 1;
    fleet.request.output_tokens = 1;
    assert_int_equal(fleet_serve(&fleet), 1);
    assert_int_equal(fleet.decision.expected_cost_pusd, 2 * 1233);
    memset(seen, 0, sizeof seen);
    assert_int_equal(walk(&fleet, seen), MANY);
    for (unsigned i = 0; i < MANY; i++) {
        key_of(key, i);
        assert_int_equal(seen[i], 1);
        assert_int_equal(get(&fleet, key).output, i);
        if (i % 2)
            catalog_remove(&fleet, key);
    }
    assert_int_equal(fleet_totals(&fleet).prices, MANY / 2);
    assert_int_equal(fleet_serve(&fleet), 0); /* 1233 is not known any more */
    fleet_close(&fleet);
}

/* A walk goes on where its last key was removed, and meets nobody twice. */
static void removal_during_a_walk(void **state)
{
    char key[64];
    char name[64];
    uint64_t place = 0;
    size_t length;
    size_t count = 0;
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "cheapest", 0, 1);
    for (unsigned i = 0; i < 100; i++) {
        key_of(key, i);
        catalog_flat(&fleet, key, i);
    }
    while (lbroute_price_next(fleet.router, place, &place, name, sizeof name,
                              &length) == LBROUTE_OK) {
        catalog_remove(&fleet, name);
        count++;
    }
    assert_int_equal(count, 100);
    assert_int_equal(fleet_totals(&fleet).prices, 0);
    fleet_close(&fleet);
}

static void too_many(void **state)
{
    lbroute_router_options options;
    lbroute_price price = catalog_price(1, 1, 1);
    struct fleet fleet;
    (void)state;

    lbroute_router_options_init(&options, sizeof options);
    assert_int_equal(options.max_prices, 16384);
    options.seed = 1;
    options.max_prices = 2;
    fleet_open_options(&fleet, &options, "cheapest");
    catalog_flat(&fleet, "a", 1);
    catalog_flat(&fleet, "b", 2);
    assert_int_equal(set(&fleet, "c", 1, &price), LBROUTE_ERR_LIMIT);
    catalog_flat(&fleet, "a", 3); /* no new key */
    assert_int_equal(get(&fleet, "a").input, 3);
    catalog_remove(&fleet, "b");
    assert_int_equal(set(&fleet, "c", 1, &price), LBROUTE_OK);
    assert_int_equal(fleet_totals(&fleet).prices, 2);
    fleet_close(&fleet);
}

static void bad_bounds_of_routers(void **state)
{
    static const uint32_t bad[] = {0, 1048577, UINT32_MAX};
    lbroute_router_options options;
    lbroute_router *router;
    size_t bytes;
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        lbroute_router_options_init(&options, sizeof options);
        options.seed = 1;
        options.max_prices = bad[i];
        assert_int_equal(lbroute_router_create(&options, &router),
                         LBROUTE_ERR_RANGE);
        assert_int_equal(lbroute_router_estimate(&options, &bytes),
                         LBROUTE_ERR_RANGE);
    }
    options.max_prices = 1;
    options.reserved2 = 1;
    assert_int_equal(lbroute_router_create(&options, &router),
                     LBROUTE_ERR_INVALID);
}

/* ---- what changes nothing ---- */

/* Prices with one mistake each, and what is said about it. */
static void bad_prices(void **state)
{
    lbroute_price bad[12];
    int wanted[12];
    struct fleet fleet;
    (void)state;

    for (size_t i = 0; i < 12; i++) {
        bad[i] = catalog_price(1, 2, 3);
        bad[i].tier_count = 2;
        bad[i].tiers[0] = (lbroute_price_tier){100, 1, 1, 1};
        bad[i].tiers[1] = (lbroute_price_tier){200, 1, 1, 1};
        wanted[i] = LBROUTE_ERR_RANGE;
    }
    bad[0].input = -2;
    bad[1].output = INT64_MIN;
    bad[2].cached_input = -3;
    bad[3].tier_count = LBROUTE_PRICE_TIERS + 1;
    bad[4].tier_count = UINT32_MAX;
    bad[5].tiers[0].above_tokens = -1;
    bad[6].tiers[1].above_tokens = 100;
    bad[7].tiers[1].above_tokens = 99;
    bad[8].tiers[0].input = -2;
    bad[9].tiers[1].output = -2;
    bad[10].tiers[1].cached_input = INT64_MIN;
    bad[11].reserved0 = 1;
    wanted[11] = LBROUTE_ERR_INVALID;
    fleet_open(&fleet, "cheapest", 0, 1);
    catalog_flat(&fleet, "a", 77);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(set(&fleet, "a", 1, &bad[i]), wanted[i]);
        assert_int_equal(set(&fleet, "new", 3, &bad[i]), wanted[i]);
        assert_int_equal(get(&fleet, "a").input, 77);
        assert_int_equal(fleet_totals(&fleet).prices, 1);
    }
    fleet_close(&fleet);
}

static void bad_keys(void **state)
{
    char too_long[LBROUTE_NAME_MAX + 1];
    lbroute_price price = catalog_price(1, 1, 1);
    struct fleet fleet;
    (void)state;

    memset(too_long, 'k', sizeof too_long);
    fleet_open(&fleet, "cheapest", 0, 1);
    assert_int_equal(set(&fleet, "", 0, &price), LBROUTE_ERR_NAME);
    assert_int_equal(set(&fleet, NULL, 0, &price), LBROUTE_ERR_NAME);
    assert_int_equal(set(&fleet, NULL, 1, &price), LBROUTE_ERR_INVALID);
    assert_int_equal(set(&fleet, "a\nb", 3, &price), LBROUTE_ERR_NAME);
    assert_int_equal(set(&fleet, "a\0b", 3, &price), LBROUTE_ERR_NAME);
    assert_int_equal(set(&fleet, too_long, sizeof too_long, &price),
                     LBROUTE_ERR_NAME);
    assert_int_equal(fleet_totals(&fleet).prices, 0);
    assert_int_equal(lbroute_get_price(fleet.router, "", 0, &price),
                     LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(lbroute_remove_price(fleet.router, "x", 1),
                     LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(lbroute_remove_price(fleet.router, NULL, 1),
                     LBROUTE_ERR_INVALID);
    fleet_close(&fleet);
}

static void bad_arguments(void **state)
{
    lbroute_price price = catalog_price(1, 1, 1);
    char key[8];
    uint64_t place = 5;
    size_t length = 5;
    struct fleet fleet;
    lbroute_router *r;
    (void)state;

    fleet_open(&fleet, "cheapest", 0, 1);
    r = fleet.router;
    assert_int_equal(lbroute_set_price(NULL, "a", 1, &price),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_set_price(r, "a", 1, NULL), LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_get_price(NULL, "a", 1, &price),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_get_price(r, "a", 1, NULL), LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_remove_price(NULL, "a", 1), LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_price_next(NULL, 0, &place, key, 8, &length),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_price_next(r, 0, NULL, key, 8, &length),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_price_next(r, 0, &place, key, 8, NULL),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_price_next(r, 0, &place, NULL, 8, &length),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_price_next(r, 0, &place, key, 8, &length),
                     LBROUTE_ERR_NOT_FOUND);
    catalog_flat(&fleet, "eight ch", 1);
    assert_int_equal(lbroute_price_next(r, 0, &place, key, 8, &length),
                     LBROUTE_ERR_BUFFER);
    assert_int_equal(length, 8);
    assert_int_equal(place, 5);
    assert_int_equal(lbroute_price_next(r, 0, &place, NULL, 0, &length),
                     LBROUTE_ERR_BUFFER);
    price.size = sizeof(size_t) + sizeof(size_t) / 2;
    assert_int_equal(set(&fleet, "a", 1, &price), LBROUTE_ERR_INVALID);
    fleet_close(&fleet);
}

static void bad_token_counts(void **state)
{
    static const int64_t bad[] = {-2, INT64_MIN};
    struct fleet fleet;
    char *before;
    (void)state;

    fleet_open(&fleet, "cheapest", 2, 1);
    before = state_text(fleet.router, fleet.now, STATE_FULL);
    for (size_t i = 0; i < 2; i++) {
        fleet.request.output_tokens = bad[i];
        assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
        assert_int_equal(fleet.code, LBROUTE_ERR_RANGE);
        fleet.request.output_tokens = -1;
        fleet.request.cached_tokens = bad[i];
        assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
        assert_int_equal(fleet.code, LBROUTE_ERR_RANGE);
        fleet.request.cached_tokens = -1;
    }
    state_check(fleet.router, fleet.now, STATE_FULL, before);
    fleet_close(&fleet);
}

static void bad_parameters(void **state)
{
    static const char *const names[] = {
        "adaptive.latency",     "adaptive.cost",      "adaptive.load",
        "adaptive.exploration", "adaptive.min_picks", "pipeline.cost",
        "cost.input_tokens",    "cost.output_tokens"};
    const double bad[] = {(double)NAN, -1e-9, -1, 1e10, HUGE_VAL, -HUGE_VAL};
    struct fleet fleet;
    double before, after;
    (void)state;

    fleet_open(&fleet, "adaptive", 2, 1);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(
            lbroute_pool_get(fleet.router, fleet.pool, names[i], &before),
            LBROUTE_OK);
        for (size_t k = 0; k < 6; k++) {
            assert_int_equal(
                lbroute_pool_set(fleet.router, fleet.pool, names[i], bad[k]),
                LBROUTE_ERR_RANGE);
            assert_int_equal(
                lbroute_pool_get(fleet.router, fleet.pool, names[i], &after),
                LBROUTE_OK);
            assert_true(before == after);
        }
    }
    fleet_close(&fleet);
}

static void bad_price_keys_of_targets(void **state)
{
    lbroute_target_options options;
    lbroute_target target;
    char too_long[LBROUTE_NAME_MAX + 1];
    struct fleet fleet;
    (void)state;

    memset(too_long, 'k', sizeof too_long);
    fleet_open(&fleet, "cheapest", 0, 1);
    catalog_add(&fleet, "a", 1);
    fleet_target_options(&fleet, &options);
    options.name = "X";
    options.name_len = 1;
    options.price_key = too_long;
    options.price_key_len = sizeof too_long;
    assert_int_equal(lbroute_target_add(fleet.router, &options, 0, &target),
                     LBROUTE_ERR_NAME);
    assert_int_equal(
        lbroute_target_update(fleet.router, fleet.targets[0], &options, 0),
        LBROUTE_ERR_NAME);
    options.price_key = NULL;
    assert_int_equal(lbroute_target_add(fleet.router, &options, 0, &target),
                     LBROUTE_ERR_INVALID);
    catalog_flat(&fleet, "a", 5);
    fleet_serve(&fleet);
    assert_int_equal(fleet.decision.expected_cost_pusd, 5 * 1250);
    fleet_close(&fleet);
}

/* The same price, or the same target, again resets nothing. */
static void again_changes_nothing(void **state)
{
    struct fleet fleet, twin;
    (void)state;

    fleet_open(&fleet, "cheapest", 0, 3);
    fleet_open(&twin, "cheapest", 0, 3);
    for (size_t i = 0; i < 4; i++) {
        catalog_add(&fleet, "a", 32);
        catalog_add(&twin, "a", 32);
    }
    catalog_flat(&fleet, "a", 5);
    catalog_flat(&twin, "a", 5);
    for (size_t i = 0; i < 60; i++) {
        catalog_flat(&fleet, "a", 5);
        fleet_reapply(&fleet, i % 4);
        assert_int_equal(fleet_pick(&fleet), fleet_pick(&twin));
    }
    fleet_close(&fleet);
    fleet_close(&twin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_unknown),
        cmocka_unit_test(a_price_is_read_back),
        cmocka_unit_test(shorter_structs),
        cmocka_unit_test(odd_keys),
        cmocka_unit_test(many_keys),
        cmocka_unit_test(removal_during_a_walk),
        cmocka_unit_test(too_many),
        cmocka_unit_test(bad_bounds_of_routers),
        cmocka_unit_test(bad_prices),
        cmocka_unit_test(bad_keys),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(bad_token_counts),
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(bad_price_keys_of_targets),
        cmocka_unit_test(again_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
