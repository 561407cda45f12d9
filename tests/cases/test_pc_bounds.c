/* SPDX-License-Identifier: MIT */
/* More of the kinds that the field reports PC are of: bounds of memory, and
 * what becomes of blocks when targets and pools change. A block is 16
 * tokens. */
#include "kv_events.h"
#include "support/fleet.h"
#include "support/rng.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

#define PRECISE "precise_cache_aware"

enum { GPU = LBROUTE_MEDIUM_GPU };

static void open_bounded(struct fleet *fleet, uint32_t blocks, uint32_t sources,
                         size_t targets)
{
    lbroute_router_options options;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.max_kv_blocks = blocks;
    options.max_kv_sources = sources;
    fleet_open_options(fleet, &options, PRECISE);
    for (size_t i = 0; i < targets; i++)
        fleet_add(fleet);
}

/* ---- max_kv_blocks ---- */

/* Stores |count| blocks one by one, each behind the one before. */
static void store_chain(struct kv *kv, uint64_t label, uint32_t first,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t from = first + (uint32_t)i * KV_SIZE;
        if (i == 0)
            kv_store(kv, label, from, from + KV_SIZE - 1);
        else
            kv_store_after(kv, label + i - 1, label + i, from,
                           from + KV_SIZE - 1);
        assert_true(fleet_totals(kv->fleet).kv_blocks <= 16);
    }
}

/* The head of a prompt is what the next one has in common with it. */
static void pc_kind_heads_stay(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_bounded(&fleet, 16, 4, 1);
    kv_open(&a, &fleet, A);
    store_chain(&a, 1, 1, 40);
    assert_true(kv_count(&fleet, A, 1, 640) >= 15);
    assert_true(fleet_totals(&fleet).kv_evicted +
                    kv_stats(&a).reasons[LBROUTE_KV_REASON_FULL] >
                0);
    assert_int_equal(kv_stats(&a).state, LBROUTE_KV_SOURCE_FRESH);
    fleet_close(&fleet);
}

/* The same in one event. */
static void pc_kind_heads_stay_in_one_event(void **state)
{
    struct fleet fleet;
    struct kv a;
    (void)state;

    open_bounded(&fleet, 16, 4, 1);
    kv_open(&a, &fleet, A);
    kv_store(&a, 1, 1, 640);
    assert_true(kv_count(&fleet, A, 1, 640) >= 15);
    assert_true(fleet_totals(&fleet).kv_blocks <= 16);
    kv_remove(&a, 1, 40);
    assert_int_equal(kv_count(&fleet, A, 1, 640), 0);
    assert_int_equal(fleet_totals(&fleet).kv_blocks, 0);
    fleet_close(&fleet);
}

/* Whoever floods the table makes room itself. */
static void pc_kind_a_flood_takes_no_share(void **state)
{
    struct fleet fleet;
    struct kv a, b;
    (void)state;

    open_bounded(&fleet, 16, 4, 2);
    kv_open(&a, &fleet, A);
    kv_open(&b, &fleet, B);
    kv_store(&b, 1, 1, 128);
    for (uint32_t i = 0; i < 100; i++) {
        kv_store(&a, 100 + i, 1000 + i * KV_SIZE,
                 1000 + i * KV_SIZE + KV_SIZE - 1);
        assert_int_equal(kv_count(&fleet, B, 1, 128), 8);
        assert_true(fleet_totals(&fleet).kv_blocks <= 16);
    }
    assert_int_equal(kv_stats(&b).evicted, 0);
    assert_true(kv_stats(&a).blocks[GPU] >= 7);
    fleet_close(&fleet);
}

/* In the smallest tables every place has been passed by at some time; what is
 * not there is still found to be so. */
static void pc_kind_small_tables_end(void **state)
{
    struct test_rng rng = {1};
    (void)state;

    for (uint32_t blocks = 1; blocks <= 40; blocks += 3) {
        struct fleet fleet;
        struct kv a;
        open_bounded(&fleet, blocks, 4, 1);
        kv_open(&a, &fleet, A);
        for (int i = 0; i < 20000; i++) {
            uint64_t label = test_rng_below(&rng, 100);
            uint32_t first = (uint32_t)label * KV_SIZE;
            if (test_rng_below(&rng, 3) == 0)
                kv_remove(&a, label, 1);
            else
                kv_store(&a, label, first, first + KV_SIZE - 1);
            assert_int_equal(kv_count(&fleet, A, 9000, 9015), 0);
        }
        fleet_close(&fleet);
    }
}

