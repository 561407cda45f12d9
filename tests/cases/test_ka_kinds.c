/* SPDX-License-Identifier: MIT */
/* More of the kind of the field reports KA: KV aware. */
#include <stdio.h>
#include <string.h>

#include "prompts.h"
#include "shares.h"
#include "support/fleet.h"
#include "support/rng.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2
#define D 3

#define MATCH LBROUTE_RULE_KV_AWARE
#define TURN LBROUTE_RULE_WEIGHTED
#define LEAST LBROUTE_RULE_LEAST_CONNECTIONS

enum { BLOCK = 256, TEXT = 10 * BLOCK };

static unsigned char text[TEXT];

/* A fleet that is asked with the same text of ten blocks. */
static void open_ka(struct fleet *fleet, size_t targets)
{
    fleet_open(fleet, "kv_aware", targets, 1);
    prompt_fill(text, TEXT, 1);
    prompt_set(fleet, text, TEXT);
}

static void exclude(struct fleet *fleet, size_t index)
{
    fleet->request.exclude = &fleet->targets[index];
    fleet->request.exclude_len = 1;
}

static void expect(const struct fleet *fleet, int rule, int64_t matched,
                   int64_t total)
{
    assert_string_equal(lbroute_rule_name(fleet->decision.rule),
                        lbroute_rule_name(rule));
    assert_int_equal(fleet->decision.prefix_matched, matched);
    assert_int_equal(fleet->decision.prefix_total, total);
}

static size_t serve(struct fleet *fleet, int rule, int64_t matched,
                    int64_t total)
{
    size_t index = fleet_serve(fleet);

    assert_true(index != FLEET_NONE);
    expect(fleet, rule, matched, total);
    return index;
}

/* ---- tokens, blocks, adapters, salts ---- */

/* KA-05 with token ids: 48 more a turn, three blocks of 16. */
static void ka_kind_tokens(void **state)
{
    enum { TURNS = 12, MORE = 48 };
    static uint32_t tokens[TURNS * MORE];
    struct fleet fleet;
    size_t home = FLEET_NONE;
    (void)state;

    open_ka(&fleet, 3);
    prompt_fill((unsigned char *)tokens, sizeof tokens, 7);
    fleet.request.tokens = tokens;
    for (size_t i = 0; i < TURNS; i++) {
        size_t index;
        fleet.request.tokens_len = (i + 1) * MORE;
        index = serve(&fleet, i ? MATCH : TURN, (int64_t)(3 * i),
                      (int64_t)(3 * i + 3));
        home = i ? home : index;
        assert_int_equal(index, home);
    }
    /* 15 of the last block's 16: it does not count. */
    fleet.request.tokens_len = TURNS * MORE - 1;
    serve(&fleet, MATCH, 3 * TURNS - 1, 3 * TURNS - 1);
    fleet.request.tokens_len = 15;
    serve(&fleet, TURN, 0, 0);
    fleet_close(&fleet);
}

/* Hashes of the host's own making, or of lbroute_hash_blocks(), go before token
 * ids and text. */
static void ka_kind_blocks(void **state)
{
    uint64_t blocks[10];
    uint32_t token = 1;
    struct fleet fleet;
    size_t count, home;
    (void)state;

    open_ka(&fleet, 3);
    assert_int_equal(
        lbroute_hash_blocks(text, TEXT, 1, BLOCK, blocks, 10, &count),
        LBROUTE_OK);
    assert_int_equal(count, 10);
    fleet.request.blocks = blocks;
    fleet.request.blocks_len = 10;
    fleet.request.tokens = &token;
    fleet.request.tokens_len = 1;
    home = serve(&fleet, TURN, 0, 10);
    blocks[7]++;
    assert_int_equal(serve(&fleet, MATCH, 7, 10), home);
    fleet.request.blocks_len = 1;
    assert_int_equal(serve(&fleet, MATCH, 1, 1), home);
    fleet.request.blocks_len = 0;
    serve(&fleet, TURN, 0, 0);
    fleet.request.tokens_len = 0;
    serve(&fleet, TURN, 0, 10);
    fleet_close(&fleet);
}

static void set_origin(struct fleet *fleet, const char *model,
                       const char *adapter, const char *salt)
{
    fleet->request.model = model;
    fleet->request.model_len = strlen(model);
    fleet->request.adapter = adapter;
    fleet->request.adapter_len = strlen(adapter);
    fleet->request.salt = salt;
    fleet->request.salt_len = strlen(salt);
}

/* The same text has nothing in common under another model, adapter or salt, nor
 * when the name of one is that of the other. */
