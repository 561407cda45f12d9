/* SPDX-License-Identifier: MIT */
/* Field reports PC that are about the decoding of KV events. */
#include <string.h>

#include "support/test.h"
#include "support/wire.h"

enum { A, B, C };

static struct fleet fleet;

static void open_with(size_t targets)
{
    fleet_open(&fleet, "precise_cache_aware", targets, 1);
    wire_tokens(&fleet, 1, 32);
}

static void close_all(void)
{
    fleet_close(&fleet);
    pack_free(&wire);
}

/* The first |fields| of a store of hashes 11, 12 and tokens 1 to 32; from the
 * fifth on: number, medium, name, extra keys, group, kind, window, unknown. */
static void put_store(size_t fields, const char *medium, const char *adapter)
{
    pack_array(&wire, 1 + fields);
    pack_str(&wire, "BlockStored");
    pack_range(&wire, 11, 2);
    pack_nil(&wire);
    pack_range(&wire, 1, 32);
    if (fields >= 4)
        pack_uint(&wire, 16);
    for (size_t i = 5; i <= fields; i++) {
        if (i == 6 && medium)
            pack_str(&wire, medium);
        else if (i == 7 && adapter)
            pack_str(&wire, adapter);
        else
            pack_nil(&wire);
    }
}

/* ---- PC-02 ---- */

static const char *const store_keys[] = {
    "type", "block_hashes", "parent_block_hash", "token_ids", "block_size"};

static void put_entry(size_t key)
{
    pack_str(&wire, store_keys[key]);
    if (key == 0)
        pack_str(&wire, "BlockStored");
    if (key == 1)
        pack_range(&wire, 11, 2);
    if (key == 2)
        pack_nil(&wire);
    if (key == 3)
        pack_range(&wire, 1, 32);
    if (key == 4)
        pack_uint(&wire, 16);
}

static void put_map(void)
{
    pack_map(&wire, 5);
    for (size_t i = 0; i < 5; i++)
        put_entry(i);
}

/* Keys in another order, among some that nobody knows. */
static void put_strange_map(void)
{
    pack_map(&wire, 8);
    pack_str(&wire, "zone");
    pack_hex(&wire, "83a16100a16290a16393c0c2cb0000000000000000");
    for (size_t i = 5; i-- > 0;) {
        put_entry(i);
        if (i == 3) {
            pack_uint(&wire, 3);
            pack_str(&wire, "a key that is a number");
        }
    }
    pack_nil(&wire);
    pack_map(&wire, 0);
}

static void begin_map_batch(void)
{
    pack_reset(&wire);
    pack_map(&wire, 3);
    pack_str(&wire, "data_parallel_rank");
    pack_uint(&wire, 0);
    pack_str(&wire, "ts");
    pack_double(&wire, 1.0);
    pack_str(&wire, "events");
    pack_array(&wire, 1);
}

static void pc_02_four_shapes(void **state)
{
    (void)state;
    for (int shape = 0; shape < 4; shape++) {
        open_with(1);
        if (shape < 2)
            wire_begin(1);
        else
            begin_map_batch();
        if (shape == 0)
            put_store(4, NULL, NULL);
        else if (shape < 3)
            put_map();
        else
            put_strange_map();
        assert_int_equal(wire_feed(&fleet, A), LBROUTE_KV_APPLIED);
        assert_int_equal(wire_diag.accepted, 1);
        assert_int_equal(wire_known(&fleet, A), 2);
        assert_int_equal(fleet_serve(&fleet), A);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_PRECISE_CACHE_AWARE);
        close_all();
    }
}

