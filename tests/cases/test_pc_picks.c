/* SPDX-License-Identifier: MIT */
/* More of the kinds that the field reports PC are of: whom picks go to. A
 * block is 16 tokens. */
#include <string.h>

#include "kv_events.h"
#include "support/fleet.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

enum {
    GPU = LBROUTE_MEDIUM_GPU,
    HOST = LBROUTE_MEDIUM_HOST,
    DISK = LBROUTE_MEDIUM_DISK,
    FRESH = LBROUTE_KV_SOURCE_FRESH
};

static void open_all(struct fleet *fleet, struct kv *sources, size_t count)
{
    fleet_open(fleet, "precise_cache_aware", count, 1);
    for (size_t i = 0; i < count; i++)
        kv_open(&sources[i], fleet, i);
}

/* Sends |n| requests that stay open, and checks that load decides. */
static void hold_open(struct fleet *fleet, size_t n)
{
    fleet_reset_picks(fleet);
    for (size_t i = 0; i < n; i++) {
        assert_true(fleet_pick(fleet) != FLEET_NONE);
        assert_int_equal(fleet->decision.rule, LBROUTE_RULE_LEAST_CONNECTIONS);
    }
}

/* ---- unknown ---- */

/* A source with a gap is neither warm nor cold: load decides about it. */
static void pc_13_kind_gap_is_neutral(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    (void)state;

    open_all(&fleet, s, 2);
    kv_store(&s[A], 1, 1, 64);
    kv_store(&s[B], 9, 1001, 1016);
    s[A].seq = 5;
    kv_store(&s[A], 20, 2001, 2016);
    kv_ask(&fleet, 1, 64);
    assert_int_equal(kv_resident(&fleet, A), -1);
    assert_int_equal(kv_state(&fleet, A), LBROUTE_KV_SOURCE_GAP);
    assert_int_equal(kv_resident(&fleet, B), 0);
    hold_open(&fleet, 40);
    assert_int_equal(fleet.picks[A], 20);
    assert_int_equal(fleet.picks[B], 20);
    fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
    fleet_reset_picks(&fleet);
    for (int i = 0; i < 400; i++) {
        size_t index = fleet_pick_frozen(&fleet);
        assert_int_equal(fleet.decision.kv_state,
                         index == A ? LBROUTE_KV_SOURCE_GAP : FRESH);
    }
    assert_near(fleet.picks[A], 200, 50);
    fleet_hold(&fleet, B, 1);
    assert_int_equal(kv_expect_load(&fleet), A);
    assert_int_equal(fleet.decision.kv_blocks[GPU], -1);
    kv_ask(&fleet, 1001, 1016);
    kv_expect_pick(&fleet, B, 1);
    fleet_close(&fleet);
}

/* One rank of several is unknown: the others still speak for the target. */
static void pc_13_kind_one_rank_unknown(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    struct kv rank;
    (void)state;

    open_all(&fleet, s, 2);
    rank = s[A];
    rank.source = 1;
    kv_store(&s[A], 1, 1, 64);
    kv_store(&rank, 1, 1, 32);
    kv_store(&s[B], 1, 1, 48);
    s[A].seq = 9;
    kv_send(&s[A]);
    kv_ask(&fleet, 1, 64);
    assert_int_equal(kv_resident(&fleet, A), 2);
    assert_int_equal(kv_state(&fleet, A), FRESH);
    assert_int_equal(fleet_stats(&fleet, A).kv_state, FRESH);
    kv_expect_pick(&fleet, B, 3);
    rank.seq = 9;
    kv_send(&rank);
    assert_int_equal(kv_resident(&fleet, A), -1);
    assert_int_equal(kv_state(&fleet, A), LBROUTE_KV_SOURCE_GAP);
    fleet_close(&fleet);
}

/* Requests go to A every second and it says nothing. */
static void send_for(struct fleet *fleet, size_t seconds)
{
    for (size_t i = 0; i < seconds; i++) {
        fleet->now += TEST_S;
        fleet_send(fleet, A, LBROUTE_EVENT_CANCEL);
    }
}

