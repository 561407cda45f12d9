/* SPDX-License-Identifier: MIT */
/* Field reports CA under `cache_aware.mode` 1: hashes of blocks of 256 bytes
 * instead of the bytes; and heads that all requests have in common. */
#include <string.h>

#include "prompts.h"
#include "support/fleet.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

#define WARM LBROUTE_RULE_CACHE_AWARE
#define COLD LBROUTE_RULE_LEAST_WARMED

enum { BLOCK = 256 };

static void open_ca(struct fleet *fleet, size_t targets, uint64_t seed)
{
    fleet_open(fleet, "cache_aware", targets, seed);
    fleet_param(fleet, "cache_aware.mode", 1);
}

static void expect(const struct fleet *fleet, int rule, size_t matched)
{
    assert_string_equal(lbroute_rule_name(fleet->decision.rule),
                        lbroute_rule_name(rule));
    assert_int_equal(fleet->decision.prefix_matched, matched);
    assert_int_equal(fleet->decision.prefix_total,
                     fleet->request.prompt_len / BLOCK);
}

static size_t serve(struct fleet *fleet, int rule, size_t matched)
{
    size_t index = fleet_serve(fleet);

    assert_true(index != FLEET_NONE);
    expect(fleet, rule, matched);
    return index;
}

/* 2,000 bytes are 7 blocks; of the 9 of 2,500 bytes. */
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
        home = serve(&fleet, COLD, 0);
        assert_int_equal(serve(&fleet, WARM, 7), home);
        prompt_set(&fleet, text, 2500);
        assert_int_equal(serve(&fleet, WARM, 7), home);
        for (int i = 0; i < 20; i++)
            assert_int_equal(serve(&fleet, WARM, 9), home);
        fleet_close(&fleet);
    }
}

static void ask_behind_system(struct fleet *fleet, size_t part, uint64_t number)
{
    static unsigned char text[4096 + 6000];

    prompt_fill(text, 4096, 1000);
    prompt_fill(text + 4096, part, 1 + number);
    prompt_set(fleet, text, 4096 + part);
    (void)fleet_pick(fleet);
}

/* 16 blocks of 39 are below the threshold, 16 of 19 above. */
static void ca_03_shared_prompt_pins_the_fleet(void **state)
{
    struct fleet fleet;
    (void)state;

    for (size_t part = 1000; part <= 6000; part += 5000) {
        open_ca(&fleet, 0, 1);
        for (size_t i = 0; i < 3; i++)
            fleet_add_limit(&fleet, 8);
        for (size_t i = 0; i < 24; i++) {
            ask_behind_system(&fleet, part, i);
            assert_int_equal(fleet.code, LBROUTE_OK);
            if (part == 6000)
                expect(&fleet, COLD, i < 3 ? 0 : 16);
        }
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(fleet.picks[i], 8);
        ask_behind_system(&fleet, part, 24);
        assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
        fleet_close(&fleet);
    }
}

static void ca_06_load_counted_late(void **state)
{
    static unsigned char text[32768];
    struct fleet fleet;
    (void)state;

    for (int observed = 0; observed < 2; observed++) {
        open_ca(&fleet, 4, 1);
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

static void ca_07_hash_of_the_whole_prompt(void **state)
{
    static unsigned char text[1024 + 256];
    size_t homes[4], followed = 0;
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 4, 1);
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
        memcpy(copy, text, sizeof text);
        serve(&fleet, COLD, 0);
        assert_memory_equal(text, copy, sizeof text);
    }
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fleet.picks[i], 20);
    serve(&fleet, WARM, 8);
    fleet.request.model = "m2";
    serve(&fleet, COLD, 0);
    fleet_close(&fleet);
}

