/* SPDX-License-Identifier: MIT */
/* Field reports PC: precise cache aware. A block is 16 tokens. */
#include <math.h>

#include "kv_events.h"
#include "support/fleet.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

/* ---- PC-01 ---- */

/* The event that everything is gone was logged, and the blocks stayed. */
static void pc_01_cleared(void **state)
{
    struct fleet fleet;
    struct kv a, b;
    (void)state;

    fleet_open(&fleet, "precise_cache_aware", 2, 1);
    kv_open(&a, &fleet, A);
    kv_open(&b, &fleet, B);
    kv_store(&a, 11, 1, 64);
    kv_store(&b, 11, 1, 32);
    kv_ask(&fleet, 1, 64);
    kv_expect_pick(&fleet, A, 4);
    assert_int_equal(kv_empty(&a), LBROUTE_KV_APPLIED);
    assert_int_equal(kv_resident(&fleet, A), 0);
    assert_int_equal(kv_resident(&fleet, B), 2);
    kv_expect_pick(&fleet, B, 2);
    kv_store(&a, 11, 1, 16);
    assert_int_equal(kv_resident(&fleet, A), 1);
    kv_expect_pick(&fleet, B, 2);
    fleet_close(&fleet);
}

/* ---- PC-04 ---- */

/* Above the signed range; -1; small; the last 8 bytes of 00, 01, … 1f. */
static const uint64_t odd_labels[] = {UINT64_C(15760518052499183552),
                                      UINT64_MAX, 7,
                                      UINT64_C(0x18191a1b1c1d1e1f)};

enum { ODD_LABELS = sizeof odd_labels / sizeof odd_labels[0] };

static void store_odd_labels(struct kv *kv)
{
    lbroute_kv_event event;

    lbroute_kv_event_init(&event, sizeof event);
    event.kind = LBROUTE_KV_STORED;
    event.hashes = odd_labels;
    event.hash_count = ODD_LABELS;
    event.tokens = kv_tokens(1);
    event.token_count = ODD_LABELS * KV_SIZE;
    event.block_size = KV_SIZE;
    assert_int_equal(kv_send_event(kv, &event), LBROUTE_KV_APPLIED);
}

/* A wider or signed number broke the index. */
static void pc_04_any_number_is_a_label(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    fleet_open(&fleet, "precise_cache_aware", 1, 1);
    kv_open(&a, &fleet, A);
    store_odd_labels(&a);
    kv_ask(&fleet, 1, 64);
    for (int64_t left = ODD_LABELS; left > 0; left--) {
        assert_int_equal(kv_resident(&fleet, A), left);
        kv_remove(&a, odd_labels[left - 1], 1);
        assert_int_equal(a.result.removed, 1);
    }
    assert_int_equal(kv_resident(&fleet, A), 0);
    for (size_t i = 0; i < ODD_LABELS; i++) {
        store_odd_labels(&a);
        kv_remove(&a, odd_labels[i], 1);
        assert_int_equal(kv_resident(&fleet, A), i);
        assert_int_equal(kv_stats(&a).blocks[LBROUTE_MEDIUM_GPU], 3);
    }
    fleet_close(&fleet);
}

/* -1 is the 64 bits that it is made of. */
static void pc_04_minus_one_is_all_ones(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    fleet_open(&fleet, "precise_cache_aware", 1, 1);
    kv_open(&a, &fleet, A);
    kv_store(&a, (uint64_t)INT64_C(-1), 1, 16);
    assert_int_equal(kv_count(&fleet, A, 1, 16), 1);
    kv_remove(&a, UINT64_C(18446744073709551615), 1);
    assert_int_equal(kv_resident(&fleet, A), 0);
    fleet_close(&fleet);
}

/* ---- PC-08 ---- */

/* Batch |seq| stores the block of that number, the sixth removes the second
 * block. */
static int send_batch(struct kv *kv, uint64_t seq)
{
    uint32_t first = (uint32_t)seq * KV_SIZE;

    kv->seq = seq;
    if (seq == 6)
        return kv_remove(kv, 2, 1);
    return kv_store(kv, seq, first, first + KV_SIZE - 1);
}

static int64_t holds(struct kv *kv, uint32_t block)
{
    return kv_count(kv->fleet, kv->index, block * KV_SIZE,
                    block * KV_SIZE + KV_SIZE - 1);
}