/* Silent for a minute under requests: its events do not arrive. */
static void pc_13_kind_stale(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    (void)state;

    open_all(&fleet, s, 2);
    kv_store(&s[A], 1, 1, 64);
    kv_ask(&fleet, 1, 64);
    send_for(&fleet, 100); /* of this it holds everything */
    assert_int_equal(kv_state(&fleet, A), FRESH);
    kv_ask(&fleet, 7001, 7064);
    send_for(&fleet, 55);
    assert_int_equal(kv_state(&fleet, A), FRESH);
    send_for(&fleet, 10);
    kv_ask(&fleet, 1, 64);
    assert_int_equal(kv_state(&fleet, A), LBROUTE_KV_SOURCE_STALE);
    assert_int_equal(kv_stats(&s[A]).state, LBROUTE_KV_SOURCE_STALE);
    assert_int_equal(kv_resident(&fleet, A), -1);
    fleet_hold(&fleet, A, 1);
    assert_int_equal(kv_expect_load(&fleet), B);
    fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
    kv_store(&s[A], 9, 1001, 1016);
    assert_int_equal(s[A].result.state, FRESH);
    assert_int_equal(kv_resident(&fleet, A), 4);
    kv_expect_pick(&fleet, A, 4);
    fleet_close(&fleet);
}

/* Idle is not stale, and neither is who was asked just now. */
static void pc_13_kind_idle_is_not_stale(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    (void)state;

    open_all(&fleet, s, 2);
    fleet_param(&fleet, "precise_cache_aware.ttl", 5);
    kv_store(&s[A], 1, 1, 64);
    fleet.now += 24 * TEST_H;
    kv_ask(&fleet, 1, 64);
    assert_int_equal(kv_state(&fleet, A), FRESH);
    for (int i = 0; i < 4; i++) {
        kv_expect_pick(&fleet, A, 4);
        fleet.now += TEST_S;
    }
    assert_int_equal(kv_state(&fleet, A), FRESH);
    kv_ask(&fleet, 7001, 7064);
    send_for(&fleet, 1); /* one now and then: there may be nothing to say */
    fleet.now += 24 * TEST_H;
    kv_ask(&fleet, 1, 64);
    assert_int_equal(kv_state(&fleet, A), FRESH);
    kv_store(&s[A], 9, 1001, 1016);
    kv_ask(&fleet, 7001, 7064);
    send_for(&fleet, 7);
    assert_int_equal(kv_state(&fleet, A), LBROUTE_KV_SOURCE_STALE);
    fleet_close(&fleet);
}

/* Nobody ever sent events: load decides, and the decision says so. */
static void pc_13_kind_nobody_speaks(void **state)
{
    struct fleet fleet;
    struct kv s[3];
    (void)state;

    open_all(&fleet, s, 3);
    kv_ask(&fleet, 1, 64);
    hold_open(&fleet, 30);
    assert_int_equal(fleet.decision.kv_state, LBROUTE_KV_SOURCE_NONE);
    assert_int_equal(fleet.decision.kv_blocks[GPU], -1);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fleet.picks[i], 10);
    fleet_close(&fleet);
}

/* ---- what tells prompts apart ---- */

/* Adapter, salt and images of a request, or of a store. */
struct marks {
    const char *adapter;
    const char *salt;
    size_t images; /* Bit 0: "cat" in the first block; bit 1: "dog" there;
                    * bit 2: "dog" in the second. */
};

static struct marks nth_marks(size_t n)
{
    static const char *const adapters[] = {NULL, "x", "xy"};
    static const char *const salts[] = {NULL, "s"};
    struct marks marks = {adapters[n % 3], salts[n / 3 % 2], n / 6};

    return marks;
}

enum { MARKS = 3 * 2 * 8 };

static uint64_t fold(uint64_t digest, const char *id)
{
    return lbroute_kv_fold_key(digest, id, strlen(id));
}

