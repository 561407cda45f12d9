/* SPDX-License-Identifier: MIT */
/* More of the kind of the field report PC-08: batches that are lost, late,
 * repeated, out of order, or of an engine that started anew. Batch n stores
 * block n, a prompt of its own, unless the test says otherwise. */
#include <math.h>

#include "kv_events.h"
#include "support/fleet.h"
#include "support/test.h"

#define A 0

enum {
    APPLIED = LBROUTE_KV_APPLIED,
    DUPLICATE = LBROUTE_KV_DUPLICATE,
    GAP = LBROUTE_KV_GAP,
    RESTARTED = LBROUTE_KV_RESTARTED
};

enum {
    FRESH = LBROUTE_KV_SOURCE_FRESH,
    IN_GAP = LBROUTE_KV_SOURCE_GAP,
    ANEW = LBROUTE_KV_SOURCE_RESTARTED
};

enum { NOW = 1000, NEXT_LIFE = 100 };

static void open_one(struct fleet *fleet, struct kv *a)
{
    fleet_open(fleet, "precise_cache_aware", 1, 1);
    kv_open(a, fleet, A);
}

static int store_block(struct kv *a, uint32_t block)
{
    return kv_store(a, block, block * KV_SIZE, block * KV_SIZE + KV_SIZE - 1);
}

/* Batch |seq| of the engine's first life. */
static int batch(struct kv *a, uint64_t seq)
{
    a->seq = seq;
    a->timestamp = NOW + (double)seq / 1000;
    return store_block(a, (uint32_t)seq);
}

/* The same of its second life, which stores other blocks. */
static int batch_anew(struct kv *a, uint64_t seq)
{
    a->seq = seq;
    a->timestamp = 2 * NOW + (double)seq / 1000;
    return store_block(a, NEXT_LIFE + (uint32_t)seq);
}

static void batches(struct kv *a, uint64_t first, uint64_t last)
{
    for (uint64_t seq = first; seq <= last; seq++)
        batch(a, seq);
}

static int64_t holds(struct kv *a, uint32_t block)
{
    return kv_count(a->fleet, A, block * KV_SIZE,
                    block * KV_SIZE + KV_SIZE - 1);
}

/* Checks that these blocks are there and no others. */
static void expect_blocks(struct kv *a, uint32_t first, uint32_t last)
{
    for (uint32_t block = 0; block < 200; block++)
        assert_int_equal(holds(a, block), block >= first && block <= last);
    assert_int_equal(kv_stats(a).blocks[LBROUTE_MEDIUM_GPU], last - first + 1);
}

/* ---- gaps ---- */

/* What came too early waits for what is late. */
static void pc_08_kind_reordered(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batches(&a, 1, 2);
    assert_int_equal(batch(&a, 4), GAP);
    kv_expect(&a, GAP, IN_GAP);
    kv_expect_missing(&a, 3, 3);
    assert_int_equal(kv_stats(&a).aside, 1);
    assert_int_equal(holds(&a, 1), -1);
    assert_int_equal(batch(&a, 3), APPLIED);
    assert_int_equal(a.result.stored, 2);
    kv_expect(&a, APPLIED, FRESH);
    kv_expect_missing(&a, 1, 0);
    assert_int_equal(kv_stats(&a).aside, 0);
    assert_int_equal(batch(&a, 5), APPLIED);
    expect_blocks(&a, 1, 5);
    assert_int_equal(kv_stats(&a).next_seq, 6);
    assert_int_equal(kv_stats(&a).gaps, 1);
    assert_int_equal(kv_stats(&a).batches, 5);
    fleet_close(&fleet);
}

/* Kept aside or not, the order is that of the numbers. */
static void pc_08_kind_order_of_numbers(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batch(&a, 1);
    a.seq = 4;
    store_block(&a, 2);
    a.seq = 3;
    kv_remove(&a, 2, 1);
    a.seq = 2;
    store_block(&a, 2);
    expect_blocks(&a, 1, 2);
    a.seq = 7;
    kv_remove(&a, 2, 1);
    a.seq = 6;
    store_block(&a, 2);
    a.seq = 5;
    kv_remove(&a, 2, 1);
    expect_blocks(&a, 1, 1);
    fleet_close(&fleet);
}

