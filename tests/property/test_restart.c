/* SPDX-License-Identifier: MIT */
/*
 * Restarts in another world: other targets, keys, bounds and clocks, and what
 * each kind of knowledge is good for afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "learned.h"

#define BEGIN (UINT64_C(1000000) * SECOND)

/* ---- a plain gateway: one pool, and targets a, b, c … ---- */

enum { MOST = 8 };

struct plain {
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target targets[MOST];
    size_t count;
    uint64_t now;
};

static void start(struct plain *plain, const char *strategy, const char *names,
                  uint64_t now)
{
    lbroute_router_options options;

    memset(plain, 0, sizeof *plain);
    plain->now = now;
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1 + now;
    memset(options.digest_key, 3, sizeof options.digest_key);
    CHECK_I(lbroute_router_create(&options, &plain->router), LBROUTE_OK);
    plain->pool = api_pool(plain->router, "pool", strategy);
    for (; *names; names++) {
        char name[2] = {*names, 0};
        plain->targets[plain->count++] =
            api_target(plain->router, plain->pool, name, 1);
    }
}

static void end(struct plain *plain)
{
    lbroute_router_destroy(plain->router);
}

/* Restores what |from| knows, |elapsed| later. */
static lbroute_restore_result carry_over(const struct plain *from,
                                         struct plain *to, uint64_t elapsed)
{
    static uint8_t bytes[1 << 20];
    lbroute_restore_result result;
    size_t length = 0;

    CHECK_I(
        lbroute_snapshot(from->router, from->now, bytes, sizeof bytes, &length),
        LBROUTE_OK);
    lbroute_restore_result_init(&result, sizeof result);
    CHECK_I(
        lbroute_restore(to->router, bytes, length, to->now, elapsed, &result),
        LBROUTE_OK);
    return result;
}

/* Serves a request and tells which target that was. */
static size_t serve(struct plain *plain, lbroute_request *request, int kind)
{
    lbroute_target target;
    size_t i = 0;

    request->pool = plain->pool;
    target = api_serve(plain->router, request, plain->now, kind);
    while (plain->targets[i] != target)
        i++;
    return i;
}

static size_t serve_prompt(struct plain *plain, const char *prompt)
{
    lbroute_request request;

    api_request(&request, plain->pool);
    request.prompt = prompt;
    request.prompt_len = strlen(prompt);
    return serve(plain, &request, LBROUTE_EVENT_SUCCESS);
}

static size_t serve_session(struct plain *plain, const char *session)
{
    lbroute_request request;

    api_request(&request, plain->pool);
    api_set_session(&request, session);
    return serve(plain, &request, LBROUTE_EVENT_SUCCESS);
}

static size_t serve_any(struct plain *plain)
{
    lbroute_request request;

    api_request(&request, plain->pool);
    return serve(plain, &request, LBROUTE_EVENT_SUCCESS);
}

/* ---- what is good for what ---- */

/* 3:1:1 by smooth weighted round-robin is A B A C A: after three picks, C and
 * A follow. */
static void turns_go_on(void **state)
{
    struct plain before;
    struct plain after;
    (void)state;

    start(&before, "weighted", "abc", BEGIN);
    start(&after, "weighted", "cba", BEGIN);
    CHECK_I(
        lbroute_target_set_weight(before.router, before.targets[0], 3, BEGIN),
        LBROUTE_OK);
    CHECK_I(lbroute_target_set_weight(after.router, after.targets[2], 3, BEGIN),
            LBROUTE_OK);
    CHECK_U(serve_any(&before), 0);
    CHECK_U(serve_any(&before), 1);
    CHECK_U(serve_any(&before), 0);
    (void)carry_over(&before, &after, 0);
    CHECK_U(serve_any(&after), 0);
    CHECK_U(serve_any(&after), 2);
    end(&before);
    end(&after);
}

static void rotations_go_on(void **state)
{
    struct plain before;
    struct plain after;
    (void)state;

    start(&before, "round_robin", "abcd", BEGIN);
    start(&after, "round_robin", "dcba", BEGIN);
    CHECK_U(serve_any(&before), 0);
    CHECK_U(serve_any(&before), 1);
    (void)carry_over(&before, &after, 0);
    CHECK_U(serve_any(&after), 1); /* c */
    CHECK_U(serve_any(&after), 0); /* d */
    CHECK_U(serve_any(&after), 3); /* a */
    end(&before);
    end(&after);
}

