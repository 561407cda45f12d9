/* SPDX-License-Identifier: MIT */
/* models/prefix_trie_shares by hand, and heads that requests have in common. */
#include "models/prefix_trie_shares.h"

#include <string.h>

#include "heap.h"
#include "support/test.h"

#define OWNERS 2
#define WHOLE 16 /* blocks of the prompts of common heads */

struct table {
    struct unit_heap heap;
    struct lbr_shared_trie shared;
    struct lbr_shared_owner owners[OWNERS];
    struct lbr_share_rules rules;
    uint64_t now;
};

static struct table table;

static void open_table(uint64_t capacity)
{
    const struct lbr_share_rules rules = {capacity, 1000, 64};

    memset(&table, 0, sizeof table);
    unit_heap_open(&table.heap);
    lbr_shared_init(&table.shared, &table.heap.memory, 5, 1);
    for (uint32_t i = 0; i < OWNERS; i++)
        lbr_shared_owner_init(&table.owners[i], i + 1);
    table.rules = rules;
}

static void close_table(void)
{
    for (size_t i = 0; i < OWNERS; i++)
        lbr_shared_purge(&table.shared, &table.owners[i]);
    lbr_shared_destroy(&table.shared);
    unit_heap_close(&table.heap);
}

static struct lbr_trie_match find(const uint64_t *blocks, size_t count)
{
    return lbr_trie_find(&table.shared.trie, 0, blocks, 8 * count);
}

static void record(size_t owner, uint64_t client, const uint64_t *blocks,
                   size_t count)
{
    lbr_shared_record(&table.shared, find(blocks, count), 0, blocks, 8 * count,
                      &table.owners[owner], client, table.now, &table.rules);
}

static size_t held(size_t owner, const uint64_t *blocks, size_t count)
{
    return lbr_trie_held(&table.shared.trie, find(blocks, count),
                         &table.owners[owner].owner) /
           8;
}

/* ---- common heads ---- */

/* |head| blocks that all have, and then blocks that only |own| decides. */
static void fill(uint64_t blocks[WHOLE], size_t head, uint64_t own)
{
    for (size_t i = 0; i < WHOLE; i++)
        blocks[i] = i < head ? i + 1 : 1000 * own + i;
}

/* Requests that have the first |head| blocks in common with others. */
static void send(size_t requests, size_t head, uint64_t from)
{
    uint64_t blocks[WHOLE];

    for (size_t i = 0; i < requests; i++) {
        fill(blocks, head, from + i);
        record(i % OWNERS, 1, blocks, WHOLE);
    }
}

/* Blocks of a new request with |head| of them that count as common. */
static size_t common(size_t head, double part)
{
    uint64_t blocks[WHOLE];

    fill(blocks, head, 999999);
    return lbr_trie_common_head(&table.shared.trie, find(blocks, WHOLE),
                                8 * WHOLE, part) /
           8;
}

/* 64 of an epoch's 128 are half of them; 63 are not. */
static void part_of_an_epoch(void **state)
{
    (void)state;
    for (size_t some = 63; some <= 65; some++) {
        open_table(100000);
        send(some, 4, 1);
        send(LBR_TRIE_EPOCH - some, 0, 1000);
        assert_int_equal(common(WHOLE, 0.5), some >= 64 ? 4 : 0);
        assert_int_equal(common(WHOLE, 65.0 / 128), some >= 65 ? 4 : 0);
        close_table();
    }
}

/* Only the last complete epoch counts. */
static void epochs(void **state)
{
    (void)state;
    open_table(100000);
    send(LBR_TRIE_EPOCH - 1, 4, 1);
    assert_int_equal(common(WHOLE, 0.5), 0);
    send(1, 4, 500);
    assert_int_equal(common(WHOLE, 0.9), 4);
    assert_int_equal(common(WHOLE, 1), 4);
    assert_int_equal(common(WHOLE, 2), 0);
    send(LBR_TRIE_EPOCH - 1, 0, 1000);
    assert_int_equal(common(WHOLE, 0.9), 4);
    send(1, 0, 2000);
    assert_int_equal(common(WHOLE, 0.5), 0);
    send(3 * LBR_TRIE_EPOCH, 0, 3000);
    assert_int_equal(common(WHOLE, 0.5), 0);
    close_table();
}

/* Of a head that only some share the part counts that enough do. */
static void heads_of_heads(void **state)
{
    uint64_t blocks[WHOLE];
    (void)state;

    open_table(100000);
    send(64, 8, 1);
    send(64, 3, 1000);
    assert_int_equal(common(WHOLE, 0.5), 8);
    assert_int_equal(common(WHOLE, 0.9), 3);
    assert_int_equal(common(5, 0.5), 5);
    assert_int_equal(common(2, 0.9), 2);
    /* A prompt that is known as a whole is no head. */
    fill(blocks, 8, 1);
    assert_int_equal(lbr_trie_common_head(&table.shared.trie,
                                          find(blocks, WHOLE), 8 * WHOLE, 0.5),
                     0);
    assert_int_equal(
        lbr_trie_common_head(&table.shared.trie, find(blocks, 3), 24, 0.5), 0);
    close_table();
}

