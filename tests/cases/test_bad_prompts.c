/* SPDX-License-Identifier: MIT */
/* Bad and extreme prompts, in each form, and what they may cost. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "busy.h"
#include "models/prefix_trie_shares.h"
#include "prompts.h"
#include "shares.h"
#include "support/rng.h"

static const char *const affine[] = {"kv_aware", "cache_aware",
                                     "consistent_hash", "sticky_session"};

enum { AFFINE = sizeof affine / sizeof affine[0], MIB = 1 << 20 };

static int pick(struct fleet *fleet, const lbroute_request *request)
{
    return lbroute_pick(fleet->router, request, fleet->now, &fleet->decision);
}

/* ---- refused ---- */

static void refuse(struct busy *busy, int code, const lbroute_request *request)
{
    struct fleet *fleet = &busy->fleet;

    REFUSED(busy, code, pick(fleet, request));
    REFUSED(busy, code,
            lbroute_explain(fleet->router, request, fleet->now,
                            &fleet->decision, NULL, 0, NULL));
}

/* NULL with a length, and lengths that nothing can have, of which nothing is
 * read. */
static void bad_prompt_fields(void **state)
{
    static const uint32_t token = 1;
    static const uint64_t block = 1;
    (void)state;

    for (size_t i = 0; i < AFFINE; i++) {
        struct busy busy;
        lbroute_request request;
        busy_open(&busy, affine[i]);
#define WITH(field, pointer, length, code)                                     \
    do {                                                                       \
        request = busy.fleet.request;                                          \
        request.field = (pointer);                                             \
        request.field##_len = (length);                                        \
        refuse(&busy, (code), &request);                                       \
    } while (0)
        WITH(prompt, NULL, 1, LBROUTE_ERR_INVALID);
        WITH(tokens, NULL, 1, LBROUTE_ERR_INVALID);
        WITH(blocks, NULL, 1, LBROUTE_ERR_INVALID);
        WITH(adapter, NULL, 1, LBROUTE_ERR_INVALID);
        WITH(salt, NULL, 1, LBROUTE_ERR_INVALID);
        WITH(conversation, NULL, 1, LBROUTE_ERR_INVALID);
        WITH(client, NULL, SIZE_MAX, LBROUTE_ERR_INVALID);
        WITH(tokens, &token, SIZE_MAX, LBROUTE_ERR_RANGE);
        WITH(tokens, &token, SIZE_MAX / 4 + 1, LBROUTE_ERR_RANGE);
        WITH(blocks, &block, SIZE_MAX, LBROUTE_ERR_RANGE);
        WITH(blocks, &block, SIZE_MAX / 8 + 1, LBROUTE_ERR_RANGE);
#undef WITH
        busy_close(&busy);
    }
}

static void refuse_value(struct busy *busy, const char *name, double value)
{
    REFUSED(
        busy, LBROUTE_ERR_RANGE,
        lbroute_pool_set(busy->fleet.router, busy->fleet.pool, name, value));
}

static void bad_parameters(void **state)
{
    static const struct {
        const char *name;
        double bad[4];
    } rows[] = {
        {"prefix.block_bytes", {0, -1, 256.5, 1048577}},
        {"prefix.block_tokens", {0, -1, 16.5, 65537}},
        {"prefix.common", {0.49, 2.01, -1, (double)INFINITY}},
        {"kv_aware.capacity", {-1, 0.5, 16777217, (double)INFINITY}},
        {"kv_aware.clients", {0, -1, 1.5, 65537}},
        {"kv_aware.client_idle", {0, -1, 0.0009, 31536001}},
        {"kv_aware.fallback", {-1, 0.5, 3, (double)INFINITY}},
        {"cache_aware.mode", {-1, 0.5, 2, (double)INFINITY}},
    };
    struct busy busy;
    (void)state;

    busy_open(&busy, "kv_aware");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t j = 0; j < 4; j++)
            refuse_value(&busy, rows[i].name, rows[i].bad[j]);
        refuse_value(&busy, rows[i].name, (double)NAN);
    }
    busy_close(&busy);
}