/* A session stays; it is 250 of 300 seconds old afterwards, and no older for
 * the clock that began anew. */
static void sessions_age(void **state)
{
    struct plain before;
    struct plain after;
    size_t home;
    (void)state;

    start(&before, "sticky_session", "abcdefgh", BEGIN);
    home = serve_session(&before, "s");
    for (int i = 0; i < 2; i++) {
        start(&after, "sticky_session", "abcdefgh", 400 * SECOND);
        CHECK_U(carry_over(&before, &after, 250 * SECOND).sessions, 1);
        after.now += (i ? 60 : 40) * SECOND;
        lbroute_request request;
        lbroute_decision decision;
        api_request(&request, after.pool);
        api_set_session(&request, "s");
        api_pick(after.router, &request, after.now, &decision);
        CHECK((decision.rule == LBROUTE_RULE_STICKY_SESSION) == (i == 0));
        if (i == 0)
            CHECK(decision.target == after.targets[home]);
        end(&after);
    }
    end(&before);
}

/* Benched for 30 s of which 10 are over, 15 more while the process was down. */
static void a_bench_goes_on(void **state)
{
    struct plain before;
    struct plain after;
    lbroute_target_stats stats;
    (void)state;

    start(&before, "weighted", "ab", BEGIN);
    CHECK_I(lbroute_target_bench(before.router, before.targets[1], 30 * SECOND,
                                 BEGIN),
            LBROUTE_OK);
    before.now += 10 * SECOND;
    start(&after, "weighted", "ab", 100 * SECOND);
    (void)carry_over(&before, &after, 15 * SECOND);
    stats = api_target_stats(after.router, after.targets[1],
                             after.now + 5 * SECOND - 1);
    CHECK_I(stats.benched, 1);
    stats = api_target_stats(after.router, after.targets[1],
                             after.now + 5 * SECOND);
    CHECK_I(stats.benched, 0);
    end(&before);
    end(&after);
}

static void prompts_are_known(void **state)
{
    static const char prompt[] = "You are helpful. What is the time in Oslo?";
    struct plain before;
    struct plain after;
    size_t home;
    (void)state;

    for (int i = 0; i < 2; i++) {
        start(&before, "cache_aware", "abcdefgh", BEGIN);
        start(&after, "cache_aware", "hgfedcba", BEGIN);
        home = serve_prompt(&before, prompt);
        if (i == 0)
            CHECK_U(carry_over(&before, &after, 0).prefix_bytes,
                    strlen(prompt));
        lbroute_request request;
        lbroute_decision decision;
        api_request(&request, after.pool);
        request.prompt = prompt;
        request.prompt_len = strlen(prompt);
        api_pick(after.router, &request, after.now, &decision);
        CHECK_I(decision.rule,
                i ? LBROUTE_RULE_LEAST_WARMED : LBROUTE_RULE_CACHE_AWARE);
        CHECK_I(decision.prefix_matched, i ? 0 : (int64_t)strlen(prompt));
        if (i == 0)
            CHECK(decision.target == after.targets[7 - home]);
        end(&before);
        end(&after);
    }
}

/* ---- KV events ---- */

static void tell(struct plain *plain, uint64_t seq, uint64_t label,
                 uint32_t first_token)
{
    uint32_t tokens[API_KV_SIZE];

    for (uint32_t i = 0; i < API_KV_SIZE; i++)
        tokens[i] = first_token + i;
    CHECK_I(api_tell(plain->router, plain->targets[0], 0, seq,
                     LBROUTE_KV_STORED, label, tokens, API_KV_SIZE, plain->now),
            LBROUTE_OK);
}

static lbroute_kv_source_stats source_of(const struct plain *plain)
{
    lbroute_kv_source_stats stats;

    lbroute_kv_source_stats_init(&stats, sizeof stats);
    CHECK_I(lbroute_get_kv_source_stats(plain->router, plain->targets[0], 0,
                                        plain->now, &stats),
            LBROUTE_OK);
    return stats;
}