/* The budget has room for the hot prompt and four others. */
static void ca_09_evicts_by_arrival(void **state)
{
    enum { BYTES = 1024 };
    static unsigned char hot[BYTES], cold[BYTES];
    struct fleet fleet;
    size_t cost;
    (void)state;

    open_ca(&fleet, 1, 1);
    prompt_fill(hot, BYTES, 0);
    prompt_warm(&fleet, A, hot, BYTES);
    cost = (size_t)fleet_stats(&fleet, A).prefix_bytes;
    fleet_param(&fleet, "cache_aware.budget", 5 * (double)cost);
    for (uint64_t i = 1; i <= 50; i++) {
        prompt_set(&fleet, hot, BYTES);
        serve(&fleet, WARM, 4);
        prompt_fill(cold, BYTES, i);
        prompt_set(&fleet, cold, BYTES);
        serve(&fleet, COLD, 0);
    }
    assert_int_equal(prompt_known_blocks(&fleet, A, hot, BYTES), 4);
    for (uint64_t i = 1; i <= 50; i++) {
        prompt_fill(cold, BYTES, i);
        assert_int_equal(prompt_known_blocks(&fleet, A, cold, BYTES),
                         i > 46 ? 4 : 0);
    }
    fleet_close(&fleet);
}

static void ca_11_hot_target_ends_all_affinity(void **state)
{
    static unsigned char warm_on_b[2048], warm_on_c[2048];
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 4, 1);
    prompt_fill(warm_on_b, sizeof warm_on_b, 1);
    prompt_fill(warm_on_c, sizeof warm_on_c, 2);
    prompt_warm(&fleet, B, warm_on_b, sizeof warm_on_b);
    prompt_warm(&fleet, C, warm_on_c, sizeof warm_on_c);
    fleet_hold(&fleet, A, 30);
    fleet_hold(&fleet, C, 1);
    prompt_set(&fleet, warm_on_b, sizeof warm_on_b);
    assert_int_equal(fleet_pick(&fleet), B);
    expect(&fleet, WARM, 8);
    prompt_set(&fleet, warm_on_c, sizeof warm_on_c);
    assert_int_equal(fleet_pick(&fleet), C);
    expect(&fleet, WARM, 8);
    fleet_close(&fleet);
}

/* Switching to blocks and back forgets what was compared otherwise. */
static void ca_mode_changed(void **state)
{
    static unsigned char text[2048];
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 2, 1);
    prompt_fill(text, sizeof text, 1);
    prompt_set(&fleet, text, sizeof text);
    for (int i = 0; i < 3; i++) {
        fleet_param(&fleet, "cache_aware.mode", 1);
        serve(&fleet, COLD, 0);
        serve(&fleet, WARM, 8);
        fleet_param(&fleet, "cache_aware.mode", 1);
        serve(&fleet, WARM, 8);
        fleet_param(&fleet, "cache_aware.mode", 0);
        assert_int_equal(fleet_stats(&fleet, A).prefix_bytes, 0);
        prompt_serve(&fleet, COLD, 0);
        prompt_serve(&fleet, WARM, sizeof text);
    }
    fleet_close(&fleet);
}

/* ---- heads that all requests have in common ---- */

enum { TARGETS = 8, SYSTEM = 4096, OWN = 1024, REQUESTS = 5000 };

static unsigned char prompt[SYSTEM + 40 * OWN];

static void open_common(struct fleet *fleet, const char *strategy, int mode)
{
    fleet_open(fleet, strategy, TARGETS, 1);
    fleet_param(fleet, "cache_aware.mode", mode);
    prompt_fill(prompt, SYSTEM, 1);
}

/* One request with |parts| kB of its own text. */
static size_t serve_own(struct fleet *fleet, uint64_t number, size_t parts)
{
    prompt_fill(prompt + SYSTEM, parts * OWN, number);
    prompt_set(fleet, prompt, SYSTEM + parts * OWN);
    return fleet_serve(fleet);
}

/* One at a time, each with text of its own behind one system prompt: after the
 * first 256 nobody has more than 1.25 times its part. */