static void bad_reports(void **state)
{
    struct busy busy;
    lbroute_router *router;
    lbroute_client_share row;
    uint64_t digest = 7;
    size_t count = 7;
    (void)state;

    busy_open(&busy, "kv_aware");
    router = busy.fleet.router;
    lbroute_client_share_init(&row, sizeof row);
    REFUSED(&busy, LBROUTE_ERR_INVALID,
            lbroute_target_clients(NULL, 1, 0, NULL, 0, &count));
    REFUSED(&busy, LBROUTE_ERR_INVALID,
            lbroute_target_clients(router, busy.fleet.targets[0], 0, NULL, 1,
                                   &count));
    REFUSED(
        &busy, LBROUTE_ERR_NOT_FOUND,
        lbroute_target_clients(router, busy.gone_target, 0, &row, 1, &count));
    REFUSED(&busy, LBROUTE_ERR_INVALID,
            lbroute_client_digest(router, NULL, 1, &digest));
    REFUSED(&busy, LBROUTE_ERR_INVALID,
            lbroute_client_digest(router, "a", 0, &digest));
    REFUSED(&busy, LBROUTE_ERR_INVALID,
            lbroute_client_digest(router, "a", 1, NULL));
    REFUSED(&busy, LBROUTE_ERR_INVALID,
            lbroute_client_digest(NULL, "a", 1, &digest));
    assert_int_equal(count, 7);
    assert_int_equal(digest, 7);
    lbroute_client_share_init(NULL, sizeof row);
    busy_close(&busy);
}