/* Engines say when they made a batch, or do not. */
static void replay_and_repeat(struct kv *a, double when)
{
    static const uint64_t order[] = {1, 2, 3, 4, 5, 7, 3, 4, 5, 6, 7, 8};
    uint64_t gaps = 0;

    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        a->timestamp = when + (double)order[i];
        if (send_batch(a, order[i]) == LBROUTE_KV_GAP) {
            gaps++;
            assert_int_equal(order[i], 7);
            kv_expect_missing(a, 6, 6);
        }
        if (i > 5 && i < 9) {
            assert_int_equal(a->result.outcome, LBROUTE_KV_DUPLICATE);
            kv_expect_missing(a, 6, 6);
        }
    }
    assert_int_equal(gaps, 1);
    assert_int_equal(kv_stats(a).gaps, 1);
    assert_int_equal(kv_stats(a).restarts, 0);
}

/* Recovered batches were counted as new ones, and repeated ones twice. */
static void pc_08_replayed_batches(void **state)
{
    static const double times[] = {(double)NAN, 1e9};
    (void)state;

    for (size_t t = 0; t < 2; t++) {
        struct fleet fleet;
        struct kv a;
        fleet_open(&fleet, "precise_cache_aware", 1, 1);
        kv_open(&a, &fleet, A);
        replay_and_repeat(&a, times[t]);
        for (int late = 0; late < 2; late++) {
            kv_expect(&a, late ? LBROUTE_KV_DUPLICATE : LBROUTE_KV_APPLIED,
                      LBROUTE_KV_SOURCE_FRESH);
            kv_expect_missing(&a, 1, 0);
            assert_int_equal(kv_stats(&a).next_seq, 9);
            for (uint32_t block = 1; block <= 8; block++)
                assert_int_equal(holds(&a, block), block != 2 && block != 6);
            a.timestamp = times[t] + 2;
            send_batch(&a, 2);
        }
        fleet_close(&fleet);
    }
}

/* ---- PC-11 ---- */

/* Hashes and tokens of an event, and what counts of them. */
static const struct {
    size_t hashes;
    size_t tokens;
    uint32_t size;
    int64_t blocks;
    int mismatch;
} uneven[] = {
    {4, 3, 256, 0, 1}, {1, 16, 16, 1, 0}, {2, 31, 16, 1, 1}, {0, 0, 16, 0, 0}};

static void pc_11_more_hashes_than_tokens(void **state)
{
    static const uint64_t hashes[] = {1, 2, 3, 4};
    (void)state;

    for (size_t i = 0; i < sizeof uneven / sizeof uneven[0]; i++) {
        struct fleet fleet;
        struct kv a;
        lbroute_kv_event event;
        fleet_open(&fleet, "precise_cache_aware", 1, 1);
        kv_open(&a, &fleet, A);
        lbroute_kv_event_init(&event, sizeof event);
        event.kind = LBROUTE_KV_STORED;
        event.hashes = hashes;
        event.hash_count = uneven[i].hashes;
        event.tokens = kv_tokens(1);
        event.token_count = uneven[i].tokens;
        event.block_size = uneven[i].size;
        assert_int_equal(kv_send_event(&a, &event), uneven[i].mismatch
                                                        ? LBROUTE_KV_PARTIAL
                                                        : LBROUTE_KV_APPLIED);
        assert_int_equal(a.result.stored, uneven[i].blocks);
        assert_int_equal(a.result.reasons[LBROUTE_KV_REASON_TOKENS] > 0,
                         uneven[i].mismatch);
        assert_int_equal(kv_stats(&a).reasons[LBROUTE_KV_REASON_TOKENS],
                         a.result.reasons[LBROUTE_KV_REASON_TOKENS]);
        assert_int_equal(kv_stats(&a).blocks[LBROUTE_MEDIUM_GPU],
                         uneven[i].blocks);
        assert_int_equal(kv_count(&fleet, A, 1, 1024), uneven[i].blocks);
        fleet_close(&fleet);
    }
}

/* ---- PC-12 ---- */

static void expect_block(struct kv *kv, int64_t gpu, int64_t host)
{
    kv_ask(kv->fleet, 1, 16);
    assert_int_equal(kv_resident(kv->fleet, kv->index), gpu + host);
    assert_int_equal(kv_resident_in(kv->fleet, kv->index, LBROUTE_MEDIUM_GPU),
                     gpu);
    assert_int_equal(kv_resident_in(kv->fleet, kv->index, LBROUTE_MEDIUM_HOST),
                     host);
}