static void check_spread(const char *strategy, int mode)
{
    struct fleet fleet;

    open_common(&fleet, strategy, mode);
    for (uint64_t i = 0; i < REQUESTS; i++) {
        if (i == 256)
            fleet_reset_picks(&fleet);
        assert_true(serve_own(&fleet, 10 + i, 1) != FLEET_NONE);
    }
    for (size_t i = 0; i < TARGETS; i++)
        assert_true(fleet.picks[i] * TARGETS * 4 <= 5 * (REQUESTS - 256));
    /* The same prompt again stays where it was. */
    for (uint64_t i = 0; i < 20; i++) {
        size_t home = serve_own(&fleet, 100000 + i, 1);
        assert_int_equal(serve_own(&fleet, 100000 + i, 1), home);
        assert_int_equal(serve_own(&fleet, 100000 + i, 1), home);
    }
    fleet_close(&fleet);
}

/* Their own text is too short for a block of its own: the head is all that is
 * compared, and still not the whole prompt. */
static void check_short_texts(const char *strategy, int mode)
{
    struct fleet fleet;

    open_common(&fleet, strategy, mode);
    for (uint64_t i = 0; i < REQUESTS; i++) {
        if (i == 256)
            fleet_reset_picks(&fleet);
        prompt_fill(prompt + SYSTEM, 100, 10 + i);
        prompt_set(&fleet, prompt, SYSTEM + 100);
        assert_true(fleet_serve(&fleet) != FLEET_NONE);
    }
    for (size_t i = 0; i < TARGETS; i++)
        assert_true(fleet.picks[i] * TARGETS * 4 <= 5 * (REQUESTS - 256));
    fleet_close(&fleet);
}

/* Conversations that grow by a kB a turn, many at once, each on its target. */
static void check_conversations(const char *strategy, int mode)
{
    enum { TALKS = 40, TURNS = 8 };
    static size_t homes[TALKS];
    struct fleet fleet;

    open_common(&fleet, strategy, mode);
    for (uint64_t i = 0; i < 300; i++)
        (void)serve_own(&fleet, 10 + i, 1);
    for (size_t turn = 1; turn <= TURNS; turn++) {
        for (size_t talk = 0; talk < TALKS; talk++) {
            size_t index = serve_own(&fleet, 1000 + talk, turn);
            homes[talk] = turn == 1 ? index : homes[talk];
            assert_int_equal(index, homes[talk]);
        }
    }
    fleet_close(&fleet);
}

static void common_heads_spread(void **state)
{
    (void)state;
    check_spread("kv_aware", 0);
    check_spread("cache_aware", 0);
    check_spread("cache_aware", 1);
}

static void common_heads_before_short_texts(void **state)
{
    (void)state;
    check_short_texts("kv_aware", 0);
    check_short_texts("cache_aware", 0);
    check_short_texts("cache_aware", 1);
}

static void common_heads_leave_conversations(void **state)
{
    (void)state;
    check_conversations("kv_aware", 0);
    check_conversations("cache_aware", 0);
    check_conversations("cache_aware", 1);
}

/* 2: never; then the head that all share pins all to one idle target. */
static void common_heads_can_count(void **state)
{
    struct fleet fleet;
    size_t home;
    (void)state;

    open_common(&fleet, "kv_aware", 0);
    fleet_param(&fleet, "prefix.common", 2);
    fleet_param(&fleet, "kv_aware.spread", 0);
    home = serve_own(&fleet, 1, 1);
    for (uint64_t i = 2; i < 400; i++)
        assert_int_equal(serve_own(&fleet, i, 1), home);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ca_02_first_picks_seed_nothing),
        cmocka_unit_test(ca_03_shared_prompt_pins_the_fleet),
        cmocka_unit_test(ca_06_load_counted_late),
        cmocka_unit_test(ca_07_hash_of_the_whole_prompt),
        cmocka_unit_test(ca_08_model_name_is_the_key),
        cmocka_unit_test(ca_09_evicts_by_arrival),
        cmocka_unit_test(ca_11_hot_target_ends_all_affinity),
        cmocka_unit_test(ca_mode_changed),
        cmocka_unit_test(common_heads_spread),
        cmocka_unit_test(common_heads_before_short_texts),
        cmocka_unit_test(common_heads_leave_conversations),
        cmocka_unit_test(common_heads_can_count),
    };
    return cmocka_run_group_tests_name("CA blocks", tests, NULL, NULL);
}