static void store_marked(struct kv *kv, const struct marks *marks)
{
    uint64_t extras[2] = {0, 0};

    if (marks->images & 1)
        extras[0] = fold(extras[0], "cat");
    if (marks->images & 2)
        extras[0] = fold(extras[0], "dog");
    if (marks->images & 4)
        extras[1] = fold(extras[1], "dog");
    kv->adapter = marks->adapter;
    kv->salt = marks->salt;
    kv->extra_keys = extras;
    kv->extra_key_count = marks->images & 4 ? 2 : 1;
    kv_store(kv, 1, 1, 32);
}

static void ask_marked(struct fleet *fleet, const struct marks *marks)
{
    static lbroute_mm_item items[3];
    size_t count = 0;
    static const struct {
        const char *id;
        uint64_t begin;
    } images[] = {{"cat", 2}, {"dog", 9}, {"dog", 20}};

    for (size_t i = 0; i < 3; i++) {
        if (!(marks->images >> i & 1))
            continue;
        items[count].id = images[i].id;
        items[count].id_len = strlen(images[i].id);
        items[count].begin = images[i].begin;
        items[count++].count = 5;
    }
    fleet->request.mm_items = items;
    fleet->request.mm_item_count = count;
    fleet->request.adapter = marks->adapter;
    fleet->request.adapter_len = marks->adapter ? strlen(marks->adapter) : 0;
    fleet->request.salt = marks->salt;
    fleet->request.salt_len = marks->salt ? strlen(marks->salt) : 0;
}

static int same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static int64_t expected_run(const struct marks *stored,
                            const struct marks *asked)
{
    if (!same(stored->adapter, asked->adapter) ||
        !same(stored->salt, asked->salt) ||
        (stored->images & 3) != (asked->images & 3))
        return 0;
    return stored->images == asked->images ? 2 : 1;
}

/* Whatever is not the same is another prompt, whatever is the same matches. */
static void pc_kind_adapter_salt_and_images(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_all(&fleet, &a, 1);
    kv_ask(&fleet, 1, 32);
    for (size_t i = 0; i < MARKS; i++) {
        struct marks stored = nth_marks(i);
        store_marked(&a, &stored);
        for (size_t j = 0; j < MARKS; j++) {
            struct marks asked = nth_marks(j);
            ask_marked(&fleet, &asked);
            assert_int_equal(kv_resident(&fleet, A),
                             expected_run(&stored, &asked));
        }
        kv_forget(&a);
    }
    fleet_close(&fleet);
}

static void ask_item(struct fleet *fleet, const char *id, uint64_t begin,
                     uint64_t count)
{
    static lbroute_mm_item item;

    item.id = id;
    item.id_len = strlen(id);
    item.begin = begin;
    item.count = count;
    fleet->request.mm_items = &item;
    fleet->request.mm_item_count = 1;
}

/* An image belongs to each block that it overlaps, and to no other. */
static void pc_kind_images_overlap_blocks(void **state)
{
    static const struct {
        uint64_t begin;
        uint64_t count;
        int in[4];
    } at[] = {{0, 1, {1, 0, 0, 0}},   {15, 1, {1, 0, 0, 0}},
              {15, 2, {1, 1, 0, 0}},  {16, 16, {0, 1, 0, 0}},
              {31, 18, {0, 1, 1, 1}}, {0, 64, {1, 1, 1, 1}},
              {63, 1, {0, 0, 0, 1}},  {10, 500, {1, 1, 1, 1}},
              {64, 9, {0, 0, 0, 0}},  {UINT64_MAX - 5, 5, {0, 0, 0, 0}}};
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_all(&fleet, &a, 1);
    kv_ask(&fleet, 1, 64);
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        uint64_t extras[4];
        for (size_t b = 0; b < 4; b++)
            extras[b] = at[i].in[b] ? fold(0, "cat") : 0;
        a.extra_keys = extras;
        a.extra_key_count = 4;
        kv_store(&a, 1, 1, 64);
        ask_item(&fleet, "cat", at[i].begin, at[i].count);
        assert_int_equal(kv_resident(&fleet, A), 4);
        kv_empty(&a);
    }
    fleet_close(&fleet);
}