/* Replays in parts, and with parts of what is known. */
static void pc_08_kind_replay_in_parts(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batch(&a, 1);
    assert_int_equal(batch(&a, 10), GAP);
    kv_expect_missing(&a, 2, 9);
    assert_int_equal(a.result.missing, 8);
    assert_int_equal(batch(&a, 2), APPLIED);
    kv_expect(&a, APPLIED, IN_GAP);
    kv_expect_missing(&a, 3, 9);
    assert_int_equal(batch(&a, 12), GAP);
    kv_expect_missing(&a, 3, 9);
    batches(&a, 1, 5);
    kv_expect_missing(&a, 6, 9);
    assert_int_equal(a.result.missing, 4);
    batches(&a, 6, 8);
    kv_expect_missing(&a, 9, 9);
    batch(&a, 9);
    kv_expect_missing(&a, 11, 11);
    batch(&a, 11);
    kv_expect_missing(&a, 1, 0);
    expect_blocks(&a, 1, 12);
    assert_int_equal(kv_stats(&a).restarts, 0);
    fleet_close(&fleet);
}

/* The last one first. */
static void pc_08_kind_replay_backward(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batch(&a, 1);
    for (uint64_t seq = 12; seq > 2; seq--) {
        assert_int_equal(batch(&a, seq), GAP);
        kv_expect_missing(&a, 2, seq - 1);
        assert_int_equal(holds(&a, 1), -1);
    }
    assert_int_equal(batch(&a, 2), APPLIED);
    assert_int_equal(a.result.stored, 11);
    expect_blocks(&a, 1, 12);
    assert_int_equal(kv_stats(&a).gaps, 1);
    fleet_close(&fleet);
}

/* A batch that is kept aside may come again with the replay. */
static void pc_08_kind_aside_comes_twice(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batch(&a, 1);
    batch(&a, 4);
    batch(&a, 4);
    assert_int_equal(kv_stats(&a).aside, 1);
    batches(&a, 1, 6);
    expect_blocks(&a, 1, 6);
    kv_expect(&a, APPLIED, FRESH);
    fleet_close(&fleet);
}

/* The engine cannot replay: the host begins anew. */
static void pc_08_kind_gap_ended_by_call(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batches(&a, 1, 3);
    batch(&a, 7);
    kv_forget(&a);
    assert_int_equal(kv_stats(&a).state, FRESH);
    assert_int_equal(kv_stats(&a).aside, 0);
    assert_int_equal(kv_stats(&a).missing, 0);
    assert_int_equal(batch(&a, 9), APPLIED);
    kv_expect(&a, APPLIED, FRESH);
    expect_blocks(&a, 9, 9);
    fleet_close(&fleet);
}

/* A batch of no events has a number all the same. */
static void pc_08_kind_empty_batches(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batch(&a, 1);
    assert_int_equal(kv_send(&a), APPLIED);
    assert_int_equal(batch(&a, 3), APPLIED);
    a.seq = 5;
    assert_int_equal(kv_send(&a), GAP);
    batch(&a, 4);
    kv_expect(&a, APPLIED, FRESH);
    assert_int_equal(kv_stats(&a).next_seq, 6);
    fleet_close(&fleet);
}

/* ---- clear and gap ---- */

/* Whatever was missed is gone with the rest. */
static void pc_01_kind_clear_ends_a_gap(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batches(&a, 1, 3);
    a.seq = 7;
    kv_begin(&a);
    store_block(&a, 50);
    kv_empty(&a);
    store_block(&a, 51);
    kv_empty(&a);
    store_block(&a, 7);
    kv_send(&a);
    assert_int_equal(a.result.state, FRESH);
    kv_expect_missing(&a, 1, 0);
    expect_blocks(&a, 7, 7);
    assert_int_equal(batch(&a, 8), APPLIED);
    expect_blocks(&a, 7, 8);
    assert_int_equal(batch(&a, 5), DUPLICATE);
    expect_blocks(&a, 7, 8);
    fleet_close(&fleet);
}

/* What is kept aside from before the clear is moot, what comes behind it
 * follows. */
static void pc_01_kind_clear_amid_those_aside(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batches(&a, 1, 3);
    batch(&a, 5);
    batch(&a, 8);
    a.seq = 7;
    kv_empty(&a);
    assert_int_equal(a.result.state, FRESH);
    assert_int_equal(kv_stats(&a).aside, 0);
    assert_int_equal(kv_stats(&a).next_seq, 9);
    expect_blocks(&a, 8, 8);
    fleet_close(&fleet);
}

/* ---- duplicates ---- */