/* With the batch that is expected the source goes on; with a later one there is
 * a gap, as ever. */
static void a_source_goes_on(void **state)
{
    struct plain before;
    struct plain after;
    (void)state;

    for (uint64_t missing = 0; missing < 2; missing++) {
        start(&before, "precise_cache_aware", "ab", BEGIN);
        start(&after, "precise_cache_aware", "ba", BEGIN);
        after.targets[0] = after.targets[1];
        tell(&before, 7, 1, 10);
        tell(&before, 8, 2, 20);
        lbroute_restore_result result = carry_over(&before, &after, 0);
        CHECK_U(result.kv_sources, 1);
        CHECK_U(result.kv_blocks, 2);
        CHECK_U(source_of(&after).next_seq, 9);
        CHECK_U(source_of(&after).blocks[LBROUTE_MEDIUM_GPU], 2);
        CHECK_I(source_of(&after).state, LBROUTE_KV_SOURCE_FRESH);
        tell(&after, 9 + missing, 3, 30);
        CHECK_I(source_of(&after).state,
                missing ? LBROUTE_KV_SOURCE_GAP : LBROUTE_KV_SOURCE_FRESH);
        CHECK_U(source_of(&after).blocks[LBROUTE_MEDIUM_GPU], 3 - missing);
        end(&before);
        end(&after);
    }
}

/* What the router heard itself is not overwritten. */
static void a_source_that_was_heard_stays(void **state)
{
    struct plain before;
    struct plain after;
    (void)state;

    start(&before, "precise_cache_aware", "a", BEGIN);
    start(&after, "precise_cache_aware", "a", BEGIN);
    tell(&before, 7, 1, 10);
    tell(&after, 100, 5, 50);
    lbroute_restore_result result = carry_over(&before, &after, 0);
    CHECK_U(result.kv_sources, 0);
    CHECK_U(result.kv_sources_skipped, 1);
    CHECK_U(result.kv_blocks_skipped, 1);
    CHECK_U(source_of(&after).next_seq, 101);
    end(&before);
    end(&after);
}

/* A batch of which a part came is missing after a restart. */
static void half_a_batch_is_none(void **state)
{
    struct plain before;
    struct plain after;
    lbroute_kv_batch batch;
    (void)state;

    start(&before, "precise_cache_aware", "a", BEGIN);
    start(&after, "precise_cache_aware", "a", BEGIN);
    tell(&before, 7, 1, 10);
    lbroute_kv_batch_init(&batch, sizeof batch);
    batch.seq = 8;
    batch.more = 1;
    CHECK_I(lbroute_kv_apply(before.router, before.targets[0], 0, &batch,
                             before.now, NULL),
            LBROUTE_OK);
    (void)carry_over(&before, &after, 0);
    lbroute_kv_source_stats stats = source_of(&after);
    CHECK_I(stats.state, LBROUTE_KV_SOURCE_GAP);
    CHECK_U(stats.first_missing, 8);
    CHECK_U(stats.last_missing, 8);
    tell(&after, 8, 2, 20);
    CHECK_I(source_of(&after).state, LBROUTE_KV_SOURCE_FRESH);
    end(&before);
    end(&after);
}

/* A block is stored after that of another label, or one is removed. */
static void tell_after(struct plain *plain, uint64_t seq, int kind,
                       uint64_t label, uint64_t parent)
{
    static const uint32_t tokens[API_KV_SIZE] = {1, 2, 3, 4};
    lbroute_kv_event event;
    lbroute_kv_batch batch;

    lbroute_kv_event_init(&event, sizeof event);
    event.kind = kind;
    event.hashes = &label;
    event.hash_count = 1;
    event.block_size = API_KV_SIZE;
    event.has_parent = kind == LBROUTE_KV_STORED;
    event.parent = parent;
    event.tokens = kind == LBROUTE_KV_STORED ? tokens : NULL;
    event.token_count = kind == LBROUTE_KV_STORED ? API_KV_SIZE : 0;
    lbroute_kv_batch_init(&batch, sizeof batch);
    batch.seq = seq;
    batch.events = &event;
    batch.event_count = 1;
    CHECK_I(lbroute_kv_apply(plain->router, plain->targets[0], 0, &batch,
                             plain->now, NULL),
            LBROUTE_OK);
}