/* One shape stores, the other one removes, in one batch. */
static void pc_02_kind_mixed(void **state)
{
    (void)state;
    open_with(1);
    wire_begin(2);
    put_map();
    pack_array(&wire, 2);
    pack_str(&wire, "BlockRemoved");
    pack_range(&wire, 12, 1);
    assert_int_equal(wire_feed(&fleet, A), LBROUTE_KV_APPLIED);
    assert_int_equal(wire_known(&fleet, A), 1);
    wire_begin(2);
    put_store(4, NULL, NULL);
    pack_map(&wire, 2);
    pack_str(&wire, "block_hashes");
    pack_range(&wire, 11, 1);
    pack_str(&wire, "type");
    pack_str(&wire, "BlockRemoved");
    assert_int_equal(wire_feed(&fleet, A), LBROUTE_KV_APPLIED);
    assert_int_equal(wire_known(&fleet, A), 0);
    assert_int_equal(wire_stats(&fleet, A).blocks[LBROUTE_MEDIUM_GPU], 1);
    close_all();
}

/* ---- PC-03 ---- */

static void pc_03_trailing_fields(void **state)
{
    (void)state;
    /* Arrays of 5 to 12, with the type. */
    for (size_t fields = 4; fields <= 11; fields++) {
        const char *adapter = fields >= 7 ? "x" : NULL;
        open_with(3);
        wire_begin(1);
        put_store(fields, "CPU", NULL);
        (void)wire_feed(&fleet, A);
        wire_begin(1);
        put_store(fields, "GPU", NULL);
        (void)wire_feed(&fleet, B);
        wire_begin(1);
        put_store(fields, "GPU", adapter);
        (void)wire_feed(&fleet, C);
        for (size_t i = A; i <= C; i++) {
            assert_int_equal(wire_stats(&fleet, i).batches, 1);
            assert_int_equal(wire_known(&fleet, i), adapter && i == C ? 0 : 2);
        }
        assert_int_equal(wire_stats(&fleet, A).blocks[LBROUTE_MEDIUM_HOST],
                         fields >= 6 ? 2 : 0);
        assert_int_equal(wire_stats(&fleet, A).blocks[LBROUTE_MEDIUM_GPU],
                         fields >= 6 ? 0 : 2);
        if (fields >= 7) {
            for (int i = 0; i < 20; i++)
                assert_int_equal(fleet_serve(&fleet), B);
            fleet.request.adapter = "x";
            fleet.request.adapter_len = 1;
            assert_int_equal(fleet_serve(&fleet), C);
        }
        close_all();
    }
}

/* Groups apart: a window's blocks are no prefix, and of two groups that are
 * each removal takes its own. */
static void pc_03_kind_groups(void **state)
{
    static const char *const kinds[] = {"sliding_window", "full_attention",
                                        "mla_attention"};
    (void)state;

    open_with(1);
    wire_begin(3);
    for (uint64_t group = 0; group < 3; group++) {
        pack_array(&wire, 11);
        pack_str(&wire, "BlockStored");
        pack_range(&wire, 11, 2);
        pack_nil(&wire);
        pack_range(&wire, 1 + 100 * (uint32_t)group, 32);
        pack_uint(&wire, 16);
        for (int i = 0; i < 4; i++)
            pack_nil(&wire);
        pack_uint(&wire, group);
        pack_str(&wire, kinds[group]);
    }
    (void)wire_feed(&fleet, A);
    assert_int_equal(wire_diag.accepted, 2);
    assert_int_equal(wire_diag.reasons[LBROUTE_DIAG_GROUP], 1);
    assert_int_equal(wire_known(&fleet, A), 0);
    wire_tokens(&fleet, 101, 32);
    assert_int_equal(wire_known(&fleet, A), 2);
    wire_tokens(&fleet, 201, 32);
    assert_int_equal(wire_known(&fleet, A), 2);
    wire_begin(1);
    pack_array(&wire, 4);
    pack_str(&wire, "BlockRemoved");
    pack_range(&wire, 11, 2);
    pack_nil(&wire);
    pack_uint(&wire, 2);
    (void)wire_feed(&fleet, A);
    assert_int_equal(wire_known(&fleet, A), 0);
    wire_tokens(&fleet, 101, 32);
    assert_int_equal(wire_known(&fleet, A), 2);
    close_all();
}