static void ka_kind_origins(void **state)
{
    static const char *const origins[][3] = {
        {"", "", ""},  {"m", "", ""},  {"", "a", ""},  {"", "", "a"},
        {"", "m", ""}, {"m", "a", ""}, {"m", "", "a"}, {"m", "a", "a"},
    };
    enum { COUNT = sizeof origins / sizeof origins[0] };
    static const char *const strategies[] = {"kv_aware", "cache_aware"};
    (void)state;

    for (size_t s = 0; s < 2; s++) {
        struct fleet fleet;
        size_t homes[COUNT];
        open_ka(&fleet, 4);
        fleet_strategy(&fleet, strategies[s]);
        for (size_t i = 0; i < COUNT; i++) {
            set_origin(&fleet, origins[i][0], origins[i][1], origins[i][2]);
            homes[i] = fleet_serve(&fleet);
            assert_int_equal(fleet.decision.prefix_matched, 0);
        }
        for (size_t i = 0; i < COUNT; i++) {
            set_origin(&fleet, origins[i][0], origins[i][1], origins[i][2]);
            assert_int_equal(fleet_serve(&fleet), homes[i]);
            assert_int_equal(fleet.decision.prefix_matched,
                             fleet.decision.prefix_total);
        }
        fleet_close(&fleet);
    }
}

static void ka_kind_block_sizes(void **state)
{
    struct fleet fleet;
    size_t home;
    (void)state;

    open_ka(&fleet, 3);
    fleet_param(&fleet, "prefix.block_bytes", 1000);
    home = serve(&fleet, TURN, 0, 2);
    assert_int_equal(serve(&fleet, MATCH, 2, 2), home);
    fleet_param(&fleet, "prefix.block_bytes", 1);
    serve(&fleet, TURN, 0, TEXT);
    serve(&fleet, MATCH, TEXT, TEXT);
    fleet_param(&fleet, "prefix.block_bytes", TEXT + 1);
    serve(&fleet, TURN, 0, 0);
    fleet_param(&fleet, "prefix.block_bytes", TEXT);
    serve(&fleet, TURN, 0, 1);
    fleet_close(&fleet);
}

/* ---- who takes it ---- */

static void check_holder_is_out(int how)
{
    struct fleet fleet;

    open_ka(&fleet, 4);
    prompt_warm(&fleet, B, text, TEXT);
    prompt_warm(&fleet, C, text, 4 * BLOCK);
    if (how == 0)
        fleet_drain(&fleet, B, 1);
    if (how == 1)
        exclude(&fleet, B);
    if (how == 2)
        fleet_bench(&fleet, B, TEST_S);
    if (how == 3) {
        fleet_set_limit(&fleet, B, 1);
        fleet_hold(&fleet, B, 1);
    }
    if (how == 4)
        fleet_hold(&fleet, B, 3);
    assert_int_equal(fleet_pick(&fleet), C);
    expect(&fleet, MATCH, 4, 10);
    fleet_close(&fleet);
}

/* Without the longest holder the next longest takes it. */
static void ka_kind_holder_is_out(void **state)
{
    (void)state;
    for (int how = 0; how < 5; how++)
        check_holder_is_out(how);
}

/* Whoever comes back has what it had; meanwhile it is as under weighted. */
static void ka_kind_holder_is_back(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ka(&fleet, 3);
    prompt_warm(&fleet, B, text, TEXT);
    fleet_drain(&fleet, B, 1);
    assert_true(serve(&fleet, TURN, 0, 10) != B);
    fleet_drain(&fleet, B, 0);
    fleet_remove(&fleet, A);
    fleet_remove(&fleet, C);
    fleet_add_again(&fleet, A);
    assert_int_equal(serve(&fleet, MATCH, 10, 10), B);
    fleet_remove(&fleet, B);
    fleet_add_again(&fleet, B);
    serve(&fleet, TURN, 0, 10);
    fleet_close(&fleet);
}

/* Of equal matches the lighter load takes it, relative to weight. */
static void ka_kind_ties(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ka(&fleet, 0);
    fleet_add_weight(&fleet, 1);
    fleet_add_weight(&fleet, 4);
    fleet_add_weight(&fleet, 1);
    prompt_warm(&fleet, A, text, TEXT);
    prompt_warm(&fleet, B, text, TEXT);
    fleet_hold(&fleet, A, 1);
    fleet_hold(&fleet, B, 3);
    assert_int_equal(fleet_pick(&fleet), B); /* 3/4 against 1 */
    expect(&fleet, MATCH, 10, 10);
    fleet_hold(&fleet, B, 1);
    assert_int_equal(fleet_pick(&fleet), A); /* 5/4 against 1 */
    fleet_close(&fleet);
}