/* A block that is removed keeps its place for those after it, so that more can
 * follow: also where the one after it was known by an older record. */
static void blocks_keep_their_order(void **state)
{
    struct plain before;
    struct plain after;
    (void)state;

    start(&before, "precise_cache_aware", "a", BEGIN);
    start(&after, "precise_cache_aware", "a", BEGIN);
    tell(&before, 0, 9, 90); /* makes way for 2, which follows 1 */
    tell(&before, 1, 1, 10);
    tell_after(&before, 2, LBROUTE_KV_REMOVED, 9, 0);
    tell_after(&before, 3, LBROUTE_KV_STORED, 2, 1);
    (void)carry_over(&before, &after, 0);
    for (int i = 0; i < 2; i++) {
        struct plain *plain = i ? &after : &before;
        tell_after(plain, 4, LBROUTE_KV_REMOVED, 1, 0);
        tell_after(plain, 5, LBROUTE_KV_STORED, 3, 1);
        CHECK_U(source_of(plain).blocks[LBROUTE_MEDIUM_GPU], 2);
        CHECK_U(source_of(plain).waiting, 0);
    }
    end(&before);
    end(&after);
}

/* A block that waits for the one before it waits on, as often as it came. */
static void blocks_that_wait_wait_on(void **state)
{
    struct plain before;
    struct plain after;
    (void)state;

    start(&before, "precise_cache_aware", "a", BEGIN);
    start(&after, "precise_cache_aware", "a", BEGIN);
    api_set(before.router, before.pool, "precise_cache_aware.count_copies", 1);
    api_set(after.router, after.pool, "precise_cache_aware.count_copies", 1);
    tell(&before, 0, 9, 90);
    tell_after(&before, 1, LBROUTE_KV_STORED, 2, 1);
    tell_after(&before, 2, LBROUTE_KV_STORED, 2, 1);
    CHECK_U(source_of(&before).waiting, 1);
    (void)carry_over(&before, &after, 0);
    for (int i = 0; i < 2; i++) {
        struct plain *plain = i ? &after : &before;
        CHECK_U(source_of(plain).waiting, 1);
        CHECK_U(source_of(plain).blocks[LBROUTE_MEDIUM_GPU], 1);
        tell(plain, 3, 1, 10);
        CHECK_U(source_of(plain).waiting, 0);
        CHECK_U(source_of(plain).blocks[LBROUTE_MEDIUM_GPU], 3);
        /* It was stored twice. */
        tell_after(plain, 4, LBROUTE_KV_REMOVED, 2, 0);
        CHECK_U(source_of(plain).blocks[LBROUTE_MEDIUM_GPU], 3);
        tell_after(plain, 5, LBROUTE_KV_REMOVED, 2, 0);
        CHECK_U(source_of(plain).blocks[LBROUTE_MEDIUM_GPU], 2);
    }
    end(&before);
    end(&after);
}

static int empty_batch_at(struct plain *plain, uint64_t seq, double timestamp)
{
    lbroute_kv_batch batch;
    lbroute_kv_result result;

    lbroute_kv_batch_init(&batch, sizeof batch);
    lbroute_kv_result_init(&result, sizeof result);
    batch.seq = seq;
    batch.timestamp = timestamp;
    CHECK_I(lbroute_kv_apply(plain->router, plain->targets[0], 0, &batch,
                             plain->now, &result),
            LBROUTE_OK);
    return result.outcome;
}

/* By the engine's clock the same number is a duplicate or of another run. */
static void clocks_of_engines_are_kept(void **state)
{
    struct plain before;
    struct plain after;
    (void)state;

    for (int later = 0; later < 2; later++) {
        start(&before, "precise_cache_aware", "a", BEGIN);
        start(&after, "precise_cache_aware", "a", BEGIN);
        CHECK_I(empty_batch_at(&before, 0, 1e9), LBROUTE_KV_APPLIED);
        CHECK_I(empty_batch_at(&before, 1, 1e9 + 1), LBROUTE_KV_APPLIED);
        (void)carry_over(&before, &after, 0);
        CHECK_I(empty_batch_at(&after, 0, later ? 1e9 + 60 : 1e9),
                later ? LBROUTE_KV_RESTARTED : LBROUTE_KV_DUPLICATE);
        end(&before);
        end(&after);
    }
}