/* However late, and however many. */
static void pc_08_kind_late_duplicates(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batches(&a, 1, 150);
    for (uint64_t seq = 1; seq <= 150; seq++) {
        assert_int_equal(batch(&a, seq), DUPLICATE);
        assert_int_equal(a.result.stored, 0);
    }
    expect_blocks(&a, 1, 150);
    assert_int_equal(kv_stats(&a).duplicates, 150);
    assert_int_equal(kv_stats(&a).batches, 150);
    assert_int_equal(kv_stats(&a).next_seq, 151);
    fleet_close(&fleet);
}

/* Without timestamps, an old number that is not remembered was heard before. */
static void pc_08_kind_late_without_timestamps(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    for (uint32_t i = 1; i <= 150; i++) {
        a.seq = i;
        store_block(&a, i);
    }
    a.seq = 2;
    assert_int_equal(store_block(&a, 2), DUPLICATE);
    a.seq = 149;
    assert_int_equal(store_block(&a, 149), DUPLICATE);
    expect_blocks(&a, 1, 150);
    fleet_close(&fleet);
}

/* ---- engines that start anew ---- */

static void pc_08_kind_restart_at_0(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batches(&a, 0, 9);
    kv_store_after(&a, 777, 778, 1, 16);
    assert_int_equal(batch_anew(&a, 0), RESTARTED);
    kv_expect(&a, RESTARTED, FRESH);
    kv_expect_missing(&a, 1, 0);
    expect_blocks(&a, NEXT_LIFE, NEXT_LIFE);
    assert_int_equal(kv_stats(&a).waiting, 0);
    assert_int_equal(kv_stats(&a).restarts, 1);
    assert_int_equal(batch_anew(&a, 1), APPLIED);
    expect_blocks(&a, NEXT_LIFE, NEXT_LIFE + 1);
    fleet_close(&fleet);
}

/* Its first batches were missed: unknown until they are replayed. */
static void pc_08_kind_restart_seen_late(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batches(&a, 0, 9);
    assert_int_equal(batch_anew(&a, 3), RESTARTED);
    kv_expect(&a, RESTARTED, ANEW);
    kv_expect_missing(&a, 0, 2);
    assert_int_equal(holds(&a, 1), -1);
    assert_int_equal(kv_stats(&a).blocks[LBROUTE_MEDIUM_GPU], 0);
    batch_anew(&a, 0);
    assert_int_equal(holds(&a, NEXT_LIFE), -1);
    batch_anew(&a, 1);
    batch_anew(&a, 2);
    kv_expect(&a, APPLIED, FRESH);
    expect_blocks(&a, NEXT_LIFE, NEXT_LIFE + 3);
    assert_int_equal(kv_stats(&a).restarts, 1);
    fleet_close(&fleet);
}

/* Amid a gap: what was kept aside is of the life before. */
static void pc_08_kind_restart_amid_a_gap(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batches(&a, 0, 4);
    batch(&a, 6);
    assert_int_equal(batch_anew(&a, 0), RESTARTED);
    kv_expect(&a, RESTARTED, FRESH);
    assert_int_equal(kv_stats(&a).aside, 0);
    for (uint32_t i = 1; i <= 7; i++)
        assert_int_equal(batch_anew(&a, i), APPLIED);
    expect_blocks(&a, NEXT_LIFE, NEXT_LIFE + 7);
    fleet_close(&fleet);
}

/* Timestamps may be the same, or not given: other content tells. */
static void pc_08_kind_restart_by_content(void **state)
{
    static const double times[] = {(double)NAN, NOW};
    (void)state;

    for (size_t t = 0; t < 2; t++) {
        struct fleet fleet;
        struct kv a;
        open_one(&fleet, &a);
        a.timestamp = times[t];
        for (uint32_t i = 0; i < 10; i++)
            store_block(&a, i);
        a.seq = 4;
        assert_int_equal(store_block(&a, 4), DUPLICATE);
        a.seq = 4;
        assert_int_equal(store_block(&a, 104), RESTARTED);
        kv_expect(&a, RESTARTED, ANEW);
        kv_expect_missing(&a, 0, 3);
        for (uint32_t i = 0; i < 4; i++) {
            a.seq = i;
            store_block(&a, 100 + i);
        }
        kv_expect(&a, APPLIED, FRESH);
        expect_blocks(&a, 100, 104);
        fleet_close(&fleet);
    }
}

/* Number 0 after more than can be remembered, and no timestamp: a new
 * beginning rather than a replay of everything. */
