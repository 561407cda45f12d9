/* SPDX-License-Identifier: MIT */
/*
 * What gateways tell each other: the header of a message byte by byte, how old
 * it counts as, who was heard; and the key that all share.
 */
#include "cluster_message.h"
#include "cluster_peers.h"
#include "digest_key.h"

#include "support/test.h"

#include <stdlib.h>
#include <string.h>

/* As cluster_message.h draws it. */
static const uint8_t GOOD[CLUSTER_HEADER_BYTES] = {
    'l', 'b', 'r', 'c', 'l', 'u', 's', 1, 8, 7, 6, 5, 4, 3, 2, 1};

static void test_header(void **state)
{
    uint8_t again[CLUSTER_HEADER_BYTES];
    uint64_t written = 0;

    (void)state;
    assert_null(cluster_header_read(GOOD, sizeof GOOD, &written));
    assert_true(written == UINT64_C(0x0102030405060708));
    cluster_header_write(written, again);
    assert_memory_equal(again, GOOD, sizeof GOOD);
}

/* Each in memory of just that length, so that a sanitizer sees one byte too
 * many. */
static void test_every_truncation(void **state)
{
    (void)state;
    for (size_t len = 0; len < sizeof GOOD; len++) {
        uint8_t *bytes = malloc(len + (len == 0));
        uint64_t written = 7;

        assert_non_null(bytes);
        memcpy(bytes, GOOD, len);
        assert_non_null(cluster_header_read(bytes, len, &written));
        assert_true(written == 7);
        free(bytes);
    }
}

static void test_every_other_byte_of_the_mark(void **state)
{
    (void)state;
    for (int at = 0; at < 8; at++)
        for (int byte = 0; byte < 256; byte++) {
            uint8_t bytes[CLUSTER_HEADER_BYTES];
            uint64_t written;

            memcpy(bytes, GOOD, sizeof bytes);
            bytes[at] = (uint8_t)byte;
            assert_int_equal(
                cluster_header_read(bytes, sizeof bytes, &written) == NULL,
                byte == GOOD[at]);
        }
}

static void test_age(void **state)
{
    (void)state;
    assert_true(cluster_message_age(100, 100, 50) == 0);
    assert_true(cluster_message_age(100, 130, 50) == 30);
    assert_true(cluster_message_age(100, 150, 50) == 50);
    assert_true(cluster_message_age(100, 151, 50) == 0);
    assert_true(cluster_message_age(101, 100, 50) == 0);
    assert_true(cluster_message_age(UINT64_MAX, 0, UINT64_MAX) == 0);
    assert_true(cluster_message_age(0, UINT64_MAX, 50) == 0);
}

static struct cluster_peer *note(struct cluster_peers *peers, uint64_t origin,
                                 uint64_t sequence, uint64_t now, bool expected)
{
    lbroute_delta_result result;
    struct cluster_peer *peer;
    bool fresh;

    lbroute_delta_result_init(&result, sizeof result);
    result.origin = origin;
    result.sequence = sequence;
    result.same_key = 1;
    result.targets_unknown = (uint32_t)sequence;
    peer = cluster_peers_note(peers, &result, now, &fresh);
    assert_int_equal(fresh, expected);
    assert_true(peer->origin == origin && peer->heard_ns == now);
    assert_true(peer->same_key);
    assert_int_equal(peer->targets_unknown, sequence);
    return peer;
}

static void test_sequences(void **state)
{
    struct cluster_peers peers = {0};
    struct cluster_peer *peer = note(&peers, 5, 100, 1, true);

    (void)state;
    assert_int_equal(peer->missing, 0); /* Nobody knows what was before. */
    assert_ptr_equal(note(&peers, 5, 101, 2, false), peer);
    assert_int_equal(peer->missing, 0);
    note(&peers, 5, 105, 3, false);
    assert_int_equal(peer->missing, 3);
    note(&peers, 5, 103, 4, false); /* Late. */
    note(&peers, 5, 106, 5, false);
    assert_int_equal(peer->missing, 3);
    assert_int_equal(peer->received, 5);
    note(&peers, 6, 1, 6, true);
    note(&peers, 6, 3, 7, false);
    assert_int_equal(peers.missing, 4);
}

static void test_the_silent_make_room(void **state)
{
    struct cluster_peers peers = {0};

    (void)state;
    for (uint64_t i = 1; i <= CLUSTER_PEERS_MAX; i++)
        note(&peers, i, 1, 100 + i, true);
    note(&peers, 1, 2, 1000, false);
    note(&peers, 777, 1, 1001, true); /* In place of 2. */
    note(&peers, 1, 3, 1002, false);
    note(&peers, 3, 2, 1003, false);
    note(&peers, 2, 2, 1004, true);
    note(&peers, 4, 2, 1005, true);
    note(&peers, 777, 2, 1006, false);
}

static void test_keys(void **state)
{
    static const uint8_t wanted[DIGEST_KEY_BYTES] = {
        0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
        0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0xEF, 0xff};
    static const char *const bad[] = {
        "",
        "0",
        "000102030405060708090a0b0c0dEFf",
        "000102030405060708090a0b0c0dEFff0",
        "000102030405060708090a0b0c0dEFfg",
        "000102030405060708090a0b0c0dEF f",
        "0x0102030405060708090a0b0c0dEFff",
        "00000000000000000000000000000000",
    };
    uint8_t key[DIGEST_KEY_BYTES];

    (void)state;
    assert_true(digest_key_read("000102030405060708090a0b0c0dEFff", key));
    assert_memory_equal(key, wanted, sizeof key);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(digest_key_read(bad[i], key));
        assert_memory_equal(key, wanted, sizeof key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_other_byte_of_the_mark),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_the_silent_make_room),
        cmocka_unit_test(test_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