/* ---- what stands at the edge ---- */

/* An adapter that a request is on its way to load was not yet seen. */
static void an_adapter_on_its_way_is_not_held(void **state)
{
    struct plain before;
    struct plain after;
    lbroute_request request;
    lbroute_decision decision;
    (void)state;

    start(&before, "lora_aware", "a", BEGIN);
    start(&after, "lora_aware", "a", BEGIN);
    api_request(&request, before.pool);
    request.adapter = "seen";
    request.adapter_len = 4;
    CHECK_U(serve(&before, &request, LBROUTE_EVENT_SUCCESS), 0);
    request.adapter = "asked";
    request.adapter_len = 5;
    api_pick(before.router, &request, before.now, &decision);
    CHECK_U(api_target_stats(before.router, before.targets[0], BEGIN).adapters,
            2);
    (void)carry_over(&before, &after, 0);
    CHECK_U(api_target_stats(after.router, after.targets[0], BEGIN).adapters,
            1);
    end(&before);
    end(&after);
}

/* Time does not run backward for a snapshot either. */
static void an_early_snapshot_is_of_now(void **state)
{
    struct plain plain;
    uint8_t bytes[2][4096];
    size_t length[2] = {0, 0};
    (void)state;

    start(&plain, "sticky_session", "ab", BEGIN);
    (void)serve_session(&plain, "session");
    for (size_t i = 0; i < 2; i++)
        CHECK_I(lbroute_snapshot(plain.router, i ? BEGIN - SECOND : BEGIN,
                                 bytes[i], sizeof bytes[i], &length[i]),
                LBROUTE_OK);
    CHECK(same_bytes(bytes[0], length[0], bytes[1], length[1]));
    end(&plain);
}

static void nobody_is_nothing(void **state)
{
    struct plain before;
    struct plain after;
    (void)state;

    start(&before, "weighted", "", BEGIN);
    start(&after, "weighted", "a", BEGIN);
    CHECK_U(carry_over(&before, &after, 0).targets, 0);
    CHECK_U(serve_any(&after), 0);
    end(&before);
    end(&after);
}

/* ---- another world ---- */

static const struct gateway_options usual = {1, 9, 0, 0};
static const struct gateway_options another_key = {1, 8, 0, 0};
static const struct gateway_options narrow = {1, 9, 0,
                                              TIGHT_BOUNDS | TIGHT_PROMPTS};

/* With another key nobody is recognised, but prompts are. */
static void another_key_recognises_nobody(void **state)
{
    struct gateway before;
    struct gateway after;
    size_t length;
    (void)state;

    gateway_start(&before, &usual, BEGIN);
    gateway_live(&before, 1, 3000, 0);
    uint8_t *bytes = gateway_snapshot(&before, &length);
    gateway_start(&after, &usual, before.now);
    lbroute_restore_result same = gateway_restore(&after, bytes, length, 0);
    gateway_end(&after);
    gateway_start(&after, &another_key, before.now);
    lbroute_restore_result other = gateway_restore(&after, bytes, length, 0);
    CHECK_I(other.same_key, 0);
    CHECK_U(other.sessions + other.kv_sources + other.kv_blocks, 0);
    CHECK_U(other.sessions_skipped, same.sessions);
    CHECK_U(other.kv_sources_skipped, same.kv_sources);
    CHECK_U(other.kv_blocks_skipped, same.kv_blocks);
    CHECK_U(other.prefix_bytes, same.prefix_bytes);
    CHECK_U(other.prices, same.prices);
    for (size_t i = 0; i < after.pools; i++) {
        for (size_t j = 0; j < LEARNED_TARGETS; j++) {
            lbroute_client_share row;
            size_t count = 0;
            lbroute_client_share_init(&row, sizeof row);
            CHECK_I(lbroute_target_clients(after.router, after.target[i][j],
                                           after.now, &row, 1, &count),
                    LBROUTE_OK);
            CHECK(count <= 1 && row.client == 0);
        }
    }
    gateway_live(&after, 2, 500, 0);
    gateway_end(&before);
    gateway_end(&after);
    free(bytes);
}