/* Engines put the salt among the extra keys, last in the first block. */
static void pc_kind_salt_as_an_extra_key(void **state)
{
    struct fleet fleet;
    struct kv a;
    uint64_t extra = fold(fold(0, "cat"), "salt");
    (void)state;

    open_all(&fleet, &a, 1);
    a.extra_keys = &extra;
    a.extra_key_count = 1;
    kv_store(&a, 1, 1, 32);
    kv_ask(&fleet, 1, 32);
    assert_int_equal(kv_resident(&fleet, A), 0);
    ask_item(&fleet, "cat", 0, 4);
    assert_int_equal(kv_resident(&fleet, A), 0);
    fleet.request.salt = "salt";
    fleet.request.salt_len = 4;
    assert_int_equal(kv_resident(&fleet, A), 2);
    extra = fold(0, "cat");
    a.salt = "salt";
    a.medium = HOST;
    kv_store(&a, 1, 1, 32);
    assert_int_equal(a.result.reasons[LBROUTE_KV_REASON_RENAMED], 0);
    assert_int_equal(kv_stats(&a).blocks[HOST], 2);
    fleet_close(&fleet);
}

/* Adapter and salt are those of the prompt: behind a parent they say nothing
 * new. */
static void pc_kind_marks_begin_the_prompt(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_all(&fleet, &a, 1);
    a.salt = "s";
    kv_store(&a, 1, 1, 16);
    kv_store_after(&a, 1, 2, 17, 32);
    fleet.request.salt = "s";
    fleet.request.salt_len = 1;
    assert_int_equal(kv_count(&fleet, A, 1, 32), 2);
    fleet_close(&fleet);
}

/* ---- forms of prompts and blocks ---- */

/* Hashes in the request or in the event are the same as token ids. */
static void pc_kind_hashes_are_tokens(void **state)
{
    static uint64_t hashes[4];
    struct fleet fleet;
    struct kv s[2];
    lbroute_kv_event event;
    const uint64_t labels[] = {5, 6, 7, 8};
    size_t count = 0;
    (void)state;

    open_all(&fleet, s, 2);
    assert_int_equal(
        lbroute_hash_blocks(kv_tokens(1), 64, 4, KV_SIZE, hashes, 4, &count),
        LBROUTE_OK);
    assert_int_equal(count, 4);
    kv_store(&s[A], 1, 1, 48);
    lbroute_kv_event_init(&event, sizeof event);
    event.kind = LBROUTE_KV_STORED;
    event.hashes = labels;
    event.hash_count = 4;
    event.blocks = hashes;
    event.block_count = 4;
    event.block_size = KV_SIZE;
    assert_int_equal(kv_send_event(&s[B], &event), LBROUTE_KV_APPLIED);
    kv_ask(&fleet, 1, 64);
    kv_expect_pick(&fleet, B, 4);
    assert_int_equal(kv_resident(&fleet, A), 3);
    fleet.request.tokens_len = 0;
    fleet.request.blocks = hashes;
    fleet.request.blocks_len = 4;
    kv_expect_pick(&fleet, B, 4);
    assert_int_equal(kv_resident(&fleet, A), 3);
    kv_empty(&s[B]);
    kv_expect_pick(&fleet, A, 3);
    fleet_close(&fleet);
}

/* Events with tokens may go on where such with hashes ended. */
static void pc_kind_hashes_and_tokens_mixed(void **state)
{
    uint64_t hash = 0;
    uint64_t label = 1;
    size_t count = 0;
    struct fleet fleet;
    struct kv a;
    lbroute_kv_event event;
    (void)state;

    open_all(&fleet, &a, 1);
    assert_int_equal(
        lbroute_hash_blocks(kv_tokens(1), 16, 4, KV_SIZE, &hash, 1, &count),
        LBROUTE_OK);
    lbroute_kv_event_init(&event, sizeof event);
    event.kind = LBROUTE_KV_STORED;
    event.hashes = &label;
    event.hash_count = 1;
    event.blocks = &hash;
    event.block_count = 1;
    event.block_size = KV_SIZE;
    kv_send_event(&a, &event);
    kv_store_after(&a, 1, 2, 17, 64);
    assert_int_equal(kv_count(&fleet, A, 1, 64), 4);
    fleet_close(&fleet);
}

