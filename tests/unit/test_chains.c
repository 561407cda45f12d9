/* SPDX-License-Identifier: MIT */
/* policy/chains: the keys of a prompt, against a walk token by token. */
#include "policy/chains.h"

#include <stdlib.h>
#include <string.h>

#include "base/blocks.h"
#include "base/hash.h"
#include "policy/pick.h"
#include "support/alloc.h"
#include "support/rng.h"
#include "support/test.h"

#define TOKENS 3000

struct fixture {
    struct test_alloc alloc;
    lbroute_router *router;
    lbroute_request request;
    uint32_t tokens[TOKENS];
    lbroute_mm_item items[40];
    struct lbr_ask ask;
    uint64_t near[LBR_NEAR_KEYS];
};

static int set_up(void **state)
{
    static struct fixture fixture;
    struct test_rng rng = {1};
    lbroute_router_options options;

    memset(&fixture, 0, sizeof fixture);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    test_alloc_init(&fixture.alloc);
    test_alloc_hook(&fixture.alloc, &options.allocator);
    assert_int_equal(lbroute_router_create(&options, &fixture.router), 0);
    lbroute_request_init(&fixture.request, sizeof fixture.request);
    for (size_t i = 0; i < TOKENS; i++)
        fixture.tokens[i] = (uint32_t)test_rng_next(&rng);
    fixture.request.tokens = fixture.tokens;
    fixture.request.tokens_len = TOKENS;
    fixture.request.mm_items = fixture.items;
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    lbr_chains_release(fixture->router, &fixture->ask);
    lbroute_router_destroy(fixture->router);
    assert_int_equal(fixture->alloc.live_blocks, 0);
    return 0;
}

static uint64_t sizes_of(const uint32_t *sizes, size_t count)
{
    uint64_t all = 0;

    for (size_t i = 0; i < count; i++)
        all = lbr_kv_sizes_add(all, sizes[i]);
    return all;
}

static void make(struct fixture *fixture, uint64_t wanted)
{
    fixture->ask.request = &fixture->request;
    fixture->ask.chains.near = fixture->near;
    fixture->ask.chains.wanted = wanted;
    lbr_chains_make(fixture->router, &fixture->ask);
    assert_true(fixture->ask.chains.sizes == wanted);
}

/* ---- the naive walk ---- */

static int overlaps(const lbroute_mm_item *item, uint64_t begin, uint64_t size)
{
    for (uint64_t token = begin; token < begin + size; token++)
        if (token >= item->begin && token < item->begin + item->count)
            return 1;
    return 0;
}

static uint64_t extra_of(const struct fixture *fixture, uint64_t block,
                         uint32_t size)
{
    const lbroute_request *request = &fixture->request;
    uint64_t extra = 0;

    for (size_t i = 0; size && i < request->mm_item_count; i++)
        if (overlaps(&fixture->items[i], block * size, size))
            extra = lbroute_kv_fold_key(extra, fixture->items[i].id,
                                        fixture->items[i].id_len);
    if (!block && request->salt_len)
        extra = lbroute_kv_fold_key(extra, request->salt, request->salt_len);
    return extra;
}

static uint64_t hash_of(const struct fixture *fixture, uint64_t block,
                        uint32_t size)
{
    uint64_t hash;
    size_t count;

    if (!size)
        return fixture->request.blocks[block];
    assert_int_equal(lbroute_hash_blocks(fixture->tokens + block * size, size,
                                         sizeof *fixture->tokens, size, &hash,
                                         1, &count),
                     0);
    return hash;
}

/* The first |count| keys of a row. */
static void check_row(const struct fixture *fixture, unsigned which,
                      uint32_t size, uint32_t total, uint32_t count)
{
    const struct lbr_chain *row = &fixture->ask.chains.rows[which];
    uint64_t key =
        lbr_block_root(fixture->router->kv_secret, fixture->request.adapter,
                       fixture->request.adapter_len);

    assert_int_equal(row->block_size, size);
    assert_int_equal(row->total, total);
    assert_int_equal(row->count, count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t content = lbr_block_content(hash_of(fixture, i, size),
                                             extra_of(fixture, i, size));

        key = lbr_kv_key_after(key, content);
        assert_true(row->keys[i] == key);
    }
}

static void check_whole(const struct fixture *fixture, unsigned which,
                        uint32_t size)
{
    uint32_t total = (uint32_t)fixture->request.tokens_len / size;

    check_row(fixture, which, size, total, total);
}

/* ---- rows ---- */