/* ---- PC-04 ---- */

/* The four hashes of the report; the second one is -1. */
static void put_hash(int which)
{
    if (which == 0)
        pack_uint(&wire, UINT64_C(15760518052499183552));
    else if (which == 1)
        pack_int(&wire, -1);
    else if (which == 2)
        pack_uint(&wire, 7);
    else
        pack_hex(&wire, "c420000102030405060708090a0b0c0d0e0f1011121314151617"
                        "18191a1b1c1d1e1f");
}

static void store_four(void)
{
    wire_begin(1);
    pack_array(&wire, 14);
    pack_str(&wire, "BlockStored");
    pack_array(&wire, 4);
    for (int i = 0; i < 4; i++)
        put_hash(i);
    pack_nil(&wire);
    pack_range(&wire, 1, 64);
    pack_uint(&wire, 16);
    for (int i = 0; i < 6; i++)
        pack_nil(&wire);
    pack_str(&wire, "new"); /* in the place of the window, and behind it */
    pack_map(&wire, 0);
    pack_hex(&wire, "cb3ff0000000000000");
    assert_int_equal(wire_feed(&fleet, A), LBROUTE_KV_APPLIED);
}

static void pc_04_hash_types(void **state)
{
    (void)state;
    open_with(1);
    wire_tokens(&fleet, 1, 64);
    for (int which = 0; which < 4; which++) {
        store_four();
        assert_int_equal(wire_known(&fleet, A), 4);
        wire_begin(1);
        pack_array(&wire, 2);
        pack_str(&wire, "BlockRemoved");
        pack_array(&wire, 1);
        put_hash(which);
        assert_int_equal(wire_feed(&fleet, A), LBROUTE_KV_APPLIED);
        assert_int_equal(wire_result.removed, 1);
        assert_int_equal(wire_known(&fleet, A), which);
        assert_int_equal(wire_stats(&fleet, A).blocks[LBROUTE_MEDIUM_GPU], 3);
    }
    close_all();
}

/* -1 and 2^64 - 1 have the same bits: the same block. */
static void pc_04_one_rule_for_signs(void **state)
{
    (void)state;
    open_with(1);
    wire_tokens(&fleet, 1, 64);
    store_four();
    wire_begin(1);
    pack_array(&wire, 2);
    pack_str(&wire, "BlockRemoved");
    pack_array(&wire, 1);
    pack_uint(&wire, UINT64_MAX);
    assert_int_equal(wire_feed(&fleet, A), LBROUTE_KV_APPLIED);
    assert_int_equal(wire_result.removed, 1);
    assert_int_equal(wire_known(&fleet, A), 1);
    close_all();
}

/* ---- PC-06 ---- */

static void pc_06_three_four_five_fields(void **state)
{
    (void)state;
    open_with(1);
    for (size_t fields = 3; fields <= 5; fields++) {
        wire_begin(3);
        pack_hex(&wire, "91b0416c6c426c6f636b73436c6561726564");
        put_store(fields, NULL, NULL);
        pack_array(&wire, 5);
        pack_str(&wire, "BlockStored");
        pack_range(&wire, 50, 1);
        pack_nil(&wire);
        pack_range(&wire, 500, 16);
        pack_uint(&wire, 16);
        assert_int_equal(wire_feed(&fleet, A),
                         fields == 3 ? LBROUTE_KV_PARTIAL : LBROUTE_KV_APPLIED);
        assert_int_equal(wire_diag.accepted, fields == 3 ? 2 : 3);
        assert_int_equal(wire_diag.broken, fields == 3);
        assert_int_equal(wire_diag.reasons[LBROUTE_DIAG_EVENT], fields == 3);
        if (fields == 3)
            assert_int_equal(wire_diag.line, 2);
        wire_tokens(&fleet, 1, 32);
        assert_int_equal(wire_known(&fleet, A), fields == 3 ? 0 : 2);
        wire_tokens(&fleet, 500, 16);
        assert_int_equal(wire_known(&fleet, A), 1);
    }
    close_all();
}

