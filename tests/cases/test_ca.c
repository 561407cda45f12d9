/* SPDX-License-Identifier: MIT */
/* Field reports CA: cache aware. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prompts.h"
#include "support/fleet.h"
#include "support/rng.h"
#include "support/test.h"

#include "models/prefix_trie.h"

#define A 0
#define B 1
#define C 2

#define WARM LBROUTE_RULE_CACHE_AWARE
#define COLD LBROUTE_RULE_LEAST_WARMED

static void open_ca(struct fleet *fleet, size_t targets, uint64_t seed)
{
    fleet_open(fleet, "cache_aware", targets, seed);
}

/* Only picks by affinity were remembered, so that affinity never began. */
static void ca_02_first_picks_seed_nothing(void **state)
{
    static unsigned char text[2500];
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        size_t home;
        open_ca(&fleet, 2, seed);
        prompt_fill(text, sizeof text, seed);
        prompt_set(&fleet, text, 2000);
        home = prompt_serve(&fleet, COLD, 0);
        assert_int_equal(prompt_serve(&fleet, WARM, 2000), home);
        prompt_set(&fleet, text, 2500);
        assert_int_equal(prompt_serve(&fleet, WARM, 2000), home);
        for (int i = 0; i < 20; i++)
            assert_int_equal(prompt_serve(&fleet, WARM, 2500), home);
        fleet_close(&fleet);
    }
}

enum { SYSTEM = 4096, LONG_PART = 6000, SHORT_PART = 1000, USERS = 25 };

/* One system prompt and 25 users' parts behind it. */
struct users {
    struct fleet fleet;
    size_t length;
    unsigned char texts[USERS][SYSTEM + LONG_PART];
};

static struct users users;

static void open_users(size_t part, uint64_t seed)
{
    open_ca(&users.fleet, 0, seed);
    for (int i = 0; i < 3; i++)
        fleet_add_limit(&users.fleet, 8);
    users.length = SYSTEM + part;
    for (size_t i = 0; i < USERS; i++) {
        prompt_fill(users.texts[i], SYSTEM, 1000);
        prompt_fill(users.texts[i] + SYSTEM, part, i);
        users.texts[i][SYSTEM] = (unsigned char)i; /* where they part */
    }
}

/* All slots are in use, and no more; the next one is refused. */
static void close_users(void)
{
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(users.fleet.picks[i], 8);
    prompt_set(&users.fleet, users.texts[24], users.length);
    assert_int_equal(fleet_pick(&users.fleet), FLEET_NONE);
    assert_int_equal(users.fleet.code, LBROUTE_ERR_SATURATED);
    fleet_close(&users.fleet);
}

/* A prompt that all share pinned the fleet to one target. Long parts of their
 * own keep requests below the threshold: they spread. With short ones the
 * window ends the run at the home: three in flight against none. */
static void ca_03_shared_prompt_pins_the_fleet(void **state)
{
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        size_t order[24];
        open_users(LONG_PART, seed);
        for (size_t i = 0; i < 24; i++) {
            prompt_set(&users.fleet, users.texts[i], users.length);
            assert_true(fleet_pick(&users.fleet) != FLEET_NONE);
            prompt_expect(&users.fleet, COLD, i < 3 ? 0 : SYSTEM);
        }
        close_users();

        open_users(SHORT_PART, seed);
        for (size_t i = 0; i < 24; i++) {
            prompt_set(&users.fleet, users.texts[i], users.length);
            order[i] = fleet_pick(&users.fleet);
            assert_true(order[i] != FLEET_NONE);
            if (i < 9 && i % 3 == 0)
                prompt_expect(&users.fleet, COLD, 0);
            else
                prompt_expect(&users.fleet, WARM, SYSTEM);
            if (i < 9)
                assert_int_equal(order[i], order[i - i % 3]);
        }
        assert_true(order[0] != order[3] && order[3] != order[6] &&
                    order[6] != order[0]);
        close_users();
    }
}

