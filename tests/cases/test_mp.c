/* SPDX-License-Identifier: MIT */
/* Field reports MP: payloads that ask for more than they are. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/state.h"
#include "support/test.h"
#include "support/wire.h"

enum { A, LITTLE = 64 * 1024 };

static struct fleet fleet;

/* A target that holds two blocks of 16 tokens. */
static void open_fed(void)
{
    fleet_open(&fleet, "precise_cache_aware", 1, 1);
    wire_begin(1);
    pack_array(&wire, 5);
    pack_str(&wire, "BlockStored");
    pack_range(&wire, 11, 2);
    pack_nil(&wire);
    pack_range(&wire, 1, 32);
    pack_uint(&wire, 16);
    assert_int_equal(wire_feed(&fleet, A), LBROUTE_KV_APPLIED);
    wire_tokens(&fleet, 1, 32);
    assert_int_equal(wire_known(&fleet, A), 2);
}

static void close_fed(void)
{
    fleet_close(&fleet);
    pack_free(&wire);
}

/* Refused as a whole: no memory, nothing changed, and the number still to
 * come. */
static void refused(const void *bytes, size_t length)
{
    lbroute_kv_source_stats before = wire_stats(&fleet, A), after;
    char *state = state_text(fleet.router, fleet.now, STATE_FULL);
    size_t live = fleet.alloc.live_bytes;

    fleet.alloc.peak_bytes = live;
    assert_int_equal(wire_feed_bytes(&fleet, A, 1, bytes, length),
                     LBROUTE_ERR_FORMAT);
    assert_true(fleet.alloc.peak_bytes - live < LITTLE);
    assert_int_equal(fleet.alloc.live_bytes, live);
    assert_int_equal(wire_diag.accepted, 0);
    assert_int_equal(wire_diag.reasons[LBROUTE_DIAG_FORMAT], 1);
    assert_int_equal(wire_result.outcome, 0);
    after = wire_stats(&fleet, A);
    assert_memory_equal(&after, &before, sizeof after);
    assert_int_equal(wire_known(&fleet, A), 2);
    state_check(fleet.router, fleet.now, STATE_FULL, state);
}

static void refused_hex(const char *hex)
{
    struct pack bytes = {0};

    pack_hex(&bytes, hex);
    refused(bytes.bytes, bytes.length);
    pack_free(&bytes);
}

/* ---- MP-01 ---- */

static const char *const promises[] = {"ddffffffff", "dfffffffff", "c6ffffffff",
                                       "db7fffffff"};

static void mp_01_five_bytes(void **state)
{
    (void)state;
    open_fed();
    for (size_t i = 0; i < 4; i++)
        refused_hex(promises[i]);
    close_fed();
}

/* The same as the token ids of a store, with other events around it. */
static void mp_01_nested(void **state)
{
    (void)state;
    open_fed();
    for (size_t i = 0; i < 4; i++) {
        for (int behind = 0; behind < 2; behind++) {
            wire_begin(2);
            pack_hex(&wire, "91b0416c6c426c6f636b73436c6561726564");
            pack_array(&wire, 5);
            pack_str(&wire, "BlockStored");
            pack_range(&wire, 3, 1);
            pack_nil(&wire);
            pack_hex(&wire, promises[i]);
            if (behind)
                pack_range(&wire, 1, 100);
            refused(wire.bytes, wire.length);
        }
    }
    close_fed();
}

/* The same in every other place. */
static void mp_01_kind_places(void **state)
{
    static const char *const heads[] = {
        "92",                                               /* the time */
        "92cb3ff0000000000000",                             /* the events */
        "92cb3ff000000000000091",                           /* an event */
        "92cb3ff00000000000009191",                         /* its type */
        "92cb3ff00000000000009195ab426c6f636b53746f726564", /* hashes */
        "92cb3ff00000000000009195ab426c6f636b53746f7265649101",
        "92cb3ff00000000000009181",           /* a key */
        "92cb3ff00000000000009181a474797065", /* what is under it */
        "92cb3ff00000000000009182a474797065ab426c6f636b53746f726564a178",
        "81a6",
        "81a66576656e7473",
        "81a27473",
        "81",
        "93c090", /* the rank */
    };
    (void)state;

    open_fed();
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        for (size_t j = 0; j < 4; j++) {
            pack_reset(&wire);
            pack_hex(&wire, heads[i]);
            pack_hex(&wire, promises[j]);
            refused(wire.bytes, wire.length);
        }
    }
    close_fed();
}