/* Maps without adapter and medium, and without what is needed. */
static void pc_06_maps(void **state)
{
    (void)state;
    for (size_t without = 0; without <= 5; without++) {
        open_with(1);
        wire_begin(1);
        pack_map(&wire, without < 5 ? 4 : 5);
        for (size_t i = 0; i < 5; i++)
            if (i != without)
                put_entry(i);
        assert_int_equal(wire_feed(&fleet, A),
                         without < 5 ? LBROUTE_KV_PARTIAL : LBROUTE_KV_APPLIED);
        assert_int_equal(wire_diag.broken, without < 5);
        assert_int_equal(wire_known(&fleet, A), without < 5 ? 0 : 2);
        close_all();
    }
}

/* ---- PC-11 ---- */

static void pc_11_hashes_and_tokens(void **state)
{
    static const struct {
        size_t hashes, tokens;
        uint64_t block_size;
        size_t known, mismatched;
    } events[] = {
        {4, 3, 256, 0, 4},       {1, 16, 16, 1, 0},   {2, 31, 16, 1, 1},
        {0, 0, 16, 0, 0},        {0, 0, 0, 0, 0},     {1, 31, 16, 1, 1},
        {1, 48, 16, 1, 2},       {0, 32, 16, 0, 2},   {3, 16, 16, 1, 2},
        {500, 800, 16, 50, 450}, {2, 800, 16, 2, 48}, {100, 1599, 16, 99, 1},
    };
    (void)state;

    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        open_with(1);
        wire_begin(1);
        pack_array(&wire, 5);
        pack_str(&wire, "BlockStored");
        pack_range(&wire, 1, events[i].hashes);
        pack_nil(&wire);
        pack_range(&wire, 1, events[i].tokens);
        pack_uint(&wire, events[i].block_size);
        assert_int_equal(wire_feed(&fleet, A), events[i].mismatched
                                                   ? LBROUTE_KV_PARTIAL
                                                   : LBROUTE_KV_APPLIED);
        assert_int_equal(wire_result.stored, events[i].known);
        assert_int_equal(wire_result.reasons[LBROUTE_KV_REASON_TOKENS],
                         events[i].mismatched);
        assert_int_equal(wire_result.reasons[LBROUTE_KV_REASON_UNKNOWN], 0);
        wire_tokens(&fleet, 1, events[i].tokens ? events[i].tokens : 16);
        assert_int_equal(wire_known(&fleet, A), events[i].known);
        close_all();
    }
}

/* ---- what becomes of batches as a whole ---- */

static void put_block(uint64_t hash, uint32_t first)
{
    pack_array(&wire, 5);
    pack_str(&wire, "BlockStored");
    pack_range(&wire, hash, 1);
    pack_nil(&wire);
    pack_range(&wire, first, 16);
    pack_uint(&wire, 16);
}

static int feed_block(uint64_t seq, uint64_t hash, uint32_t first)
{
    wire_begin(1);
    put_block(hash, first);
    assert_int_equal(wire_feed_bytes(&fleet, A, seq, wire.bytes, wire.length),
                     0);
    return wire_result.outcome;
}