/* Nothing was ever forgotten, until the router was killed. */
static void ca_04_memory_without_bound(void **state)
{
    enum { PICKS = 100000, BUDGET = 1 << 20 };
    static unsigned char text[4096];
    uint64_t bare, most, half = 0;
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 2, 1);
    fleet_param(&fleet, "cache_aware.budget", 0);
    prompt_set(&fleet, text, sizeof text);
    fleet_serve(&fleet);
    bare = fleet_totals(&fleet).memory_bytes;
    fleet_param(&fleet, "cache_aware.budget", BUDGET);
    most = bare + 2 * (BUDGET + BUDGET / 10);
    for (size_t i = 1; i <= PICKS; i++) {
        prompt_fill(text, sizeof text, i);
        assert_true(fleet_serve(&fleet) != FLEET_NONE);
        assert_true(fleet_totals(&fleet).memory_bytes <= most);
        if (i == PICKS / 2)
            half = fleet_totals(&fleet).memory_bytes;
    }
    assert_int_equal(fleet_totals(&fleet).memory_bytes, half);
    assert_int_equal(fleet.alloc.live_bytes, half);
    fleet_close(&fleet);
}

/* Requests counted only from their first token on, so that the first of the
 * list won every tie. */
static void ca_06_load_counted_late(void **state)
{
    static unsigned char text[32768];
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        for (int observed = 0; observed < 2; observed++) {
            open_ca(&fleet, 4, seed);
            prompt_set(&fleet, text, sizeof text);
            for (uint64_t i = 0; i < 8; i++) {
                prompt_fill(text, sizeof text, i);
                if (observed)
                    fleet_serve(&fleet);
                else
                    fleet_pick(&fleet);
            }
            for (size_t i = 0; i < 4; i++)
                assert_int_equal(fleet.picks[i], 2);
            fleet_close(&fleet);
        }
    }
}

/* A hash of the whole prompt found nobody whose prompt ended otherwise. */
static void ca_07_hash_of_the_whole_prompt(void **state)
{
    static unsigned char text[1024 + 256];
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        size_t homes[4], followed = 0;
        open_ca(&fleet, 4, seed);
        prompt_set(&fleet, text, sizeof text);
        for (size_t i = 0; i < 200; i++) {
            size_t index;
            prompt_fill(text, 1024, 1 + i % 4);
            prompt_fill(text + 1024, 256, 100 + i);
            index = fleet_serve(&fleet);
            if (i < 4)
                homes[i] = index;
            else
                followed += index == homes[i % 4];
        }
        assert_int_equal(followed, 196);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(fleet.picks[i], 50);
        fleet_close(&fleet);
    }
}

/* Building the key wrote into the prompt, and the model's name alone made
 * prompts alike. */
static void ca_08_model_name_is_the_key(void **state)
{
    static unsigned char text[2048], copy[2048];
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 3, 1);
    fleet.request.model = "m1";
    fleet.request.model_len = 2;
    prompt_set(&fleet, text, sizeof text);
    for (uint64_t i = 1; i <= 60; i++) {
        prompt_fill(text, sizeof text, i);
        text[0] = (unsigned char)i;
        memcpy(copy, text, sizeof text);
        prompt_serve(&fleet, COLD, 0);
        assert_memory_equal(text, copy, sizeof text);
    }
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fleet.picks[i], 20);
    prompt_serve(&fleet, WARM, sizeof text);
    fleet.request.model = "m2";
    prompt_serve(&fleet, COLD, 0);
    prompt_serve(&fleet, WARM, sizeof text);
    fleet.request.model_len = 0;
    prompt_serve(&fleet, COLD, 0);
    fleet_close(&fleet);
}

/* Hits did not count as use, and the hottest prompt went first. */
static void ca_09_evicts_by_arrival(void **state)
{
    enum { COLD_PROMPTS = 50, BYTES = 1024 };
    static unsigned char texts[1 + COLD_PROMPTS][BYTES];
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 1, 1);
    fleet_param(&fleet, "cache_aware.budget",
                10 * (double)lbr_trie_cost(BYTES));
    for (size_t i = 0; i <= COLD_PROMPTS; i++) {
        prompt_fill(texts[i], BYTES, i);
        texts[i][0] = (unsigned char)i;
    }
    prompt_warm(&fleet, A, texts[0], BYTES);
    for (size_t i = 1; i <= COLD_PROMPTS; i++) {
        prompt_set(&fleet, texts[0], BYTES);
        prompt_serve(&fleet, WARM, BYTES);
        prompt_set(&fleet, texts[i], BYTES);
        prompt_serve(&fleet, COLD, 0);
    }
    assert_int_equal(prompt_known(&fleet, A, texts[0], BYTES), BYTES);
    for (size_t i = 1; i <= COLD_PROMPTS; i++)
        assert_int_equal(prompt_known(&fleet, A, texts[i], BYTES),
                         i > COLD_PROMPTS - 9 ? BYTES : 0);
    fleet_close(&fleet);
}

