/* SPDX-License-Identifier: MIT */
/* Numbers of blocks: equal content under one adapter has one number, as long as
 * a request uses it or the cache holds it. */
#include "mock-engine/block_table.h"

#include "support/test.h"

enum { BLOCK = 2 };

static const uint32_t text[] = {1, 2, 3, 4, 5, 6};
static const uint32_t fork[] = {1, 2, 9, 4, 5, 6};

static void prefixes_share_numbers(void **state)
{
    struct block_table *table = block_table_create(16, BLOCK);
    uint32_t a[3];
    uint32_t b[3];
    uint32_t c[3];

    (void)state;
    assert_true(block_table_use(table, 0, text, 3, a));
    assert_true(block_table_use(table, 0, fork, 3, b));
    assert_true(block_table_use(table, 1, text, 3, c));
    assert_int_equal(a[0], b[0]);
    assert_int_not_equal(a[1], b[1]);
    /* The same tokens behind others are another content. */
    assert_int_not_equal(a[2], b[2]);
    assert_int_not_equal(a[0], c[0]);
    assert_int_equal(block_table_count(table), 3 + 2 + 3);
    assert_memory_equal(block_table_tokens(table, b[1]), fork + 2,
                        BLOCK * sizeof *fork);
    block_table_destroy(table);
}

static void unused_numbers_come_back(void **state)
{
    struct block_table *table = block_table_create(3, BLOCK);
    uint32_t a[3];
    uint32_t b[3];

    (void)state;
    assert_true(block_table_use(table, 0, text, 3, a));
    assert_false(block_table_use(table, 0, fork, 3, b));
    block_table_drop(table, a, 3);
    assert_int_equal(block_table_count(table), 3);
    block_table_settle(table);
    assert_int_equal(block_table_count(table), 0);
    assert_true(block_table_use(table, 0, fork, 3, b));
    assert_int_equal(block_table_count(table), 3);
    block_table_destroy(table);
}

/* Two copies, of which one goes; dropped and removed before one settling. */
static void cached_numbers_stay(void **state)
{
    struct block_table *table = block_table_create(3, BLOCK);
    uint32_t a[3];
    uint32_t b[3];

    (void)state;
    assert_true(block_table_use(table, 0, text, 3, a));
    block_table_stored(table, a[0]);
    block_table_stored(table, a[0]);
    block_table_drop(table, a, 3);
    block_table_removed(table, a[0]);
    block_table_settle(table);
    assert_int_equal(block_table_count(table), 1);
    assert_true(block_table_use(table, 0, text, 1, b));
    assert_int_equal(b[0], a[0]);
    block_table_drop(table, b, 1);
    block_table_removed(table, a[0]);
    block_table_settle(table);
    assert_int_equal(block_table_count(table), 0);
    block_table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes_share_numbers),
        cmocka_unit_test(unused_numbers_come_back),
        cmocka_unit_test(cached_numbers_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