/* Blocks are as large as the engine says. */
static void pc_kind_sizes_of_blocks(void **state)
{
    static const uint32_t sizes[] = {1, 16, 64};
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        struct fleet fleet;
        struct kv a;
        open_all(&fleet, &a, 1);
        a.block_size = sizes[i];
        kv_store(&a, 1, 1, 64);
        assert_int_equal(a.result.reasons[LBROUTE_KV_REASON_BLOCK_SIZE],
                         sizes[i] == KV_SIZE ? 0 : 64 / sizes[i]);
        assert_int_equal(kv_stats(&a).block_size, sizes[i]);
        kv_ask(&fleet, 1, 130);
        kv_expect_pick(&fleet, A, 64 / sizes[i]);
        assert_int_equal(fleet.decision.prefix_total, 130 / sizes[i]);
        fleet_close(&fleet);
    }
}

/* Several sizes in a pool: each target by its own. */
static void pc_kind_sizes_mixed(void **state)
{
    struct fleet fleet;
    struct kv s[3];
    (void)state;

    open_all(&fleet, s, 3);
    s[B].block_size = 64;
    s[C].block_size = 1;
    kv_store(&s[A], 1, 1, 48);
    kv_store(&s[B], 1, 1, 64);
    kv_store(&s[C], 1, 1, 50);
    kv_ask(&fleet, 1, 128);
    assert_int_equal(kv_resident(&fleet, A), 3);
    assert_int_equal(kv_resident(&fleet, B), 1);
    assert_int_equal(kv_resident(&fleet, C), 50);
    kv_expect_pick(&fleet, B, 1);
    assert_int_equal(fleet.decision.prefix_total, 2);
    kv_empty(&s[B]);
    kv_expect_pick(&fleet, C, 50);
    assert_int_equal(fleet.decision.prefix_total, 128);
    kv_empty(&s[C]);
    kv_expect_pick(&fleet, A, 3);
    assert_int_equal(fleet.decision.prefix_total, 8);
    fleet_close(&fleet);
}

/* Less than a block, or no token ids at all: load decides. */
static void pc_kind_nothing_to_compare(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_all(&fleet, &a, 1);
    kv_store(&a, 1, 1, 16);
    kv_ask(&fleet, 1, 15);
    kv_expect_load(&fleet);
    kv_ask(&fleet, 1, 16);
    kv_expect_pick(&fleet, A, 1);
    fleet.request.tokens_len = 0;
    kv_expect_load(&fleet);
    fleet_prompt(&fleet, "a prompt as text, longer than a block or two");
    kv_expect_load(&fleet);
    fleet_close(&fleet);
}

/* ---- ranking ---- */

/* Less than the wanted part does not decide. */
static void pc_kind_threshold(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    (void)state;

    open_all(&fleet, s, 2);
    kv_store(&s[A], 1, 1, 32);
    fleet_hold(&fleet, A, 1);
    fleet_param(&fleet, "precise_cache_aware.threshold", 0.5);
    kv_ask(&fleet, 1, 64);
    kv_expect_pick(&fleet, A, 2);
    kv_ask(&fleet, 1, 80);
    assert_int_equal(kv_expect_load(&fleet), B);
    fleet_param(&fleet, "precise_cache_aware.threshold", 0);
    kv_expect_pick(&fleet, A, 2);
    kv_ask(&fleet, 1001, 1064);
    assert_int_equal(kv_expect_load(&fleet), B);
    fleet_close(&fleet);
}