/* What every candidate holds is no reason; what only the eligible hold
 * neither. */
static void ka_kind_held_by_all(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ka(&fleet, 3);
    for (size_t i = 0; i < 3; i++)
        prompt_warm(&fleet, i, text, 6 * BLOCK);
    fleet_reset_picks(&fleet);
    for (size_t i = 0; i < 6; i++) {
        prompt_set(&fleet, text, 6 * BLOCK + i);
        serve(&fleet, TURN, 6, 6);
    }
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fleet.picks[i], 2);
    prompt_warm(&fleet, A, text, 8 * BLOCK);
    prompt_warm(&fleet, B, text, 8 * BLOCK);
    prompt_set(&fleet, text, TEXT);
    exclude(&fleet, C);
    fleet_pick(&fleet);
    expect(&fleet, TURN, 8, 10);
    fleet_close(&fleet);
}

/* Hits do not move the turn: what has no match goes exactly as if they had not
 * been. */
static void ka_kind_hits_move_no_turn(void **state)
{
    static unsigned char other[BLOCK];
    struct test_rng rng = {5};
    struct fleet fleet, twin;
    (void)state;

    open_ka(&fleet, 0);
    fleet_open(&twin, "weighted", 0, 1);
    for (size_t i = 0; i < 4; i++) {
        fleet_add_weight(&fleet, (double)(i + 1));
        fleet_add_weight(&twin, (double)(i + 1));
    }
    assert_int_equal(fleet_serve(&fleet), fleet_serve(&twin));
    for (uint64_t i = 0; i < 500; i++) {
        prompt_set(&fleet, text, TEXT);
        if (test_rng_below(&rng, 2) == 0)
            serve(&fleet, MATCH, 10, 10);
        prompt_fill(other, sizeof other, 10 + i);
        prompt_set(&fleet, other, sizeof other);
        assert_int_equal(serve(&fleet, TURN, 0, 1), fleet_serve(&twin));
    }
    fleet_close(&fleet);
    fleet_close(&twin);
}

static void ka_kind_fallback_by_load(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ka(&fleet, 3);
    fleet_param(&fleet, "kv_aware.fallback", 1);
    fleet_hold(&fleet, A, 2);
    fleet_hold(&fleet, B, 1);
    prompt_fill(text, TEXT, 99);
    assert_int_equal(fleet_pick(&fleet), C);
    expect(&fleet, LEAST, 0, 10);
    assert_int_equal(fleet_pick(&fleet), C);
    expect(&fleet, MATCH, 10, 10);
    prompt_set(&fleet, "", 0);
    assert_int_equal(fleet_pick(&fleet), B);
    expect(&fleet, LEAST, 0, 0);
    fleet_close(&fleet);
}

/* ---- clients ---- */

static void send(struct fleet *fleet, const char *client, size_t blocks,
                 uint64_t number)
{
    static unsigned char prompt[64 * BLOCK];

    prompt_fill(prompt, blocks * BLOCK, number);
    prompt_set(fleet, prompt, blocks * BLOCK);
    fleet_client(fleet, client);
    assert_true(fleet_serve(fleet) != FLEET_NONE);
}

/* A client is guaranteed its share for less than the idle time; at that very
 * moment no longer. */
static void ka_kind_idle_to_the_nanosecond(void **state)
{
    (void)state;
    for (uint64_t early = 0; early < 2; early++) {
        struct fleet fleet;
        open_ka(&fleet, 1);
        fleet_param(&fleet, "kv_aware.capacity", 10);
        fleet_param(&fleet, "kv_aware.client_idle", 60);
        send(&fleet, "a", 5, 1000);
        fleet.now += 60 * TEST_S - early;
        share_expect(&fleet, A, "a", 5, early ? 10 : 0);
        for (uint64_t i = 0; i < 10; i++)
            send(&fleet, "b", 1, 2000 + i);
        share_expect(&fleet, A, "a", early ? 5 : 0, early ? 5 : 0);
        share_expect(&fleet, A, "b", early ? 5 : 10, early ? 5 : 10);
        assert_int_equal(fleet_stats(&fleet, A).prefix_blocks, 10);
        assert_int_equal(fleet_stats(&fleet, A).prefix_evicted, 5);
        fleet_close(&fleet);
    }
}