/* A refused payload counts as missing; it may come again. */
static void pc_08_kind_refused_is_missing(void **state)
{
    (void)state;
    open_with(1);
    assert_int_equal(feed_block(5, 1, 100), LBROUTE_KV_APPLIED);
    assert_int_equal(wire_feed_bytes(&fleet, A, 6, "\xc1", 1),
                     LBROUTE_ERR_FORMAT);
    assert_int_equal(feed_block(7, 2, 200), LBROUTE_KV_GAP);
    assert_int_equal(wire_result.first_missing, 6);
    assert_int_equal(wire_result.last_missing, 6);
    assert_int_equal(feed_block(6, 3, 300), LBROUTE_KV_APPLIED);
    assert_int_equal(wire_result.state, LBROUTE_KV_SOURCE_FRESH);
    assert_int_equal(feed_block(7, 2, 200), LBROUTE_KV_DUPLICATE);
    assert_int_equal(wire_stats(&fleet, A).blocks[LBROUTE_MEDIUM_GPU], 3);
    close_all();
}

/* What came in the first part holds for the whole batch: that something made no
 * sense, or that the engine started anew. */
static void pc_08_kind_first_part_tells(void **state)
{
    (void)state;
    open_with(1);
    assert_int_equal(feed_block(0, 1, 100), LBROUTE_KV_APPLIED);
    wire_begin(201);
    pack_array(&wire, 5);
    pack_str(&wire, "BlockStored"); /* after itself */
    pack_range(&wire, 77, 1);
    pack_uint(&wire, 77);
    pack_range(&wire, 7000, 16);
    pack_uint(&wire, 16);
    for (uint32_t i = 0; i < 200; i++)
        put_block(1000 + i, 10000 + 20 * i);
    assert_int_equal(wire_feed_bytes(&fleet, A, 1, wire.bytes, wire.length), 0);
    assert_int_equal(wire_result.outcome, LBROUTE_KV_PARTIAL);
    assert_int_equal(wire_result.reasons[LBROUTE_KV_REASON_OWN_PARENT], 1);
    assert_int_equal(wire_result.stored, 200);
    wire_begin(200); /* number 0 again, with other content */
    for (uint32_t i = 0; i < 200; i++)
        put_block(2000 + i, 50000 + 20 * i);
    assert_int_equal(wire_feed_bytes(&fleet, A, 0, wire.bytes, wire.length), 0);
    assert_int_equal(wire_result.outcome, LBROUTE_KV_RESTARTED);
    assert_int_equal(wire_result.stored, 200);
    assert_int_equal(wire_stats(&fleet, A).blocks[LBROUTE_MEDIUM_GPU], 200);
    close_all();
}

/* Batches of many parts are kept aside, doubled and followed as one. */
static void pc_08_kind_many_parts(void **state)
{
    struct pack parts[3] = {{0}, {0}, {0}};
    static const uint64_t order[] = {0, 2, 1, 2, 1};
    static const int outcomes[] = {LBROUTE_KV_APPLIED, LBROUTE_KV_GAP,
                                   LBROUTE_KV_APPLIED, LBROUTE_KV_DUPLICATE,
                                   LBROUTE_KV_DUPLICATE};
    (void)state;

    open_with(1);
    for (uint32_t batch = 0; batch < 3; batch++) {
        wire_begin(200);
        for (uint32_t i = 0; i < 200; i++)
            put_block(1000 * batch + i, 10000 * batch + 20 * i);
        pack_raw(&parts[batch], wire.bytes, wire.length);
    }
    for (int i = 0; i < 5; i++) {
        assert_int_equal(wire_feed_bytes(&fleet, A, order[i],
                                         parts[order[i]].bytes,
                                         parts[order[i]].length),
                         0);
        assert_int_equal(wire_result.outcome, outcomes[i]);
        assert_int_equal(wire_diag.accepted, 200);
        if (i == 1)
            assert_int_equal(wire_stats(&fleet, A).aside, 200);
    }
    assert_int_equal(wire_result.state, LBROUTE_KV_SOURCE_FRESH);
    assert_int_equal(wire_stats(&fleet, A).blocks[LBROUTE_MEDIUM_GPU], 600);
    assert_int_equal(wire_stats(&fleet, A).duplicates, 2);
    for (int i = 0; i < 3; i++)
        pack_free(&parts[i]);
    close_all();
}