/* What lies on a disk is worth less than what is in GPU memory. */
static void pc_12_kind_worth_of_media(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    (void)state;

    open_all(&fleet, s, 2);
    s[A].medium = DISK;
    kv_store(&s[A], 1, 1, 80);
    s[B].medium = GPU;
    kv_store(&s[B], 1, 1, 48);
    kv_ask(&fleet, 1, 128);
    kv_expect_pick(&fleet, B, 3);
    assert_near(fleet.decision.score, 3.0 / 8, 1e-9);
    fleet_param(&fleet, "precise_cache_aware.disk", 0.7);
    kv_expect_pick(&fleet, A, 5);
    assert_near(fleet.decision.score, 0.7 * 5 / 8, 1e-9);
    fleet_param(&fleet, "precise_cache_aware.disk", 0);
    kv_empty(&s[B]);
    kv_expect_load(&fleet);
    s[A].medium = HOST;
    kv_locate(&s[A], 1, 1);
    kv_expect_pick(&fleet, A, 5);
    assert_near(fleet.decision.score, 0.8 / 8, 1e-9);
    fleet_close(&fleet);
}

/* Warm but busy: the request goes elsewhere, to the next warmest first. */
static void pc_kind_busy_is_left(void **state)
{
    struct fleet fleet;
    struct kv s[3];
    (void)state;

    open_all(&fleet, s, 3);
    kv_store(&s[A], 1, 1, 64);
    kv_store(&s[B], 1, 1, 32);
    kv_ask(&fleet, 1, 64);
    fleet_hold(&fleet, A, 2);
    kv_expect_pick(&fleet, A, 4);
    fleet_hold(&fleet, A, 1);
    kv_expect_pick(&fleet, B, 2);
    fleet_hold(&fleet, B, 3);
    assert_int_equal(kv_expect_load(&fleet), C);
    fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
    kv_expect_pick(&fleet, A, 4);
    fleet_drain(&fleet, A, 1);
    kv_expect_pick(&fleet, B, 2);
    fleet_drain(&fleet, A, 0);
    fleet.request.exclude = &fleet.targets[A];
    fleet.request.exclude_len = 1;
    kv_expect_pick(&fleet, B, 2);
    fleet_close(&fleet);
}

/* Equally warm: by load, then at random. */
static void pc_kind_ties(void **state)
{
    struct fleet fleet;
    struct kv s[3];
    (void)state;

    open_all(&fleet, s, 3);
    kv_store(&s[A], 1, 1, 64);
    kv_store(&s[C], 1, 1, 64);
    kv_ask(&fleet, 1, 64);
    for (int i = 0; i < 400; i++) {
        assert_true(fleet_pick_frozen(&fleet) != FLEET_NONE);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_PRECISE_CACHE_AWARE);
    }
    assert_int_equal(fleet.picks[B], 0);
    assert_near(fleet.picks[A], 200, 50);
    fleet_hold(&fleet, A, 1);
    kv_expect_pick(&fleet, C, 4);
    fleet_hold(&fleet, C, 2);
    kv_expect_pick(&fleet, A, 4);
    fleet_close(&fleet);
}

/* By model, and within a tier. */
static void pc_kind_models_and_tiers(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    (void)state;

    fleet_open(&fleet, "precise_cache_aware", 0, 1);
    for (size_t i = 0; i < 4; i++) {
        lbroute_target_options options;
        fleet_target_options(&fleet, &options);
        options.model = "m";
        options.model_len = 1;
        options.tier = "gold";
        options.tier_len = i < 2 ? 4 : 0;
        fleet_add_options(&fleet, &options);
    }
    kv_open(&s[0], &fleet, 1);
    kv_open(&s[1], &fleet, 3);
    kv_store(&s[0], 1, 1, 64);
    kv_store(&s[1], 1, 1, 16);
    kv_ask(&fleet, 1, 64);
    fleet.request.pool = 0;
    fleet.request.model = "m";
    fleet.request.model_len = 1;
    kv_expect_pick(&fleet, 3, 1);
    fleet.request.tier = "gold";
    fleet.request.tier_len = 4;
    kv_expect_pick(&fleet, 1, 4);
    fleet_close(&fleet);
}