/* Where there is less room, what was used last comes first, and bounds hold. */
static void narrower_bounds_hold(void **state)
{
    struct gateway before;
    struct gateway after;
    size_t length;
    (void)state;

    gateway_start(&before, &usual, BEGIN);
    gateway_live(&before, 1, 3000, 0);
    uint8_t *bytes = gateway_snapshot(&before, &length);
    gateway_start(&after, &narrow, before.now);
    lbroute_restore_result result = gateway_restore(&after, bytes, length, 0);
    CHECK_U(result.sessions, 12);
    CHECK_U(result.prices, 3);
    CHECK(result.sessions_skipped > 0 && result.prices_skipped > 0);
    CHECK(result.kv_blocks <= 60 && result.kv_blocks_skipped > 0);
    CHECK(result.prefix_bytes > 0 && result.prefix_bytes_skipped > 0);
    for (size_t i = 0; i < after.pools; i++) {
        for (size_t j = 0; j < LEARNED_TARGETS; j++) {
            lbroute_client_share rows[8];
            size_t count = 0;
            double sum = 0;
            for (size_t k = 0; k < 8; k++)
                lbroute_client_share_init(&rows[k], sizeof rows[k]);
            CHECK_I(lbroute_target_clients(after.router, after.target[i][j],
                                           after.now, rows, 8, &count),
                    LBROUTE_OK);
            for (size_t k = 0; k < count; k++)
                sum += rows[k].blocks;
            CHECK(count <= 4 && sum < 30.01);
        }
    }
    gateway_live(&after, 2, 500, 0);
    gateway_end(&before);
    gateway_end(&after);
    free(bytes);
}

static void targets_come_and_go(void **state)
{
    struct plain before;
    struct plain after;
    (void)state;

    start(&before, "weighted", "abc", BEGIN);
    start(&after, "weighted", "bcd", BEGIN);
    (void)serve_any(&before);
    lbroute_restore_result result = carry_over(&before, &after, 0);
    CHECK_U(result.targets, 2);
    CHECK_U(result.targets_unknown, 1);
    CHECK_U(result.targets_kept, 0);
    CHECK_I(result.same_key, 1);
    (void)serve_any(&after);
    result = carry_over(&before, &after, 0);
    CHECK_U(result.targets, 1);
    CHECK_U(result.targets_kept, 1);
    end(&before);
    end(&after);
}

/* Prices that the host has set hold. */
static void own_prices_hold(void **state)
{
    struct plain before;
    struct plain after;
    lbroute_price price;
    (void)state;

    start(&before, "cheapest", "a", BEGIN);
    start(&after, "cheapest", "a", BEGIN);
    lbroute_price_init(&price, sizeof price);
    price.input = 5;
    CHECK_I(lbroute_set_price(before.router, "x", 1, &price), LBROUTE_OK);
    CHECK_I(lbroute_set_price(before.router, "y", 1, &price), LBROUTE_OK);
    price.input = 6;
    CHECK_I(lbroute_set_price(after.router, "x", 1, &price), LBROUTE_OK);
    lbroute_restore_result result = carry_over(&before, &after, 0);
    CHECK_U(result.prices, 1);
    CHECK_U(result.prices_skipped, 1);
    CHECK_I(lbroute_get_price(after.router, "x", 1, &price), LBROUTE_OK);
    CHECK_I(price.input, 6);
    CHECK_I(lbroute_get_price(after.router, "y", 1, &price), LBROUTE_OK);
    CHECK_I(price.input, 5);
    end(&before);
    end(&after);
}

/* ---- other versions ---- */

static void put_section(uint8_t *bytes, uint8_t kind, uint8_t version,
                        uint8_t length)
{
    memset(bytes, 0, 16);
    bytes[0] = kind;
    bytes[4] = version;
    bytes[8] = length;
}

/* Sections that a later library writes are passed over and counted, one of the
 * targets' names included only if it is not the first. */