/* A newcomer gets its part of a table that others fill. */
static void pc_kind_a_newcomer_gets_its_share(void **state)
{
    struct fleet fleet;
    struct kv a, b;
    (void)state;

    open_bounded(&fleet, 16, 4, 2);
    kv_open(&a, &fleet, A);
    kv_open(&b, &fleet, B);
    store_chain(&a, 1, 1, 16);
    store_chain(&b, 1, 1, 8);
    assert_int_equal(kv_count(&fleet, B, 1, 256), 8);
    assert_true(kv_count(&fleet, A, 1, 256) >= 7);
    assert_true(fleet_totals(&fleet).kv_blocks <= 16);
    fleet_close(&fleet);
}

/* Blocks that wait for ever are bounded like others. */
static void pc_kind_waiting_is_bounded(void **state)
{
    struct fleet fleet;
    struct kv a, b;
    (void)state;

    open_bounded(&fleet, 16, 4, 2);
    kv_open(&a, &fleet, A);
    kv_open(&b, &fleet, B);
    kv_store(&b, 1, 1, 128);
    for (uint32_t i = 0; i < 200; i++)
        kv_store_after(&a, 5000 + i, 100 + i, 1001, 1016);
    assert_true(kv_stats(&a).waiting <= 16);
    assert_int_equal(kv_count(&fleet, B, 1, 128), 8);
    fleet_close(&fleet);
}

/* What is kept aside is bounded, too, and is asked for again. */
static void pc_kind_aside_is_bounded(void **state)
{
    struct fleet fleet;
    struct kv a;
    size_t peak;
    (void)state;

    open_bounded(&fleet, 16, 4, 1);
    kv_open(&a, &fleet, A);
    kv_store(&a, 1, 1, 16);
    a.seq = 2;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(kv_store(&a, 100, 1001, 1256), LBROUTE_KV_GAP);
        kv_expect_missing(&a, 1, 1);
    }
    peak = fleet.alloc.peak_bytes;
    for (int i = 0; i < 1000; i++)
        kv_store(&a, 100, 1001, 1256);
    assert_true(fleet.alloc.peak_bytes <= peak);
    a.seq = 1;
    kv_send(&a);
    while (a.result.missing > 0) {
        a.seq = a.result.first_missing;
        kv_store(&a, 100, 1001, 1256);
        assert_true(a.seq < 3000);
    }
    assert_int_equal(kv_stats(&a).state, LBROUTE_KV_SOURCE_FRESH);
    fleet_close(&fleet);
}

/* ---- max_kv_sources ---- */

static int try_source(struct fleet *fleet, size_t index, uint32_t source)
{
    lbroute_kv_batch batch;

    lbroute_kv_batch_init(&batch, sizeof batch);
    return lbroute_kv_apply(fleet->router, fleet->targets[index], source,
                            &batch, fleet->now, NULL);
}

static void pc_kind_sources_are_bounded(void **state)
{
    struct fleet fleet;
    (void)state;

    open_bounded(&fleet, 16, 3, 2);
    assert_int_equal(try_source(&fleet, A, 0), LBROUTE_OK);
    assert_int_equal(try_source(&fleet, A, 1), LBROUTE_OK);
    assert_int_equal(try_source(&fleet, B, 0), LBROUTE_OK);
    assert_int_equal(try_source(&fleet, B, 1), LBROUTE_ERR_LIMIT);
    assert_int_equal(try_source(&fleet, A, 1), LBROUTE_OK);
    assert_int_equal(fleet_totals(&fleet).kv_sources, 3);
    fleet_remove(&fleet, A);
    assert_int_equal(fleet_totals(&fleet).kv_sources, 1);
    assert_int_equal(try_source(&fleet, B, 1), LBROUTE_OK);
    assert_int_equal(try_source(&fleet, B, 9), LBROUTE_OK);
    assert_int_equal(try_source(&fleet, B, 2), LBROUTE_ERR_LIMIT);
    fleet_close(&fleet);
}

/* ---- lives of targets and pools ---- */

static void open_two(struct fleet *fleet, struct kv *a, struct kv *b)
{
    fleet_open(fleet, PRECISE, 2, 1);
    kv_open(a, fleet, A);
    kv_open(b, fleet, B);
    kv_store(a, 1, 1, 64);
    kv_store(b, 1, 1, 32);
    kv_ask(fleet, 1, 64);
}

