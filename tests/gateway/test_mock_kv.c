/* SPDX-License-Identifier: MIT */
/* What a mock engine says of its cache by KV events is what it does: the router
 * that hears them knows beforehand how much of each prompt is cached. */
#include "mock_scene.h"

#include "support/rng.h"
#include "support/test.h"

enum { BLOCK = 16, FAMILIES = 6, PROMPT_MAX = 400, ROUNDS = 300 };

/* A prompt of one of a few families, which agree up to the shorter one's end.
 * Five tokens stand behind the last full block, so that the engine may take all
 * full ones from its cache. */
static size_t draw_prompt(struct test_rng *rng, uint32_t *tokens)
{
    uint32_t family = (uint32_t)test_rng_below(rng, FAMILIES);
    size_t count = (size_t)test_rng_below(rng, 20) * BLOCK + 5;

    for (uint32_t i = 0; i < count; i++)
        tokens[i] = 1000 * (family + 1) + i;
    return count;
}

/* 48 blocks: what is not asked for is soon evicted. */
static const char *const small_array[] = {"--cache-tokens=768", "--speed=10000",
                                          NULL};
static const char *const small_map[] = {"--cache-tokens=768", "--speed=10000",
                                        "--kv-form=map", NULL};
static const char *const with_adapters[] = {
    "--cache-tokens=768", "--speed=10000", "--lora=sql", "--lora=law", NULL};
static const char *const short_ring[] = {"--kv-kept=4", "--speed=10000", NULL};

static void check_one(struct scene *scene, struct test_rng *rng,
                      const char *model, const char *adapter)
{
    uint32_t tokens[PROMPT_MAX];
    size_t count = draw_prompt(rng, tokens);
    int64_t known = scene_resident(scene, adapter, tokens, count);
    int64_t cached = scene_ask(scene, model, tokens, count,
                               1 + (unsigned)test_rng_below(rng, 40));

    assert_int_equal(cached, known * BLOCK);
}

static void check_rounds(const char *const *options, size_t models)
{
    static const char *const names[] = {"mock-model", "sql", "law"};
    static const char *const adapters[] = {"", "sql", "law"};
    struct test_rng rng = {7};
    struct scene scene;

    scene_open(&scene, options);
    for (int i = 0; i < ROUNDS; i++) {
        size_t which = (size_t)test_rng_below(&rng, models);

        check_one(&scene, &rng, names[which], adapters[which]);
    }
    assert_int_equal(scene.diag.broken, 0);
    assert_int_equal(scene.diag.skipped, 0);
    assert_true(scene.mock.counts.cached_tokens > 0);
    scene_close(&scene);
}

static void arrays_tell_all(void **state)
{
    (void)state;
    check_rounds(small_array, 1);
}

static void maps_tell_all(void **state)
{
    (void)state;
    check_rounds(small_map, 1);
}

static void adapters_are_told_apart(void **state)
{
    (void)state;
    check_rounds(with_adapters, 3);
}

static void fill(uint32_t *tokens, size_t count, uint32_t first)
{
    for (uint32_t i = 0; i < count; i++)
        tokens[i] = first + i;
}

/* Three batches get lost; the next one shows it, and a replay brings them. */
static void what_is_lost_can_be_asked_for(void **state)
{
    uint32_t tokens[2 * BLOCK + 1];
    uint64_t first = 0;
    uint64_t last = 0;
    struct scene scene;
    uint64_t before;

    (void)state;
    scene_open(&scene, small_array);
    before = kv_publisher_next(scene.mock.journal.publisher);
    scene.mock.faults.drop_kv_events = 3;
    mock_apply_faults(&scene.mock);
    for (uint32_t i = 0; i < 3; i++) {
        fill(tokens, 2 * BLOCK + 1, 5000 + 100 * i);
        scene_ask(&scene, "mock-model", tokens, 2 * BLOCK + 1, 1);
    }
    scene.mock.faults.drop_kv_events = 0;
    fill(tokens, 2 * BLOCK + 1, 9000);
    scene_ask(&scene, "mock-model", tokens, 2 * BLOCK + 1, 1);
    assert_int_equal(scene.result.outcome, LBROUTE_KV_GAP);
    assert_int_equal(scene.result.missing, 3);
    assert_int_equal(lbroute_kv_missing(scene.fleet.router,
                                        scene.fleet.targets[0], 0, &first,
                                        &last),
                     LBROUTE_OK);
    assert_int_equal(first, before);
    assert_int_equal(scene_replay(&scene, first), 4);
    assert_int_equal(scene.result.outcome, LBROUTE_KV_REPLAY_END);
    assert_int_equal(scene.result.state, LBROUTE_KV_SOURCE_FRESH);
    fill(tokens, 2 * BLOCK + 1, 5100);
    assert_int_equal(scene_resident(&scene, "", tokens, 2 * BLOCK + 1), 2);
    scene_close(&scene);
}

/* Four batches are kept, whatever is asked for. */
static void the_ring_is_finite(void **state)
{
    uint32_t tokens[BLOCK];
    struct scene scene;
    uint64_t next;

    (void)state;
    scene_open(&scene, short_ring);
    for (uint32_t i = 0; i < 6; i++) {
        fill(tokens, BLOCK, 5000 + 100 * i);
        scene_ask(&scene, "mock-model", tokens, BLOCK, 1);
    }
    next = kv_publisher_next(scene.mock.journal.publisher);
    assert_int_equal(scene_replay(&scene, 0), 4);
    assert_int_equal(scene_replay(&scene, next - 2), 2);
    assert_int_equal(scene_replay(&scene, next), 0);
    assert_int_equal(scene_replay(&scene, UINT64_MAX), 0);
    scene_close(&scene);
}

/* Numbers of blocks come back: after many prompts no more of them are in use
 * than the cache has blocks. */
static void the_table_does_not_grow(void **state)
{
    uint32_t tokens[10 * BLOCK];
    struct scene scene;

    (void)state;
    scene_open(&scene, small_array);
    for (uint32_t i = 0; i < 100; i++) {
        fill(tokens, 10 * BLOCK, 500 * i);
        scene_ask(&scene, "mock-model", tokens, 10 * BLOCK, 1);
    }
    assert_true(block_table_count(scene.mock.table) <= 48);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_tell_all),
        cmocka_unit_test(maps_tell_all),
        cmocka_unit_test(adapters_are_told_apart),
        cmocka_unit_test(what_is_lost_can_be_asked_for),
        cmocka_unit_test(the_ring_is_finite),
        cmocka_unit_test(the_table_does_not_grow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