/* The end of a replay says what is known, and is no batch. */
static void replay_end(void **state)
{
    (void)state;
    open_with(1);
    assert_int_equal(wire_feed_bytes(&fleet, A, UINT64_MAX, NULL, 0), 0);
    assert_int_equal(wire_result.outcome, LBROUTE_KV_REPLAY_END);
    assert_int_equal(wire_result.state, LBROUTE_KV_SOURCE_NONE);
    (void)feed_block(0, 1, 100);
    (void)feed_block(4, 2, 200);
    assert_int_equal(wire_feed_bytes(&fleet, A, UINT64_MAX, "", 0), 0);
    assert_int_equal(wire_result.outcome, LBROUTE_KV_REPLAY_END);
    assert_int_equal(wire_result.state, LBROUTE_KV_SOURCE_GAP);
    assert_int_equal(wire_result.missing, 3);
    assert_int_equal(wire_result.first_missing, 1);
    assert_int_equal(wire_result.last_missing, 3);
    assert_int_equal(wire_stats(&fleet, A).batches, 1);
    /* Another number with nothing, and no number with something. */
    assert_int_equal(wire_feed_bytes(&fleet, A, 7, "", 0), LBROUTE_ERR_FORMAT);
    wire_begin(1);
    put_block(9, 900);
    assert_int_equal(
        wire_feed_bytes(&fleet, A, UINT64_MAX, wire.bytes, wire.length), 0);
    assert_int_equal(wire_result.outcome, LBROUTE_KV_APPLIED);
    close_all();
}

static void refused_calls(void **state)
{
    lbroute_target gone;
    lbroute_kv_result result = {0};
    (void)state;

    open_with(2);
    gone = fleet.targets[B];
    fleet_remove(&fleet, B);
    wire_begin(0);
#define CALL(router, target, source, seq, bytes, length, out)                  \
    lbroute_ingest_kv_events(router, target, source, seq, bytes, length, 1,    \
                             out, NULL)
    assert_int_equal(
        CALL(NULL, fleet.targets[A], 0, 0, wire.bytes, wire.length, NULL),
        LBROUTE_ERR_INVALID);
    assert_int_equal(CALL(fleet.router, fleet.targets[A], 0, 0, NULL, 1, NULL),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(CALL(fleet.router, fleet.targets[A], 0, 0, wire.bytes,
                          wire.length, &result),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(
        CALL(fleet.router, gone, 0, 0, wire.bytes, wire.length, NULL),
        LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(CALL(fleet.router, gone, 0, UINT64_MAX, NULL, 0, NULL),
                     LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(CALL(fleet.router, fleet.targets[A], UINT32_MAX, 0,
                          wire.bytes, wire.length, NULL),
                     LBROUTE_ERR_RANGE);
    assert_int_equal(CALL(fleet.router, fleet.targets[A], 0, 0, wire.bytes,
                          wire.length, NULL),
                     0);
#undef CALL
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pc_02_four_shapes),
        cmocka_unit_test(pc_02_kind_mixed),
        cmocka_unit_test(pc_03_trailing_fields),
        cmocka_unit_test(pc_03_kind_groups),
        cmocka_unit_test(pc_04_hash_types),
        cmocka_unit_test(pc_04_one_rule_for_signs),
        cmocka_unit_test(pc_06_three_four_five_fields),
        cmocka_unit_test(pc_06_maps),
        cmocka_unit_test(pc_08_kind_refused_is_missing),
        cmocka_unit_test(pc_08_kind_first_part_tells),
        cmocka_unit_test(pc_08_kind_many_parts),
        cmocka_unit_test(pc_11_hashes_and_tokens),
        cmocka_unit_test(replay_end),
        cmocka_unit_test(refused_calls),
    };
    return cmocka_run_group_tests_name("pc_wire", tests, NULL, NULL);
}