/* Another server under the same name has another cache. */
static void pc_kind_removed_and_added(void **state)
{
    struct fleet fleet;
    struct kv a, b;
    lbroute_target gone;
    uint32_t source = 0;
    (void)state;

    open_two(&fleet, &a, &b);
    gone = fleet.targets[A];
    fleet_remove(&fleet, A);
    assert_int_equal(fleet_totals(&fleet).kv_blocks, 2);
    assert_int_equal(fleet_totals(&fleet).kv_sources, 1);
    fleet_add_again(&fleet, A);
    assert_int_equal(kv_resident(&fleet, A), -1);
    assert_int_equal(kv_state(&fleet, A), LBROUTE_KV_SOURCE_NONE);
    assert_int_equal(fleet_stats(&fleet, A).kv_blocks, 0);
    assert_int_equal(
        lbroute_kv_source_next(fleet.router, fleet.targets[A], -1, &source),
        LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(lbroute_kv_clear(fleet.router, gone, 0, 0),
                     LBROUTE_ERR_NOT_FOUND);
    kv_expect_pick(&fleet, B, 2);
    kv_open(&a, &fleet, A);
    a.seq = 77;
    kv_store(&a, 5, 1, 48);
    kv_expect(&a, LBROUTE_KV_APPLIED, LBROUTE_KV_SOURCE_FRESH);
    kv_expect_pick(&fleet, A, 3);
    fleet_close(&fleet);
}

/* The cache stays with the server, whatever pool it is in. */
static void pc_kind_moved_to_another_pool(void **state)
{
    struct fleet fleet;
    struct kv a, b;
    lbroute_target_options options;
    (void)state;

    open_two(&fleet, &a, &b);
    fleet_add_pool(&fleet, "other", PRECISE);
    fleet_target_options(&fleet, &options);
    assert_int_equal(lbroute_target_update(fleet.router, fleet.targets[A],
                                           &options, fleet.now),
                     LBROUTE_OK);
    fleet.request.pool = fleet.pool;
    kv_expect_pick(&fleet, A, 4);
    kv_remove(&a, 4, 1);
    kv_expect_pick(&fleet, A, 3);
    kv_store_after(&a, 3, 4, 49, 64);
    kv_expect_pick(&fleet, A, 4);
    fleet_close(&fleet);
}

/* Settings that are applied once more change nothing. */
static void pc_kind_applied_again(void **state)
{
    struct fleet fleet;
    struct kv a, b;
    (void)state;

    open_two(&fleet, &a, &b);
    fleet_reapply(&fleet, A);
    fleet_strategy(&fleet, PRECISE);
    fleet_param(&fleet, "precise_cache_aware.threshold", 0.05);
    fleet_set_weight(&fleet, A, 2);
    fleet_set_weight(&fleet, A, 1);
    fleet_drain(&fleet, A, 1);
    fleet_drain(&fleet, A, 0);
    kv_expect_pick(&fleet, A, 4);
    assert_int_equal(kv_stats(&a).batches, 1);
    fleet_close(&fleet);
}

/* Events count whatever the strategy, for when it changes. */
static void pc_kind_strategy_and_back(void **state)
{
    struct fleet fleet;
    struct kv a, b;
    (void)state;

    open_two(&fleet, &a, &b);
    fleet_strategy(&fleet, "weighted");
    assert_true(fleet_serve(&fleet) != FLEET_NONE);
    assert_int_equal(fleet.decision.kv_blocks[GPU], -1);
    assert_int_equal(fleet.decision.kv_state, LBROUTE_KV_SOURCE_NONE);
    kv_remove(&a, 4, 1);
    kv_store_after(&b, 2, 3, 33, 64);
    fleet_strategy(&fleet, PRECISE);
    assert_int_equal(kv_resident(&fleet, A), 3);
    kv_expect_pick(&fleet, B, 4);
    fleet_close(&fleet);
}

/* Targets that are in no pool have caches, too. */
static void pc_kind_target_without_a_pool(void **state)
{
    struct fleet fleet;
    struct kv a;
    lbroute_target_options options;
    lbroute_pool pool;
    (void)state;

    fleet_open(&fleet, PRECISE, 0, 1);
    pool = fleet.pool;
    fleet_target_options(&fleet, &options);
    options.pool = 0;
    fleet_add_options(&fleet, &options);
    kv_open(&a, &fleet, A);
    kv_store(&a, 1, 1, 64);
    assert_int_equal(kv_stats(&a).blocks[GPU], 4);
    options.pool = pool;
    assert_int_equal(lbroute_target_update(fleet.router, fleet.targets[A],
                                           &options, fleet.now),
                     LBROUTE_OK);
    kv_ask(&fleet, 1, 64);
    kv_expect_pick(&fleet, A, 4);
    fleet_close(&fleet);
}

/* ---- memory ---- */

/* One round of what engines do all the time: a prompt comes, a part of it
 * moves, all of it goes. */
static void churn(struct kv *kv, uint32_t round)
{
    uint32_t first = 1 + round % 50 * 64;
    uint64_t label = 1 + (uint64_t)round * 7 % 500;

    kv_store(kv, label, first, first + 63);
    kv->medium = LBROUTE_MEDIUM_HOST;
    kv_locate(kv, label, 2);
    kv->medium = LBROUTE_MEDIUM_ANY;
    kv_store_after(kv, label + 3, label + 4, first, first + 31);
    kv_ask(kv->fleet, first, first + 63);
    assert_true(fleet_serve(kv->fleet) != FLEET_NONE);
    kv_remove(kv, label, 6);
}

/* Once warm, events take no memory. */
static void pc_kind_no_allocation_once_warm(void **state)
{
    struct fleet fleet;
    struct kv a;
    uint64_t calls;
    size_t held;
    (void)state;

    open_bounded(&fleet, 1000, 4, 2);
    kv_open(&a, &fleet, A);
    for (uint32_t i = 0; i < 2000; i++)
        churn(&a, i);
    calls = fleet.alloc.calls;
    held = fleet.alloc.live_bytes;
    for (uint32_t i = 0; i < 2000; i++)
        churn(&a, i);
    assert_int_equal(fleet.alloc.calls, calls);
    assert_int_equal(fleet.alloc.live_bytes, held);
    assert_int_equal(fleet_totals(&fleet).kv_blocks, 0);
    fleet_close(&fleet);
}

/* A full table turns over in the memory that it has. */
static void pc_kind_full_table_is_flat(void **state)
{
    struct fleet fleet;
    struct kv s[2];
    size_t peak = 0;
    (void)state;

    open_bounded(&fleet, 200, 4, 2);
    kv_open(&s[A], &fleet, A);
    kv_open(&s[B], &fleet, B);
    for (uint32_t i = 0; i < 6000; i++) {
        uint32_t first = 1 + i % 997 * 16;
        kv_store(&s[i % 2], i, first, first + 31);
        assert_true(fleet_totals(&fleet).kv_blocks <= 200);
        if (i == 3000)
            peak = fleet.alloc.peak_bytes;
    }
    assert_int_equal(fleet.alloc.peak_bytes, peak);
    assert_true(fleet_totals(&fleet).kv_blocks >= 198);
    fleet_close(&fleet);
}

/* As much as promised: some 50 bytes a block. */
static void pc_kind_bytes_a_block(void **state)
{
    struct fleet fleet;
    struct kv a;
    size_t before;
    (void)state;

    open_bounded(&fleet, 65536, 4, 1);
    kv_open(&a, &fleet, A);
    before = fleet.alloc.live_bytes;
    for (uint32_t i = 0; i < 1024; i++) {
        uint64_t last = (uint64_t)i * 64;
        if (i == 0)
            kv_store(&a, last, 1, 1024);
        else
            kv_store_after(&a, last - 1, last, 1, 1024);
    }
    assert_int_equal(fleet_totals(&fleet).kv_blocks, 65536);
    assert_int_equal(fleet_totals(&fleet).kv_contents, 65536);
    assert_true(fleet.alloc.live_bytes - before < (size_t)75 * 65536);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pc_kind_heads_stay),
        cmocka_unit_test(pc_kind_heads_stay_in_one_event),
        cmocka_unit_test(pc_kind_a_flood_takes_no_share),
        cmocka_unit_test(pc_kind_small_tables_end),
        cmocka_unit_test(pc_kind_a_newcomer_gets_its_share),
        cmocka_unit_test(pc_kind_waiting_is_bounded),
        cmocka_unit_test(pc_kind_aside_is_bounded),
        cmocka_unit_test(pc_kind_sources_are_bounded),
        cmocka_unit_test(pc_kind_removed_and_added),
        cmocka_unit_test(pc_kind_moved_to_another_pool),
        cmocka_unit_test(pc_kind_applied_again),
        cmocka_unit_test(pc_kind_strategy_and_back),
        cmocka_unit_test(pc_kind_target_without_a_pool),
        cmocka_unit_test(pc_kind_no_allocation_once_warm),
        cmocka_unit_test(pc_kind_full_table_is_flat),
        cmocka_unit_test(pc_kind_bytes_a_block),
    };
    return cmocka_run_group_tests_name("PC bounds", tests, NULL, NULL);
}
