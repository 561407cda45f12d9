/* SPDX-License-Identifier: MIT */
#include "replay/kv_cache.h"

#include "support/test.h"

enum { CAPACITY = 4, IDS = 16 };

static int make_cache(void **state)
{
    *state = kv_cache_create(CAPACITY, IDS);
    return 0;
}

static int free_cache(void **state)
{
    kv_cache_destroy(*state);
    return 0;
}

/* A request that computes all its blocks and ends at once. */
static void pass(struct kv_cache *cache, const uint32_t *ids, uint32_t count)
{
    uint32_t blocks[CAPACITY];
    uint32_t idle;
    uint32_t hits = kv_cache_match(cache, ids, count, &idle);

    kv_cache_reuse(cache, ids, hits, blocks);
    kv_cache_allocate(cache, count - hits, blocks + hits);
    for (uint32_t i = hits; i < count; i++)
        kv_cache_name(cache, blocks[i], ids[i]);
    kv_cache_release(cache, blocks, count);
}

static uint32_t matched(const struct kv_cache *cache, const uint32_t *ids,
                        uint32_t count)
{
    uint32_t idle;

    return kv_cache_match(cache, ids, count, &idle);
}

static void released_content_stays_findable(void **state)
{
    struct kv_cache *cache = *state;
    const uint32_t ids[] = {1, 2, 3};

    assert_int_equal(matched(cache, ids, 3), 0);
    pass(cache, ids, 3);
    assert_int_equal(matched(cache, ids, 3), 3);
    assert_int_equal(kv_cache_free(cache), CAPACITY);
}

static void only_a_leading_run_matches(void **state)
{
    struct kv_cache *cache = *state;
    const uint32_t stored[] = {1, 2, 3};
    const uint32_t asked[] = {1, 9, 3};

    pass(cache, stored, 3);
    assert_int_equal(matched(cache, asked, 3), 1);
    assert_int_equal(matched(cache, asked + 1, 2), 0);
}

static void a_chain_loses_its_tail_first(void **state)
{
    struct kv_cache *cache = *state;
    const uint32_t chain[] = {1, 2, 3};
    const uint32_t other[] = {4, 5};

    pass(cache, chain, 3);
    pass(cache, other, 2); /* One unused block, and the tail of the chain. */
    assert_int_equal(matched(cache, chain, 3), 2);
    assert_int_equal(matched(cache, other, 2), 2);
}

static void use_refreshes(void **state)
{
    struct kv_cache *cache = *state;
    const uint32_t first[] = {1, 2};
    const uint32_t second[] = {3, 4};
    const uint32_t third[] = {5, 6};

    pass(cache, first, 2);
    pass(cache, second, 2);
    pass(cache, first, 2);
    pass(cache, third, 2);
    assert_int_equal(matched(cache, first, 2), 2);
    assert_int_equal(matched(cache, second, 2), 0);
}

static void referenced_blocks_are_never_taken(void **state)
{
    struct kv_cache *cache = *state;
    const uint32_t held[] = {1, 2};
    const uint32_t other[] = {3, 4};
    uint32_t blocks[2];
    uint32_t idle;

    pass(cache, held, 2);
    kv_cache_reuse(cache, held, 2, blocks);
    assert_int_equal(kv_cache_free(cache), 2);
    pass(cache, other, 2);
    assert_int_equal(kv_cache_match(cache, held, 2, &idle), 2);
    assert_int_equal(idle, 0);
    kv_cache_release(cache, blocks, 2);
    assert_int_equal(kv_cache_match(cache, held, 2, &idle), 2);
    assert_int_equal(idle, 2);
}

static void a_shared_block_is_free_after_its_last_user(void **state)
{
    struct kv_cache *cache = *state;
    const uint32_t ids[] = {7};
    uint32_t first[1];
    uint32_t second[1];

    pass(cache, ids, 1);
    kv_cache_reuse(cache, ids, 1, first);
    kv_cache_reuse(cache, ids, 1, second);
    assert_int_equal(first[0], second[0]);
    kv_cache_release(cache, first, 1);
    assert_int_equal(kv_cache_free(cache), CAPACITY - 1);
    kv_cache_release(cache, second, 1);
    assert_int_equal(kv_cache_free(cache), CAPACITY);
}

static void a_second_copy_outlives_the_first(void **state)
{
    struct kv_cache *cache = *state;
    const uint32_t id[] = {7};
    const uint32_t others[] = {1, 2, 3};
    uint32_t copies[2];

    kv_cache_allocate(cache, 2, copies);
    kv_cache_name(cache, copies[0], 7);
    kv_cache_name(cache, copies[1], 7);
    kv_cache_release(cache, &copies[0], 1);
    pass(cache, others, 3);
    assert_int_equal(matched(cache, id, 1), 1);
    kv_cache_release(cache, &copies[1], 1);
    pass(cache, others, 3);
    assert_int_equal(matched(cache, id, 1), 1);
}

static void a_block_keeps_its_first_id(void **state)
{
    struct kv_cache *cache = *state;
    uint32_t block[1];

    kv_cache_allocate(cache, 1, block);
    kv_cache_name(cache, block[0], 3);
    kv_cache_name(cache, block[0], 4);
    assert_true(kv_cache_has(cache, 3));
    assert_false(kv_cache_has(cache, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(released_content_stays_findable,
                                        make_cache, free_cache),
        cmocka_unit_test_setup_teardown(only_a_leading_run_matches, make_cache,
                                        free_cache),
        cmocka_unit_test_setup_teardown(a_chain_loses_its_tail_first,
                                        make_cache, free_cache),
        cmocka_unit_test_setup_teardown(use_refreshes, make_cache, free_cache),
        cmocka_unit_test_setup_teardown(referenced_blocks_are_never_taken,
                                        make_cache, free_cache),
        cmocka_unit_test_setup_teardown(
            a_shared_block_is_free_after_its_last_user, make_cache, free_cache),
        cmocka_unit_test_setup_teardown(a_second_copy_outlives_the_first,
                                        make_cache, free_cache),
        cmocka_unit_test_setup_teardown(a_block_keeps_its_first_id, make_cache,
                                        free_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