/* A batch with all kinds of event in both forms. */
static void write_all_kinds(void)
{
    wire_begin(6);
    pack_hex(&wire, "91b0416c6c426c6f636b73436c6561726564");
    pack_array(&wire, 11);
    pack_str(&wire, "BlockStored");
    pack_range(&wire, 70000, 3);
    pack_int(&wire, -7);
    pack_range(&wire, 120, 48);
    pack_uint(&wire, 16);
    pack_uint(&wire, 4);
    pack_str(&wire, "GPU");
    pack_str(&wire, "sql");
    pack_hex(&wire, "93c091a373716c9293a3636174cdffff00a173");
    pack_uint(&wire, 0);
    pack_str(&wire, "full_attention");
    pack_hex(&wire, "93ac426c6f636b52656d6f76656491c40801020304050607"
                    "08a3435055");
    pack_map(&wire, 6);
    pack_str(&wire, "token_ids");
    pack_range(&wire, 65500, 32);
    pack_str(&wire, "type");
    pack_str(&wire, "BlockStored");
    pack_str(&wire, "block_hashes");
    pack_range(&wire, UINT32_MAX, 2);
    pack_str(&wire, "block_size");
    pack_uint(&wire, 16);
    pack_str(&wire, "parent_block_hash");
    pack_nil(&wire);
    pack_str(&wire, "unknown");
    pack_hex(&wire, "83c0c2cb3ff0000000000000d40700c7020700009181a0dc000107");
    pack_hex(&wire, "81a474797065b0416c6c426c6f636b73436c6561726564");
    pack_hex(&wire, "91a46e6f6e65");
}

/* Every length but the whole one; then the whole one is taken. */
static void mp_01_truncations(void **state)
{
    (void)state;
    open_fed();
    write_all_kinds();
    for (size_t length = 0; length < wire.length; length++)
        refused(wire.bytes, length);
    (void)wire_feed(&fleet, A);
    assert_int_equal(wire_diag.accepted, 5);
    assert_int_equal(wire_diag.skipped, 1);
    assert_int_equal(wire_known(&fleet, A), 0);
    close_fed();
}

/* The same for a batch of many parts, which is not cut in an early one. */
static void mp_01_kind_large_truncations(void **state)
{
    (void)state;
    open_fed();
    wire_begin(100);
    for (uint64_t i = 0; i < 100; i++) {
        pack_array(&wire, 5);
        pack_str(&wire, "BlockStored");
        pack_range(&wire, 1000 * i, 20);
        pack_nil(&wire);
        pack_range(&wire, 1000 * i, 320);
        pack_uint(&wire, 16);
    }
    for (size_t length = 0; length < wire.length; length += 997)
        refused(wire.bytes, length);
    refused(wire.bytes, wire.length - 1);
    assert_int_equal(wire_feed(&fleet, A), LBROUTE_KV_APPLIED);
    assert_int_equal(wire_result.stored, 2000);
    close_fed();
}

/* ---- MP-03 ---- */

static void chain(const char *head, size_t times)
{
    clock_t begin;

    pack_reset(&wire);
    for (size_t i = 0; i < times; i++)
        pack_hex(&wire, head);
    begin = clock();
    assert_int_equal(wire_feed_bytes(&fleet, A, 1, wire.bytes, wire.length),
                     LBROUTE_ERR_FORMAT);
    assert_true(clock() - begin < CLOCKS_PER_SEC / 20);
    refused(wire.bytes, wire.length);
}

static void mp_03_many_heads(void **state)
{
    (void)state;
    open_fed();
    chain("dcffff", 24000);
    close_fed();
}

static void mp_03_kind_other_heads(void **state)
{
    (void)state;
    open_fed();
    chain("de7fff", 24000);
    chain("9f", 72000);
    chain("91", 72000);
    chain("8100", 36000);
    chain("81", 72000);
    chain("92cb3ff000000000000091", 8000);
    close_fed();
}

/* Many at the same depth, each of which ends the value before it too early. */
static void mp_03_kind_in_a_row(void **state)
{
    (void)state;
    open_fed();
    for (int deep = 0; deep < 2; deep++) {
        wire_begin(24000);
        for (int i = 0; i < 24000; i++)
            pack_hex(&wire, deep ? "919191919191919191919191919190" : "dcffff");
        clock_t begin = clock();
        assert_int_equal(wire_feed_bytes(&fleet, A, 1, wire.bytes, wire.length),
                         LBROUTE_ERR_FORMAT);
        assert_true(clock() - begin < CLOCKS_PER_SEC / 20);
        refused(wire.bytes, wire.length);
    }
    close_fed();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mp_01_five_bytes),
        cmocka_unit_test(mp_01_nested),
        cmocka_unit_test(mp_01_kind_places),
        cmocka_unit_test(mp_01_truncations),
        cmocka_unit_test(mp_01_kind_large_truncations),
        cmocka_unit_test(mp_03_many_heads),
        cmocka_unit_test(mp_03_kind_other_heads),
        cmocka_unit_test(mp_03_kind_in_a_row),
    };
    return cmocka_run_group_tests_name("mp", tests, NULL, NULL);
}