static void a_row_for_each_size(void **state)
{
    static const uint32_t sizes[] = {64, 16, 1000, 128};
    static const uint32_t sorted[] = {16, 64, 128, 1000};
    struct fixture *fixture = *state;

    for (size_t count = 1; count <= 4; count++) {
        make(fixture, sizes_of(sizes, count));
        assert_int_equal(fixture->ask.chains.count, count);
    }
    for (unsigned i = 0; i < 4; i++)
        check_whole(fixture, i, sorted[i]);
}

/* Complete blocks only. */
static void prompts_around_a_block(void **state)
{
    struct fixture *fixture = *state;
    uint32_t size = 16;

    for (size_t length = 0; length <= 50; length++) {
        fixture->request.tokens_len = length;
        make(fixture, sizes_of(&size, 1));
        assert_int_equal(fixture->ask.chains.count, length != 0);
        if (length)
            check_whole(fixture, 0, size);
    }
}

/* One row, whatever the sizes. */
static void hashes_are_taken_as_they_are(void **state)
{
    static const uint32_t sizes[] = {16, 64};
    uint64_t blocks[40];
    struct fixture *fixture = *state;

    for (uint64_t i = 0; i < 40; i++)
        blocks[i] = i * i;
    fixture->request.blocks = blocks;
    fixture->request.blocks_len = 40;
    fixture->request.salt = "s";
    fixture->request.salt_len = 1;
    make(fixture, sizes_of(sizes, 2));
    assert_int_equal(fixture->ask.chains.count, 1);
    check_row(fixture, 0, 0, 40, 40);
}

/* ---- what else tells prompts apart ---- */

static void the_salt_counts_in_the_first_block(void **state)
{
    uint32_t size = 16;
    struct fixture *fixture = *state;
    uint64_t plain[2];

    make(fixture, sizes_of(&size, 1));
    memcpy(plain, fixture->ask.chains.rows[0].keys, sizeof plain);
    fixture->request.salt = "salt";
    fixture->request.salt_len = 4;
    make(fixture, sizes_of(&size, 1));
    check_whole(fixture, 0, size);
    assert_true(plain[0] != fixture->ask.chains.rows[0].keys[0]);
    assert_true(plain[1] != fixture->ask.chains.rows[0].keys[1]);
}

static void the_adapter_counts(void **state)
{
    uint32_t size = 16;
    struct fixture *fixture = *state;
    uint64_t plain;

    make(fixture, sizes_of(&size, 1));
    plain = fixture->ask.chains.rows[0].keys[0];
    fixture->request.adapter = "lora";
    fixture->request.adapter_len = 4;
    make(fixture, sizes_of(&size, 1));
    check_whole(fixture, 0, size);
    assert_true(plain != fixture->ask.chains.rows[0].keys[0]);
}

static void add_item(struct fixture *fixture, const char *id, uint64_t begin,
                     uint64_t count)
{
    lbroute_mm_item *item = &fixture->items[fixture->request.mm_item_count++];

    item->id = id;
    item->id_len = strlen(id);
    item->begin = begin;
    item->count = count;
}

/* One token before, at and after each edge of a block. */
static void items_at_the_edges_of_blocks(void **state)
{
    static const uint32_t sizes[] = {16, 48};
    struct fixture *fixture = *state;

    fixture->request.tokens_len = 200;
    for (uint64_t begin = 14; begin <= 50; begin++)
        for (uint64_t end = begin + 1; end <= 66; end++) {
            fixture->request.mm_item_count = 0;
            add_item(fixture, "image", begin, end - begin);
            make(fixture, sizes_of(sizes, 2));
            check_whole(fixture, 0, 16);
            check_whole(fixture, 1, 48);
        }
}

static void many_items_and_a_salt(void **state)
{
    static const char *const ids[] = {"a", "b", "c", "image", "sound"};
    static const uint32_t sizes[] = {16, 64, 100};
    struct fixture *fixture = *state;

    fixture->request.salt = "salt";
    fixture->request.salt_len = 4;
    fixture->request.tokens_len = 1000;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct test_rng rng = {seed};
        uint64_t begin = 0;

        fixture->request.mm_item_count = 0;
        for (uint64_t i = test_rng_below(&rng, 30); i; i--) {
            begin += test_rng_below(&rng, 60); /* they may overlap */
            add_item(fixture, ids[test_rng_below(&rng, 5)], begin,
                     1 + test_rng_below(&rng, 100));
        }
        make(fixture, sizes_of(sizes, 3));
        for (unsigned i = 0; i < 3; i++)
            check_whole(fixture, i, sizes[i]);
    }
}