static void later_versions_are_passed_over(void **state)
{
    struct plain before;
    struct plain after;
    uint8_t bytes[4096] = {0};
    lbroute_restore_result result;
    size_t length;
    (void)state;

    start(&before, "weighted", "ab", BEGIN);
    start(&after, "weighted", "ab", BEGIN);
    CHECK_I(lbroute_snapshot(before.router, before.now, bytes, 4000, &length),
            LBROUTE_OK);
    put_section(bytes + length, 200, 1, 3);
    put_section(bytes + length + 19, 3, 2, 0);
    mend_snapshot(bytes, length + 35);
    lbroute_restore_result_init(&result, sizeof result);
    CHECK_I(lbroute_restore(after.router, bytes, length + 35, after.now, 0,
                            &result),
            LBROUTE_OK);
    CHECK_U(result.sections_skipped, 2);
    CHECK_U(result.targets, 2);
    bytes[16] = 2; /* the format as a whole */
    mend_snapshot(bytes, length + 35);
    CHECK_I(lbroute_restore(after.router, bytes, length + 35, after.now, 0,
                            &result),
            LBROUTE_ERR_UNSUPPORTED);
    bytes[16] = 1;
    bytes[36] = 2; /* the targets' names */
    mend_snapshot(bytes, length + 35);
    CHECK_I(lbroute_restore(after.router, bytes, length + 35, after.now, 0,
                            &result),
            LBROUTE_ERR_FORMAT);
    end(&before);
    end(&after);
}

static void bad_calls(void **state)
{
    struct plain plain;
    uint8_t bytes[4096];
    lbroute_restore_result result;
    size_t length = 77;
    (void)state;

    start(&plain, "weighted", "a", BEGIN);
    lbroute_restore_result_init(&result, sizeof result);
    CHECK_I(lbroute_snapshot(NULL, 0, bytes, 10, &length), LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_snapshot(plain.router, 0, NULL, 10, &length),
            LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_snapshot(plain.router, 0, bytes, 10, NULL),
            LBROUTE_ERR_INVALID);
    CHECK_U(length, 77);
    CHECK_I(lbroute_snapshot(plain.router, 0, bytes, 10, &length),
            LBROUTE_ERR_BUFFER);
    CHECK(length > 77 && length < sizeof bytes);
    CHECK_I(lbroute_snapshot(plain.router, 0, bytes, length - 1, &length),
            LBROUTE_ERR_BUFFER);
    CHECK_I(lbroute_snapshot(plain.router, 0, bytes, length, &length),
            LBROUTE_OK);
    CHECK_I(lbroute_restore(NULL, bytes, length, 0, 0, &result),
            LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_restore(plain.router, NULL, length, 0, 0, &result),
            LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_restore(plain.router, bytes, 0, 0, 0, &result),
            LBROUTE_ERR_FORMAT);
    result.size = 3;
    CHECK_I(lbroute_restore(plain.router, bytes, length, 0, 0, &result),
            LBROUTE_ERR_INVALID);
    result.size = 16;
    CHECK_I(
        lbroute_restore(plain.router, bytes, length, 0, UINT64_MAX, &result),
        LBROUTE_OK);
    CHECK_U(result.targets, 1);
    CHECK_I(result.same_key, 0); /* beyond what the caller has room for */
    end(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_go_on),
        cmocka_unit_test(rotations_go_on),
        cmocka_unit_test(sessions_age),
        cmocka_unit_test(a_bench_goes_on),
        cmocka_unit_test(prompts_are_known),
        cmocka_unit_test(a_source_goes_on),
        cmocka_unit_test(a_source_that_was_heard_stays),
        cmocka_unit_test(half_a_batch_is_none),
        cmocka_unit_test(blocks_keep_their_order),
        cmocka_unit_test(blocks_that_wait_wait_on),
        cmocka_unit_test(clocks_of_engines_are_kept),
        cmocka_unit_test(an_adapter_on_its_way_is_not_held),
        cmocka_unit_test(an_early_snapshot_is_of_now),
        cmocka_unit_test(nobody_is_nothing),
        cmocka_unit_test(another_key_recognises_nobody),
        cmocka_unit_test(narrower_bounds_hold),
        cmocka_unit_test(targets_come_and_go),
        cmocka_unit_test(own_prices_hold),
        cmocka_unit_test(later_versions_are_passed_over),
        cmocka_unit_test(bad_calls),
    };
    return cmocka_run_group_tests_name("restart", tests, check_use_cmocka,
                                       NULL);
}