static void bad_hash_blocks(void **state)
{
    static const uint32_t ids[5] = {1, 2, 3, 4, 5};
    uint64_t blocks[3] = {7, 7, 7};
    size_t count = 7;
    (void)state;

#define HASH(symbols, n, size, block, out, capacity)                           \
    lbroute_hash_blocks(symbols, n, size, block, out, capacity, &count)
    assert_int_equal(HASH(NULL, 1, 1, 1, blocks, 3), LBROUTE_ERR_INVALID);
    assert_int_equal(HASH(ids, 5, 4, 2, NULL, 3), LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_hash_blocks(ids, 5, 4, 2, blocks, 3, NULL),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(HASH(ids, 5, 0, 2, blocks, 3), LBROUTE_ERR_RANGE);
    assert_int_equal(HASH(ids, 5, 2, 2, blocks, 3), LBROUTE_ERR_RANGE);
    assert_int_equal(HASH(ids, 5, 16, 2, blocks, 3), LBROUTE_ERR_RANGE);
    assert_int_equal(HASH(ids, 5, 4, 0, blocks, 3), LBROUTE_ERR_RANGE);
    assert_int_equal(HASH(ids, 5, 4, SIZE_MAX, blocks, 3), LBROUTE_ERR_RANGE);
    assert_int_equal(count, 7);
    assert_int_equal(HASH(ids, 5, 4, 1, blocks, 3), LBROUTE_ERR_BUFFER);
    assert_int_equal(count, 5);
    assert_int_equal(HASH(ids, SIZE_MAX, 8, 1, blocks, 3), LBROUTE_ERR_BUFFER);
    assert_true(count == SIZE_MAX);
    assert_int_equal(blocks[0], 7);
    assert_int_equal(HASH(NULL, 0, 1, 1, NULL, 0), LBROUTE_OK);
    assert_int_equal(count, 0);
    assert_int_equal(HASH(ids, 5, 4, 6, NULL, 0), LBROUTE_OK);
    assert_int_equal(count, 0);
    assert_int_equal(HASH(ids, 5, 4, 2, blocks, 3), LBROUTE_OK);
    assert_int_equal(count, 2);
    assert_true(blocks[0] != blocks[1]);
    assert_int_equal(blocks[2], 7);
#undef HASH
}

/* ---- extreme ---- */

/* Serves the request twice; it must be known the second time, as far as it has
 * whole blocks, on one and the same target. */
static void serve_twice(struct fleet *fleet)
{
    size_t home = fleet_serve(fleet);

    assert_true(home != FLEET_NONE);
    assert_true(fleet->decision.prefix_matched <= fleet->decision.prefix_total);
    if (fleet->decision.prefix_total == 0)
        return;
    assert_int_equal(fleet_serve(fleet), home);
    assert_true(fleet->decision.prefix_matched > 0);
    assert_true(fleet->decision.prefix_matched <= fleet->decision.prefix_total);
}

static void serve_forms(struct fleet *fleet, const unsigned char *bytes,
                        size_t length)
{
    prompt_set(fleet, bytes, length);
    serve_twice(fleet);
    fleet->request.tokens = (const void *)bytes;
    fleet->request.tokens_len = length / 4;
    serve_twice(fleet);
    fleet->request.tokens_len = 0;
    fleet->request.blocks = (const void *)bytes;
    fleet->request.blocks_len = length / 8;
    serve_twice(fleet);
    fleet->request.blocks_len = 0;
}

static void extreme_prompts(void **state)
{
    unsigned char *bytes = malloc(MIB);
    (void)state;

    assert_non_null(bytes);
    for (size_t i = 0; i < 3; i++) {
        struct fleet fleet;
        fleet_open(&fleet, affine[i == 2], 3, 1);
        fleet_param(&fleet, "cache_aware.mode", i == 1);
        fleet_param(&fleet, "cache_aware.threshold", 0);
        prompt_fill(bytes, MIB, 1);
        serve_forms(&fleet, bytes, 0);
        serve_forms(&fleet, bytes, 1);
        serve_forms(&fleet, bytes, 255);
        serve_forms(&fleet, bytes, MIB);
        memset(bytes, 0, MIB);
        serve_forms(&fleet, bytes, MIB);
        memset(bytes, 0xff, MIB);
        serve_forms(&fleet, bytes, MIB);
        fleet_param(&fleet, "prefix.block_bytes", 1);
        fleet_param(&fleet, "prefix.block_tokens", 1);
        serve_forms(&fleet, bytes, MIB);
        fleet_close(&fleet);
    }
    free(bytes);
}

/* A caller of the time before there were tokens, blocks, adapters and salts. */
static void older_callers(void **state)
{
    static unsigned char text[4096];
    struct fleet fleet;
    lbroute_request whole;
    union {
        lbroute_request request;
        unsigned char bytes[sizeof(lbroute_request)];
    } old;
    lbroute_target home;
    (void)state;

    fleet_open(&fleet, "kv_aware", 3, 1);
    prompt_fill(text, sizeof text, 1);
    prompt_set(&fleet, text, sizeof text);
    assert_int_equal(pick(&fleet, &fleet.request), LBROUTE_OK);
    home = fleet.decision.target;
    memset(&old, 0xa5, sizeof old);
    lbroute_request_init(&old.request, offsetof(lbroute_request, tokens));
    for (size_t i = offsetof(lbroute_request, tokens); i < sizeof old; i++)
        assert_int_equal(old.bytes[i], 0xa5);
    old.request.pool = fleet.pool;
    old.request.prompt = text;
    old.request.prompt_len = sizeof text;
    assert_int_equal(pick(&fleet, &old.request), LBROUTE_OK);
    assert_int_equal(fleet.decision.target, home);
    assert_int_equal(fleet.decision.prefix_matched, 16);
    whole = fleet.request;
    whole.salt = "s";
    whole.salt_len = 1;
    assert_int_equal(pick(&fleet, &whole), LBROUTE_OK);
    assert_int_equal(fleet.decision.prefix_matched, 0);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    fleet_close(&fleet);
}

/* ---- memory ---- */

/* The most that a block may cost: a node, a hold and a claim of its own, their
 * entries in three tables that are at least 3/8 full, and a text of one hash
 * with a sixteenth for gaps. */
static size_t block_bound(void)
{
    size_t text = lbr_arena_cost(sizeof(struct lbr_trie_text) + LBR_BLOCK);

    return sizeof(struct lbr_trie_node) + sizeof(struct lbr_shared_hold) +
           sizeof(struct lbr_claim) + 3 * sizeof(struct lbr_map_entry) * 8 / 3 +
           text + text / 16;
}

/* An account, its place in a list that doubles, its entry in a table. */
static size_t account_bound(void)
{
    return sizeof(struct lbr_account) + 2 * sizeof(struct lbr_account_place) +
           sizeof(struct lbr_map_entry) * 8 / 3;
}

/* A million clients with a prompt of one block each and a session: memory stays
 * below capacity x blocks + clients x accounts, but for begun chunks. */
static void a_million_clients(void **state)
{
    enum { TARGETS = 2, CAPACITY = 4096, CLIENTS = 256, PICKS = 1000000 };
    const uint64_t most =
        TARGETS * (CAPACITY * block_bound() + (CLIENTS + 1) * account_bound()) +
        300 * 1024;
    struct fleet fleet;
    uint64_t bare, half = 0;
    (void)state;

    fleet_open(&fleet, "kv_aware", TARGETS, 1);
    fleet_param(&fleet, "kv_aware.capacity", CAPACITY);
    fleet_param(&fleet, "kv_aware.clients", CLIENTS);
    fleet_serve(&fleet);
    bare = fleet_totals(&fleet).memory_bytes;
    for (uint64_t i = 0; i < PICKS; i++) {
        uint64_t block = i * UINT64_C(0x9e3779b97f4a7c15);
        fleet.now += i % 4 ? 0 : TEST_S / 2;
        fleet.request.blocks = &block;
        fleet.request.blocks_len = 1;
        fleet.request.client = &block;
        fleet.request.client_len = sizeof block;
        fleet.request.session = &block;
        fleet.request.session_len = sizeof block;
        assert_true(fleet_serve(&fleet) != FLEET_NONE);
        assert_true(fleet_totals(&fleet).memory_bytes <= bare + most);
        if (i == PICKS / 2)
            half = fleet_totals(&fleet).memory_bytes;
    }
    assert_int_equal(fleet_totals(&fleet).memory_bytes, half);
    for (size_t i = 0; i < TARGETS; i++)
        assert_int_equal(fleet_stats(&fleet, i).prefix_blocks, CAPACITY);
    fleet_close(&fleet);
}

/* One of twenty prompts, by one of five clients, now and then a long one. */
static void draw_prompt(struct fleet *fleet, struct test_rng *rng,
                        unsigned char *bytes, char client[8])
{
    uint64_t draw = test_rng_next(rng);
    size_t length = (size_t)(draw >> 8) % (draw % 16 ? 20000 : MIB);

    prompt_fill(bytes, length, draw % 20);
    prompt_set(fleet, bytes, draw % 3 ? length : 0);
    fleet->request.tokens = (const void *)bytes;
    fleet->request.tokens_len = draw % 3 == 0 ? length / 4 : 0;
    snprintf(client, 8, "c%u", (unsigned)(draw >> 40) % 5);
    fleet_client(fleet, client);
}

/* Any allocation of a pick may fail: it is refused with nothing changed, or the
 * prompt is remembered in part. All memory comes back. */
static void every_allocation_may_fail(void **state)
{
    unsigned char *bytes = malloc(MIB);
    uint64_t fail_at = 0;
    int failed = 1;
    (void)state;

    assert_non_null(bytes);
    for (; failed; fail_at++) {
        struct test_rng rng = {1};
        struct fleet fleet;
        char client[8];
        fleet_open(&fleet, "kv_aware", 2, 1);
        fleet_param(&fleet, "kv_aware.capacity", 300);
        test_alloc_fail(&fleet.alloc, fail_at, 1);
        for (int i = 0; i < 40; i++) {
            draw_prompt(&fleet, &rng, bytes, client);
            if (fleet_serve(&fleet) == FLEET_NONE) {
                assert_int_equal(fleet.code, LBROUTE_ERR_NO_MEMORY);
                assert_true(fleet_serve(&fleet) != FLEET_NONE);
            }
            for (size_t t = 0; t < 2; t++)
                assert_true(fleet_stats(&fleet, t).prefix_blocks <= 300);
        }
        failed = fleet.alloc.failures > 0;
        fleet_close(&fleet);
    }
    assert_true(fail_at > 20);
    free(bytes);
}

/* Once warm, picks take no memory: not for text, tokens or blocks, not for a
 * prompt of 1 MiB, and not for prompts that were forgotten since. The same
 * traffic comes over and over: what tables hold at most is reached then. */
static void warm_picks_allocate_nothing(void **state)
{
    unsigned char *bytes = malloc(MIB);
    struct test_rng rng = {1};
    struct fleet fleet;
    uint64_t calls = 0;
    char client[8];
    (void)state;

    assert_non_null(bytes);
    fleet_open(&fleet, "kv_aware", 3, 1);
    fleet_param(&fleet, "kv_aware.capacity", 2000);
    for (int i = 0; i < 12000; i++) {
        if (i % 500 == 0)
            rng = (struct test_rng){1};
        draw_prompt(&fleet, &rng, bytes, client);
        assert_true(fleet_serve(&fleet) != FLEET_NONE);
        if (i == 8000)
            calls = fleet.alloc.calls;
    }
    assert_int_equal(fleet.alloc.calls, calls);
    fleet_close(&fleet);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_prompt_fields),
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(bad_reports),
        cmocka_unit_test(bad_hash_blocks),
        cmocka_unit_test(extreme_prompts),
        cmocka_unit_test(older_callers),
        cmocka_unit_test(a_million_clients),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(warm_picks_allocate_nothing),
    };
    return cmocka_run_group_tests_name("bad prompts", tests, NULL, NULL);
}