/* explain() says what pick() does, and leaves no trace. */
static void pc_kind_explain_is_pick(void **state)
{
    struct fleet fleet;
    struct kv s[3];
    (void)state;

    open_all(&fleet, s, 3);
    kv_store(&s[A], 1, 1, 64);
    kv_store(&s[B], 1, 1, 64);
    kv_store(&s[C], 1, 1001, 1064);
    for (uint32_t i = 0; i < 300; i++) {
        size_t foretold;
        kv_ask(&fleet, i % 3 ? 1 : 1001, 1001 + i % 64);
        if (i % 5 == 0)
            kv_ask(&fleet, 2001, 2064);
        foretold = fleet_explain(&fleet);
        assert_int_equal(fleet_explain(&fleet), foretold);
        assert_int_equal(fleet_pick(&fleet), foretold);
        if (i % 4)
            fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
        if (i % 40 == 39)
            fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    }
    fleet_close(&fleet);
}

/* ---- speculation ---- */

/* Sources that speak, but not of the prompt. */
static void open_speculating(struct fleet *fleet, struct kv *s, size_t count)
{
    open_all(fleet, s, count);
    fleet_param(fleet, "precise_cache_aware.speculate", 1);
    for (size_t i = 0; i < count; i++)
        kv_store(&s[i], 99, 9001, 9016);
    kv_ask(fleet, 1, 64);
}

/* The engine takes a while to say what it stored. */
static void pc_kind_speculation_bridges(void **state)
{
    struct fleet fleet;
    struct kv s[3];
    size_t first;
    (void)state;

    open_speculating(&fleet, s, 3);
    first = kv_expect_load(&fleet);
    for (int i = 0; i < 10; i++)
        kv_expect_pick(&fleet, first, 4);
    kv_ask(&fleet, 1, 80);
    kv_expect_pick(&fleet, first, 4);
    kv_ask(&fleet, 1, 48);
    kv_expect_pick(&fleet, first, 3);
    kv_ask(&fleet, 2001, 2064);
    kv_expect_load(&fleet);
    fleet_close(&fleet);
}

/* A guess says nothing of the engine's own word. */
static void pc_kind_speculation_is_no_event(void **state)
{
    struct fleet fleet;
    struct kv s[3];
    size_t first;
    (void)state;

    open_all(&fleet, s, 3);
    fleet_param(&fleet, "precise_cache_aware.speculate", 1);
    kv_ask(&fleet, 1, 64);
    first = kv_expect_load(&fleet);
    assert_int_equal(fleet_serve(&fleet), first);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_PRECISE_CACHE_AWARE);
    assert_int_equal(fleet.decision.prefix_matched, 4);
    assert_int_equal(fleet.decision.kv_state, LBROUTE_KV_SOURCE_NONE);
    fleet_close(&fleet);
}

/* But not for ever. */
static void pc_kind_speculation_ends(void **state)
{
    struct fleet fleet;
    struct kv s[3];
    size_t first;
    (void)state;

    open_speculating(&fleet, s, 3);
    first = kv_expect_load(&fleet);
    assert_int_equal(kv_resident(&fleet, first), 4);
    fleet.now += 2 * TEST_S + 1;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(kv_resident(&fleet, i), 0);
    kv_expect_load(&fleet);
    fleet.now += 2 * TEST_S + 1;
    fleet.request.tokens_len = 0;
    kv_expect_load(&fleet);
    kv_ask(&fleet, 1, 64);
    kv_expect_load(&fleet);
    fleet_close(&fleet);
}