/* A split gives both parts the uses of the whole; where the parts are joined
 * again, those of the lower are what is certain. */
static void heads_after_splits_and_joins(void **state)
{
    uint64_t blocks[WHOLE];
    (void)state;

    open_table(100000);
    fill(blocks, WHOLE, 0);
    for (size_t i = 0; i < LBR_TRIE_EPOCH; i++)
        record(0, 1, blocks, WHOLE);
    assert_int_equal(common(10, 0.9), 10);
    assert_int_equal(common(4, 0.9), 4);
    fill(blocks, 10, 1);
    record(1, 2, blocks, WHOLE);
    assert_int_equal(table.shared.trie.nodes.live, 3);
    assert_int_equal(common(10, 0.9), 10);
    assert_int_equal(common(12, 0.9), 12);
    lbr_shared_purge(&table.shared, &table.owners[1]);
    assert_int_equal(table.shared.trie.nodes.live, 1);
    assert_int_equal(common(12, 0.9), 12);
    close_table();
}

/* ---- claims ---- */

/* What was split for one client is one run again when another claims all of it,
 * or gives up the part that it had. */
static void claims_join_runs(void **state)
{
    uint64_t blocks[WHOLE];
    (void)state;

    open_table(WHOLE);
    fill(blocks, WHOLE, 0);
    record(0, 1, blocks, WHOLE);
    record(0, 2, blocks, 6);
    assert_int_equal(table.shared.trie.nodes.live, 2);
    record(0, 2, blocks, WHOLE);
    assert_int_equal(table.shared.trie.nodes.live, 1);
    record(0, 3, blocks, 6);
    assert_int_equal(table.shared.trie.nodes.live, 2);
    assert_int_equal(table.shared.claims.live, 5);
    table.now = 2000;
    table.rules.capacity = WHOLE - 1;
    record(0, 1, blocks, WHOLE);
    assert_int_equal(held(0, blocks, WHOLE), WHOLE - 1);
    assert_int_equal(table.owners[0].account_count, 1);
    assert_int_equal(table.shared.trie.nodes.live, 1);
    close_table();
}

/* One block behind each of |count| others, all shared by |clients|. */
static void claim_all(uint64_t clients, uint64_t count)
{
    for (uint64_t client = 1; client <= clients; client++)
        for (uint64_t i = 1; i <= count; i++)
            record(0, client, &i, 1);
}

/* Many clients that use the same blocks reach the bound on claims: whoever then
 * comes is still remembered, and the bound holds. */
static void claims_are_bounded(void **state)
{
    enum { CAPACITY = 500, CLIENTS = 40, SHARED = 100, BOUND = 4 * 500 + 1024 };
    uint64_t blocks[SHARED];
    (void)state;

    open_table(CAPACITY);
    claim_all(CLIENTS, SHARED);
    assert_true(table.owners[0].claims > BOUND);
    assert_true(table.owners[0].claims <= 2 * BOUND);
    assert_true(table.owners[0].claims < CLIENTS * SHARED);
    assert_int_equal(table.owners[0].blocks, SHARED);
    /* Own prompts, up to the newcomer's part of the claims. */
    for (uint64_t i = 0; i < 50; i++) {
        uint64_t own = 100000 + i;
        record(0, 63, &own, 1);
        assert_int_equal(held(0, &own, 1), 1);
        assert_true(table.owners[0].claims <= 2 * BOUND);
    }
    /* Whoever has more than its part trades its oldest for what is new. */
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t own = 200000 + i;
        record(0, 1, &own, 1);
        assert_int_equal(held(0, &own, 1), 1);
        assert_true(table.owners[0].claims <= 2 * BOUND);
    }
    /* Splits stop at twice the bound. */
    for (size_t i = 0; i < SHARED; i++)
        blocks[i] = 300000 + i;
    for (uint64_t client = 1; client <= CLIENTS; client++)
        record(0, client, blocks, SHARED);
    for (size_t i = SHARED; i > 0; i--) {
        record(0, 1, blocks, i);
        assert_true(table.owners[0].claims <= 2 * BOUND);
    }
    close_table();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(part_of_an_epoch),
        cmocka_unit_test(epochs),
        cmocka_unit_test(heads_of_heads),
        cmocka_unit_test(heads_after_splits_and_joins),
        cmocka_unit_test(claims_join_runs),
        cmocka_unit_test(claims_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