/* Picks twice with a copy of exactly these bytes, which ends where they end. */
static void pick_twice(struct fleet *fleet, const void *bytes, size_t length)
{
    void *copy = malloc(length > 0 ? length : 1);
    size_t home;

    assert_non_null(copy);
    memcpy(copy, bytes, length);
    prompt_set(fleet, copy, length);
    home = fleet_serve(fleet);
    assert_true(home != FLEET_NONE);
    if (length > 0)
        assert_int_equal(prompt_serve(fleet, WARM, length), home);
    else
        prompt_serve(fleet, COLD, 0);
    free(copy);
}

/* Every beginning of |bytes| whose length is near |length|. */
static void pick_beginnings(struct fleet *fleet, const unsigned char *bytes,
                            size_t length)
{
    for (size_t i = length - 20; i < length + 20; i++)
        pick_twice(fleet, bytes, i);
}

/* Labels cut inside a character could not be read back, and lengths had eight
 * bits. */
static void ca_10_long_or_multibyte_text(void **state)
{
    enum { LARGE = 1 << 20 };
    unsigned char *large = malloc(LARGE);
    unsigned char a[254 + 6], cjk[900];
    struct fleet fleet;
    (void)state;

    assert_non_null(large);
    memset(a, 'a', 254);
    memcpy(a + 254, "\xe6\xbc\xa2\xe5\xad\x97", 6);
    for (size_t i = 0; i < sizeof cjk; i += 3)
        memcpy(cjk + i, "\xe6\xbc\xa2", 3);
    prompt_fill(large, LARGE, 1);
    open_ca(&fleet, 2, 1);
    pick_twice(&fleet, a, sizeof a);
    pick_twice(&fleet, cjk, sizeof cjk);
    cjk[sizeof cjk - 1] ^= 1;
    prompt_set(&fleet, cjk, sizeof cjk);
    prompt_serve(&fleet, WARM, sizeof cjk - 1);
    pick_twice(&fleet, cjk, sizeof cjk);
    pick_twice(&fleet, "\0\xff\0\xff\xff\0", 6);
    pick_twice(&fleet, large, LARGE);
    pick_twice(&fleet, "", 0);
    for (size_t i = sizeof a; i > 0; i--)
        pick_twice(&fleet, a, i);
    pick_beginnings(&fleet, cjk, 255);
    pick_beginnings(&fleet, large, 255);
    pick_beginnings(&fleet, large, 65535);
    prompt_set(&fleet, large, LARGE);
    prompt_serve(&fleet, WARM, LARGE);
    fleet_close(&fleet);
    free(large);
}

/* One busy target switched affinity off for all. */
static void ca_11_hot_target_ends_all_affinity(void **state)
{
    static unsigned char warm_on_b[2000], warm_on_c[2000];
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        open_ca(&fleet, 4, seed);
        prompt_fill(warm_on_b, sizeof warm_on_b, 1);
        prompt_fill(warm_on_c, sizeof warm_on_c, 2);
        prompt_warm(&fleet, B, warm_on_b, sizeof warm_on_b);
        prompt_warm(&fleet, C, warm_on_c, sizeof warm_on_c);
        fleet_hold(&fleet, A, 30);
        fleet_hold(&fleet, C, 1);
        prompt_set(&fleet, warm_on_b, sizeof warm_on_b);
        assert_int_equal(fleet_pick(&fleet), B);
        prompt_expect(&fleet, WARM, sizeof warm_on_b);
        prompt_set(&fleet, warm_on_c, sizeof warm_on_c);
        assert_int_equal(fleet_pick(&fleet), C);
        prompt_expect(&fleet, WARM, sizeof warm_on_c);
        fleet_close(&fleet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ca_02_first_picks_seed_nothing),
        cmocka_unit_test(ca_03_shared_prompt_pins_the_fleet),
        cmocka_unit_test(ca_04_memory_without_bound),
        cmocka_unit_test(ca_06_load_counted_late),
        cmocka_unit_test(ca_07_hash_of_the_whole_prompt),
        cmocka_unit_test(ca_08_model_name_is_the_key),
        cmocka_unit_test(ca_09_evicts_by_arrival),
        cmocka_unit_test(ca_10_long_or_multibyte_text),
        cmocka_unit_test(ca_11_hot_target_ends_all_affinity),
    };
    return cmocka_run_group_tests_name("CA", tests, NULL, NULL);
}