/* Those beyond the bound are one client together, with one share. */
static void ka_kind_more_clients_than_told_apart(void **state)
{
    struct fleet fleet;
    size_t clients;
    (void)state;

    open_ka(&fleet, 1);
    fleet_param(&fleet, "kv_aware.capacity", 12);
    fleet_param(&fleet, "kv_aware.clients", 2);
    send(&fleet, "a", 2, 1);
    send(&fleet, "b", 2, 2);
    send(&fleet, "c", 2, 3);
    send(&fleet, "d", 2, 4);
    send(&fleet, NULL, 2, 5);
    share_expect(&fleet, A, "a", 2, 4);
    share_expect(&fleet, A, NULL, 6, 4);
    /* Two blocks are free; then whoever has more gives one: 6 against 5, and at
     * 5 against 6 the newcomer itself. */
    send(&fleet, "a", 4, 6);
    share_expect(&fleet, A, "a", 5, 4);
    share_expect(&fleet, A, NULL, 5, 4);
    assert_near(share_sum(&fleet, A, &clients), 12, 1e-6);
    assert_int_equal(clients, 3);

    /* Once one of the two is silent, its place is free. */
    fleet.now += 300 * TEST_S;
    send(&fleet, "a", 1, 7);
    fleet.now += 300 * TEST_S;
    send(&fleet, "c", 2, 8);
    share_expect(&fleet, A, "b", 0, 0);
    share_expect(&fleet, A, "c", 2, 6);
    fleet_close(&fleet);
}

/* A flood by one client pushes out nobody who is within its share. */
static void ka_kind_flood(void **state)
{
    struct fleet fleet;
    char name[8];
    (void)state;

    open_ka(&fleet, 2);
    fleet_param(&fleet, "kv_aware.capacity", 100);
    for (uint64_t i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "c%u", (unsigned)i);
        for (size_t target = 0; target < 2; target++) {
            exclude(&fleet, 1 - target);
            send(&fleet, name, 10, 10 + i);
        }
    }
    fleet.request.exclude_len = 0;
    for (uint64_t i = 0; i < 1000; i++)
        send(&fleet, "flood", 1 + (size_t)i % 60, 1000 + i);
    for (uint64_t i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "c%u", (unsigned)i);
        for (size_t target = 0; target < 2; target++)
            share_expect(&fleet, target, name, 10, 100.0 / 9);
        send(&fleet, name, 10, 10 + i);
        assert_int_equal(fleet.decision.prefix_matched, 10);
    }
    fleet_close(&fleet);
}

/* Asking who holds what, or what a pick would say, changes nothing. */
static void ka_kind_reads_have_no_effect(void **state)
{
    struct test_rng rng = {3};
    struct fleet twins[2];
    (void)state;

    for (size_t t = 0; t < 2; t++) {
        open_ka(&twins[t], 4);
        fleet_param(&twins[t], "kv_aware.capacity", 60);
    }
    for (int i = 0; i < 2000; i++) {
        static unsigned char prompt[20 * BLOCK];
        uint64_t draw = test_rng_next(&rng);
        char client[8];
        size_t index, clients;
        prompt_fill(prompt, sizeof prompt, draw % 30);
        snprintf(client, sizeof client, "c%u", (unsigned)(draw >> 8) % 9);
        for (size_t t = 0; t < 2; t++) {
            twins[t].now += (draw >> 16) % (20 * TEST_S);
            prompt_set(&twins[t], prompt, (size_t)(draw >> 40) % sizeof prompt);
            fleet_client(&twins[t], client);
        }
        index = fleet_explain(&twins[0]);
        for (size_t j = 0; j < 4; j++)
            (void)share_sum(&twins[0], j, &clients);
        assert_int_equal(fleet_serve(&twins[1]), index);
        assert_int_equal(fleet_serve(&twins[0]), index);
        assert_int_equal(twins[0].decision.prefix_matched,
                         twins[1].decision.prefix_matched);
    }
    assert_int_equal(fleet_totals(&twins[0]).memory_bytes,
                     fleet_totals(&twins[1]).memory_bytes);
    fleet_close(&twins[0]);
    fleet_close(&twins[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ka_kind_tokens),
        cmocka_unit_test(ka_kind_blocks),
        cmocka_unit_test(ka_kind_origins),
        cmocka_unit_test(ka_kind_block_sizes),
        cmocka_unit_test(ka_kind_holder_is_out),
        cmocka_unit_test(ka_kind_holder_is_back),
        cmocka_unit_test(ka_kind_ties),
        cmocka_unit_test(ka_kind_held_by_all),
        cmocka_unit_test(ka_kind_hits_move_no_turn),
        cmocka_unit_test(ka_kind_fallback_by_load),
        cmocka_unit_test(ka_kind_idle_to_the_nanosecond),
        cmocka_unit_test(ka_kind_more_clients_than_told_apart),
        cmocka_unit_test(ka_kind_flood),
        cmocka_unit_test(ka_kind_reads_have_no_effect),
    };
    return cmocka_run_group_tests_name("KA kinds", tests, NULL, NULL);
}