/* What events confirm stays; what they never tell goes. */
static void pc_kind_speculation_confirmed(void **state)
{
    struct fleet fleet;
    struct kv s[3];
    size_t first;
    (void)state;

    open_speculating(&fleet, s, 3);
    first = kv_expect_load(&fleet);
    kv_store(&s[first], 1, 1, 32);
    fleet.now += 10 * TEST_S;
    assert_int_equal(lbroute_tick(fleet.router, fleet.now), LBROUTE_OK);
    assert_int_equal(kv_resident(&fleet, first), 2);
    kv_expect_pick(&fleet, first, 2);
    kv_remove(&s[first], 1, 2);
    fleet.now += 10 * TEST_S;
    assert_int_equal(lbroute_tick(fleet.router, fleet.now), LBROUTE_OK);
    assert_int_equal(kv_resident(&fleet, first), 0);
    fleet_close(&fleet);
}

/* Off by default. */
static void pc_kind_no_speculation(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    (void)state;

    open_all(&fleet, s, 2);
    kv_store(&s[A], 99, 9001, 9016);
    kv_store(&s[B], 99, 9001, 9016);
    kv_ask(&fleet, 1, 64);
    kv_expect_load(&fleet);
    kv_expect_load(&fleet);
    assert_int_equal(kv_resident(&fleet, A), 0);
    assert_int_equal(kv_resident(&fleet, B), 0);
    fleet_close(&fleet);
}

/* ---- pipeline ---- */

/* The scorer decides as much as its weight says. */
static void pc_kind_pipeline(void **state)
{
    struct fleet fleet;
    struct kv s[3];
    (void)state;

    open_all(&fleet, s, 3);
    fleet_strategy(&fleet, "pipeline");
    fleet_param(&fleet, "pipeline.prefix", 0);
    kv_store(&s[A], 1, 1, 64);
    kv_store(&s[B], 1, 1, 32);
    kv_store(&s[C], 99, 9001, 9016);
    kv_ask(&fleet, 1, 64);
    for (int i = 0; i < 200; i++)
        assert_true(fleet_pick_frozen(&fleet) != FLEET_NONE);
    for (size_t i = 0; i < 3; i++)
        assert_near(fleet.picks[i], 200 / 3.0, 30);
    fleet_param(&fleet, "pipeline.resident", 100);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(fleet_pick_frozen(&fleet), A);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_PIPELINE);
    }
    fleet_drain(&fleet, A, 1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(fleet_pick_frozen(&fleet), B);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pc_13_kind_gap_is_neutral),
        cmocka_unit_test(pc_13_kind_one_rank_unknown),
        cmocka_unit_test(pc_13_kind_stale),
        cmocka_unit_test(pc_13_kind_idle_is_not_stale),
        cmocka_unit_test(pc_13_kind_nobody_speaks),
        cmocka_unit_test(pc_kind_adapter_salt_and_images),
        cmocka_unit_test(pc_kind_images_overlap_blocks),
        cmocka_unit_test(pc_kind_salt_as_an_extra_key),
        cmocka_unit_test(pc_kind_marks_begin_the_prompt),
        cmocka_unit_test(pc_kind_hashes_are_tokens),
        cmocka_unit_test(pc_kind_hashes_and_tokens_mixed),
        cmocka_unit_test(pc_kind_sizes_of_blocks),
        cmocka_unit_test(pc_kind_sizes_mixed),
        cmocka_unit_test(pc_kind_nothing_to_compare),
        cmocka_unit_test(pc_kind_threshold),
        cmocka_unit_test(pc_12_kind_worth_of_media),
        cmocka_unit_test(pc_kind_busy_is_left),
        cmocka_unit_test(pc_kind_ties),
        cmocka_unit_test(pc_kind_models_and_tiers),
        cmocka_unit_test(pc_kind_explain_is_pick),
        cmocka_unit_test(pc_kind_speculation_bridges),
        cmocka_unit_test(pc_kind_speculation_is_no_event),
        cmocka_unit_test(pc_kind_speculation_ends),
        cmocka_unit_test(pc_kind_speculation_confirmed),
        cmocka_unit_test(pc_kind_no_speculation),
        cmocka_unit_test(pc_kind_pipeline),
    };
    return cmocka_run_group_tests_name("PC picks", tests, NULL, NULL);
}