static void pc_08_kind_restart_long_after(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    for (uint32_t i = 0; i < 150; i++)
        store_block(&a, i);
    a.seq = 0;
    assert_int_equal(store_block(&a, 0), RESTARTED);
    kv_expect(&a, RESTARTED, FRESH);
    expect_blocks(&a, 0, 0);
    fleet_close(&fleet);
}

/* With a newer timestamp every number tells of it. */
static void pc_08_kind_restart_long_after_with_times(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    for (uint64_t seq = 0; seq < 2; seq++) {
        open_one(&fleet, &a);
        batches(&a, 0, 99);
        assert_int_equal(batch_anew(&a, seq), RESTARTED);
        assert_int_equal(kv_stats(&a).restarts, 1);
        kv_expect(&a, RESTARTED, seq ? ANEW : FRESH);
        assert_int_equal(holds(&a, 5), seq ? -1 : 0);
        fleet_close(&fleet);
    }
}

/* The same content, but made later: the engine did it all again. */
static void pc_08_kind_newer_timestamp(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batches(&a, 0, 9);
    a.seq = 0;
    a.timestamp = 2 * NOW;
    assert_int_equal(store_block(&a, 0), RESTARTED);
    kv_expect(&a, RESTARTED, FRESH);
    expect_blocks(&a, 0, 0);
    fleet_close(&fleet);
}

/* ---- numbers ---- */

/* No number at all: as it comes, and never missing. */
static void pc_08_kind_without_numbers(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    a.seq = UINT64_MAX;
    for (uint32_t i = 3; i > 0; i--) {
        assert_int_equal(store_block(&a, i), APPLIED);
        assert_int_equal(store_block(&a, i), APPLIED);
        kv_expect(&a, APPLIED, FRESH);
        kv_expect_missing(&a, 1, 0);
    }
    assert_int_equal(kv_stats(&a).next_seq, UINT64_MAX);
    expect_blocks(&a, 1, 3);
    fleet_close(&fleet);
}

/* The largest number that there is. */
static void pc_08_kind_last_number(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    a.seq = UINT64_MAX - 3;
    assert_int_equal(store_block(&a, 1), APPLIED);
    a.seq = UINT64_MAX - 1;
    assert_int_equal(store_block(&a, 3), GAP);
    kv_expect_missing(&a, UINT64_MAX - 2, UINT64_MAX - 2);
    a.seq = UINT64_MAX - 2;
    assert_int_equal(store_block(&a, 2), APPLIED);
    kv_expect(&a, APPLIED, FRESH);
    expect_blocks(&a, 1, 3);
    fleet_close(&fleet);
}

/* From 0 to the largest number: more is missing than anyone can replay. */
static void pc_08_kind_widest_gap(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    batch(&a, 0);
    a.seq = UINT64_MAX - 1;
    assert_int_equal(store_block(&a, 1), GAP);
    kv_expect_missing(&a, 1, UINT64_MAX - 2);
    assert_int_equal(a.result.missing, UINT64_MAX - 2);
    assert_true(fleet.alloc.peak_bytes < 64U << 20);
    batch(&a, 1);
    kv_expect_missing(&a, 2, UINT64_MAX - 2);
    fleet_close(&fleet);
}

/* A host that hears of an engine late begins with what it hears. */
static void pc_08_kind_first_number(void **state)
{
    struct fleet fleet;
    struct kv a, rank;
    (void)state;

    open_one(&fleet, &a);
    kv_open(&rank, &fleet, A);
    rank.source = 1;
    batches(&a, 70, 71);
    kv_expect(&a, APPLIED, FRESH);
    batches(&rank, 3, 4);
    kv_expect(&rank, APPLIED, FRESH);
    assert_int_equal(batch(&a, 72), APPLIED);
    assert_int_equal(kv_stats(&a).next_seq, 73);
    assert_int_equal(kv_stats(&rank).next_seq, 5);
    assert_int_equal(batch(&a, 12), DUPLICATE);
    assert_int_equal(kv_stats(&a).blocks[LBROUTE_MEDIUM_GPU], 3);
    assert_int_equal(kv_stats(&rank).blocks[LBROUTE_MEDIUM_GPU], 2);
    assert_int_equal(holds(&a, 12), 0);
    fleet_close(&fleet);
}

/* ---- batches in parts ---- */