/* Ends of items are never computed beyond what there is. */
static void items_without_end(void **state)
{
    uint32_t size = 16;
    struct fixture *fixture = *state;

    fixture->request.tokens_len = 64;
    add_item(fixture, "a", 20, UINT64_MAX - 20);
    add_item(fixture, "b", UINT64_MAX - 1, 1);
    make(fixture, sizes_of(&size, 1));
    fixture->items[0].count = 1000; /* for the naive walk the same */
    check_whole(fixture, 0, size);
}

/* ---- room ---- */

/* Beyond the caller's space the router's is used, and given back. */
/* What an item is called is read once: 32 MiB for each of 65,536 blocks would
 * take longer than any test may. */
static void a_long_id_over_many_blocks(void **state)
{
    struct fixture *fixture = *state;
    size_t length = (size_t)32 << 20;
    char *id = calloc(1, length);
    uint32_t *tokens = calloc(1 << 20, sizeof *tokens);

    assert_true(id && tokens);
    fixture->request.tokens = tokens;
    fixture->request.tokens_len = 1 << 20;
    fixture->items[0].id = id;
    fixture->items[0].id_len = length;
    fixture->items[0].begin = 0;
    fixture->items[0].count = 1 << 20;
    fixture->request.mm_item_count = 1;
    make(fixture, lbr_kv_sizes_add(0, 16));
    assert_int_equal(fixture->ask.chains.rows[0].count, 65536);
    assert_true(
        fixture->ask.chains.rows[0].keys[0] ==
        lbr_kv_key_after(lbr_block_root(fixture->router->kv_secret, NULL, 0),
                         lbr_block_content(lbr_hash(tokens, 64),
                                           lbr_block_fold(0, id, length))));
    free(tokens);
    free(id);
}

static void long_prompts(void **state)
{
    static const uint32_t sizes[] = {1, 2, 16};
    struct fixture *fixture = *state;

    make(fixture, sizes_of(sizes, 3));
    assert_non_null(fixture->ask.chains.scratch);
    for (unsigned i = 0; i < 3; i++)
        check_whole(fixture, i, sizes[i]);
    make(fixture, sizes_of(sizes + 2, 1)); /* what is there suffices */
    check_whole(fixture, 0, 16);
    lbr_chains_release(fixture->router, &fixture->ask);
    assert_null(fixture->ask.chains.scratch);
    make(fixture, sizes_of(sizes + 2, 1));
    assert_null(fixture->ask.chains.scratch);
    make(fixture, sizes_of(sizes + 1, 1));
    make(fixture, sizes_of(sizes, 3)); /* needs more */
    for (unsigned i = 0; i < 3; i++)
        check_whole(fixture, i, sizes[i]);
}

/* The heads of the first rows are kept, and where the prompts would end. */
static void long_prompts_without_memory(void **state)
{
    static const uint32_t sizes[] = {16, 32, 64};
    struct fixture *fixture = *state;

    test_alloc_fail(&fixture->alloc, 0, 1);
    make(fixture, sizes_of(sizes, 3));
    assert_int_equal(fixture->alloc.failures, 1);
    check_row(fixture, 0, 16, 187, 187);
    check_row(fixture, 1, 32, 93, LBR_NEAR_KEYS - 187);
    check_row(fixture, 2, 64, 46, 0);
}

/* Of a very long one the head is looked for. */
static void the_longest_rows(void **state)
{
    static uint64_t blocks[65536 + 10];
    struct fixture *fixture = *state;

    for (uint64_t i = 0; i < 65536 + 10; i++)
        blocks[i] = i;
    fixture->request.blocks = blocks;
    for (size_t length = 65535; length <= 65536 + 10; length += 5) {
        uint32_t most = length < 65536 ? (uint32_t)length : 65536;

        fixture->request.blocks_len = length;
        make(fixture, lbr_kv_sizes_add(0, 16));
        check_row(fixture, 0, 0, most, most);
    }
}

#define CHAINS_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAINS_TEST(a_row_for_each_size),
        CHAINS_TEST(prompts_around_a_block),
        CHAINS_TEST(hashes_are_taken_as_they_are),
        CHAINS_TEST(the_salt_counts_in_the_first_block),
        CHAINS_TEST(the_adapter_counts),
        CHAINS_TEST(items_at_the_edges_of_blocks),
        CHAINS_TEST(many_items_and_a_salt),
        CHAINS_TEST(items_without_end),
        CHAINS_TEST(a_long_id_over_many_blocks),
        CHAINS_TEST(long_prompts),
        CHAINS_TEST(long_prompts_without_memory),
        CHAINS_TEST(the_longest_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