static void store_in(struct kv *kv, int medium)
{
    kv->medium = medium;
    assert_int_equal(kv_store(kv, 11, 1, 16), LBROUTE_KV_APPLIED);
}

static void remove_from(struct kv *kv, int medium)
{
    kv->medium = medium;
    kv_remove(kv, 11, 1);
}

/* A move to another medium is a removal and a store. */
static void pc_12_removal_on_one_tier(void **state)
{
    struct fleet fleet;
    struct kv a, b, c;
    (void)state;

    fleet_open(&fleet, "precise_cache_aware", 3, 1);
    kv_open(&a, &fleet, A);
    store_in(&a, LBROUTE_MEDIUM_GPU);
    expect_block(&a, 1, 0);
    kv_expect_pick(&fleet, A, 1);
    store_in(&a, LBROUTE_MEDIUM_HOST);
    expect_block(&a, 1, 0);
    remove_from(&a, LBROUTE_MEDIUM_GPU);
    expect_block(&a, 0, 1);
    kv_expect_pick(&fleet, A, 1);
    remove_from(&a, LBROUTE_MEDIUM_HOST);
    expect_block(&a, 0, 0);
    kv_expect_load(&fleet);

    kv_open(&b, &fleet, B);
    store_in(&b, LBROUTE_MEDIUM_GPU);
    remove_from(&b, LBROUTE_MEDIUM_GPU);
    expect_block(&b, 0, 0);
    store_in(&b, LBROUTE_MEDIUM_HOST);
    expect_block(&b, 0, 1);
    kv_expect_pick(&fleet, B, 1);

    kv_open(&c, &fleet, C);
    store_in(&c, LBROUTE_MEDIUM_GPU);
    remove_from(&c, LBROUTE_MEDIUM_ANY);
    expect_block(&c, 0, 0);
    store_in(&c, LBROUTE_MEDIUM_GPU);
    store_in(&c, LBROUTE_MEDIUM_GPU);
    expect_block(&c, 1, 0);
    remove_from(&c, LBROUTE_MEDIUM_GPU);
    expect_block(&c, 0, 0);
    fleet_close(&fleet);
}

/* ---- PC-13 ---- */

/* Nobody noticed that no events came: the score was 0 for all. */
static void pc_13_no_events_is_not_no_match(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    fleet_open(&fleet, "precise_cache_aware", 3, 1);
    kv_open(&a, &fleet, A);
    kv_store(&a, 11, 1, 64);
    kv_ask(&fleet, 1001, 1064);
    for (int i = 0; i < 30; i++) {
        assert_true(fleet_pick(&fleet) != FLEET_NONE);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_LEAST_CONNECTIONS);
        assert_int_equal(fleet.decision.kv_state,
                         fleet.decision.target == fleet.targets[A]
                             ? LBROUTE_KV_SOURCE_FRESH
                             : LBROUTE_KV_SOURCE_NONE);
    }
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fleet.picks[i], 10);
    assert_int_equal(kv_resident(&fleet, A), 0);
    assert_int_equal(kv_resident(&fleet, B), -1);
    assert_int_equal(kv_state(&fleet, A), LBROUTE_KV_SOURCE_FRESH);
    assert_int_equal(kv_state(&fleet, B), LBROUTE_KV_SOURCE_NONE);
    assert_int_equal(fleet_stats(&fleet, A).kv_state, LBROUTE_KV_SOURCE_FRESH);
    assert_int_equal(fleet_stats(&fleet, A).kv_age_ns, 0);
    assert_int_equal(fleet_stats(&fleet, C).kv_state, LBROUTE_KV_SOURCE_NONE);
    assert_int_equal(fleet_stats(&fleet, C).kv_age_ns, -1);
    kv_ask(&fleet, 1, 64);
    kv_expect_pick(&fleet, A, 4);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pc_01_cleared),
        cmocka_unit_test(pc_04_any_number_is_a_label),
        cmocka_unit_test(pc_04_minus_one_is_all_ones),
        cmocka_unit_test(pc_08_replayed_batches),
        cmocka_unit_test(pc_11_more_hashes_than_tokens),
        cmocka_unit_test(pc_12_removal_on_one_tier),
        cmocka_unit_test(pc_13_no_events_is_not_no_match),
    };
    return cmocka_run_group_tests_name("PC", tests, NULL, NULL);
}