static int part(struct kv *a, uint64_t seq, uint32_t block, int more,
                int continued)
{
    lbroute_kv_event event;
    lbroute_kv_batch split;
    uint64_t label = block;

    lbroute_kv_event_init(&event, sizeof event);
    event.kind = LBROUTE_KV_STORED;
    event.hashes = &label;
    event.hash_count = 1;
    event.tokens = kv_tokens(block * KV_SIZE);
    event.token_count = KV_SIZE;
    event.block_size = KV_SIZE;
    lbroute_kv_batch_init(&split, sizeof split);
    split.seq = seq;
    split.events = &event;
    split.event_count = 1;
    split.more = more;
    split.continued = continued;
    lbroute_kv_result_init(&a->result, sizeof a->result);
    return lbroute_kv_apply(a->fleet->router, a->fleet->targets[A], a->source,
                            &split, a->fleet->now, &a->result);
}

static void pc_08_kind_parts(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    assert_int_equal(part(&a, 4, 1, 1, 0), LBROUTE_OK);
    assert_int_equal(part(&a, 4, 2, 1, 1), LBROUTE_OK);
    assert_int_equal(part(&a, 4, 3, 0, 1), LBROUTE_OK);
    kv_expect(&a, APPLIED, FRESH);
    expect_blocks(&a, 1, 3);
    assert_int_equal(kv_stats(&a).next_seq, 5);
    assert_int_equal(part(&a, 4, 4, 0, 1), LBROUTE_ERR_INVALID);
    assert_int_equal(part(&a, 5, 4, 1, 0), LBROUTE_OK);
    assert_int_equal(part(&a, 6, 5, 0, 1), LBROUTE_ERR_INVALID);
    assert_int_equal(part(&a, 5, 5, 0, 1), LBROUTE_OK);
    expect_blocks(&a, 1, 5);
    fleet_close(&fleet);
}

/* Parts of a batch that is too early, and of one that is known. */
static void pc_08_kind_parts_out_of_order(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_one(&fleet, &a);
    assert_int_equal(part(&a, 1, 1, 0, 0), LBROUTE_OK);
    assert_int_equal(part(&a, 3, 5, 1, 0), LBROUTE_OK);
    assert_int_equal(a.result.outcome, GAP);
    assert_int_equal(part(&a, 3, 6, 0, 1), LBROUTE_OK);
    assert_int_equal(part(&a, 2, 2, 1, 0), LBROUTE_OK);
    assert_int_equal(part(&a, 2, 3, 1, 1), LBROUTE_OK);
    assert_int_equal(part(&a, 2, 4, 0, 1), LBROUTE_OK);
    assert_int_equal(a.result.state, FRESH);
    expect_blocks(&a, 1, 6);
    assert_int_equal(part(&a, 2, 2, 1, 0), LBROUTE_OK);
    assert_int_equal(part(&a, 2, 3, 1, 1), LBROUTE_OK);
    assert_int_equal(part(&a, 2, 4, 0, 1), LBROUTE_OK);
    kv_expect(&a, DUPLICATE, FRESH);
    expect_blocks(&a, 1, 6);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pc_08_kind_reordered),
        cmocka_unit_test(pc_08_kind_order_of_numbers),
        cmocka_unit_test(pc_08_kind_replay_in_parts),
        cmocka_unit_test(pc_08_kind_replay_backward),
        cmocka_unit_test(pc_08_kind_aside_comes_twice),
        cmocka_unit_test(pc_08_kind_gap_ended_by_call),
        cmocka_unit_test(pc_08_kind_empty_batches),
        cmocka_unit_test(pc_01_kind_clear_ends_a_gap),
        cmocka_unit_test(pc_01_kind_clear_amid_those_aside),
        cmocka_unit_test(pc_08_kind_late_duplicates),
        cmocka_unit_test(pc_08_kind_late_without_timestamps),
        cmocka_unit_test(pc_08_kind_restart_at_0),
        cmocka_unit_test(pc_08_kind_restart_seen_late),
        cmocka_unit_test(pc_08_kind_restart_amid_a_gap),
        cmocka_unit_test(pc_08_kind_restart_by_content),
        cmocka_unit_test(pc_08_kind_restart_long_after),
        cmocka_unit_test(pc_08_kind_restart_long_after_with_times),
        cmocka_unit_test(pc_08_kind_newer_timestamp),
        cmocka_unit_test(pc_08_kind_without_numbers),
        cmocka_unit_test(pc_08_kind_last_number),
        cmocka_unit_test(pc_08_kind_widest_gap),
        cmocka_unit_test(pc_08_kind_first_number),
        cmocka_unit_test(pc_08_kind_parts),
        cmocka_unit_test(pc_08_kind_parts_out_of_order),
    };
    return cmocka_run_group_tests_name("PC order", tests, NULL, NULL);
}
