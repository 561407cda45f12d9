/* SPDX-License-Identifier: MIT */
/* state/kv_aside: batches behind a gap. */
#include "state/kv_aside.h"

#include <math.h>
#include <string.h>

#include "heap.h"
#include "support/rng.h"
#include "support/test.h"

#define BLOCKS 4096
#define MOST 200

struct fixture {
    struct unit_heap heap;
    struct lbr_kv_store store;
    struct lbr_kv_side side;
    struct lbr_kv_source *source;
};

static void open_fixture(struct fixture *fixture, uint32_t blocks)
{
    memset(fixture, 0, sizeof *fixture);
    unit_heap_open(&fixture->heap);
    lbr_kv_store_init(&fixture->store, &fixture->heap.memory, blocks, 4, 1);
    lbr_kv_side_init(&fixture->side);
    assert_int_equal(lbr_kv_source_get(&fixture->store, NULL, &fixture->side, 0,
                                       &fixture->source),
                     0);
}

/* What is still aside goes with the store. */
static void close_fixture(struct fixture *fixture)
{
    lbr_kv_store_destroy(&fixture->store);
    unit_heap_close(&fixture->heap);
}

static struct lbr_kv_aside *begin(struct fixture *fixture, uint64_t number)
{
    struct lbr_kv_stamp stamp = {number, number, (double)NAN};

    return lbr_kv_aside_begin(&fixture->store, fixture->source, &stamp);
}

/* |count| operations named |first|, |first| + 1 … */
static int append(struct fixture *fixture, struct lbr_kv_aside *aside,
                  uint64_t first, size_t count)
{
    struct lbr_kv_op ops[MOST] = {{0}};

    assert_true(count <= MOST);
    for (size_t i = 0; i < count; i++)
        ops[i].name = first + i;
    return lbr_kv_aside_append(&fixture->store, aside, ops, count);
}

/* In whatever order they came. */
static void by_number(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct test_rng rng = {seed};
        static struct fixture fixture;
        int there[60] = {0};

        open_fixture(&fixture, BLOCKS);
        for (int i = 0; i < 40; i++) {
            uint64_t number = test_rng_below(&rng, 60);

            assert_int_equal(lbr_kv_aside_has(fixture.source, number),
                             there[number]);
            if (there[number])
                continue;
            assert_non_null(begin(&fixture, number));
            there[number] = 1;
        }
        for (uint64_t number = 0; number < 60; number++) {
            struct lbr_kv_aside *first = lbr_kv_aside_first(fixture.source);

            assert_int_equal(lbr_kv_aside_has(fixture.source, number),
                             there[number]);
            if (!there[number])
                continue;
            assert_true(first && first->stamp.number == number);
            lbr_kv_aside_drop(&fixture.store, first);
        }
        assert_null(lbr_kv_aside_first(fixture.source));
        assert_int_equal(fixture.store.aside_ops, 0);
        close_fixture(&fixture);
    }
}

/* Parts come one after the other and make one row. */
static void batches_in_parts(void **state)
{
    struct test_rng rng = {1};
    static struct fixture fixture;
    struct lbr_kv_aside *asides[3];
    uint32_t counts[3] = {0};
    (void)state;

    open_fixture(&fixture, 65536);
    for (uint64_t i = 0; i < 3; i++)
        asides[i] = begin(&fixture, i);
    for (int part = 0; part < 60; part++) {
        int which = (int)test_rng_below(&rng, 3);
        uint32_t count = (uint32_t)test_rng_below(&rng, 100);

        assert_true(append(&fixture, asides[which], counts[which], count));
        counts[which] += count;
    }
    for (int which = 0; which < 3; which++) {
        assert_int_equal(asides[which]->count, counts[which]);
        for (uint32_t i = 0; i < counts[which]; i++)
            assert_int_equal(asides[which]->ops[i].name, i);
    }
    assert_int_equal(lbr_kv_aside_ops(fixture.source),
                     counts[0] + counts[1] + counts[2]);
    close_fixture(&fixture);
}

/* Numbers in an order that nobody sends them in: what belongs far from both
 * ends is not looked for, but is missing, as if it had never come. */
static void in_a_hostile_order(void **state)
{
    static struct fixture fixture;
    (void)state;

    open_fixture(&fixture, 1 << 20);
    for (uint64_t number = 0; number < 5000; number++)
        assert_non_null(begin(&fixture, 10 * number));
    assert_null(begin(&fixture, 25001));
    assert_int_equal(lbr_kv_aside_has(fixture.source, 25000), 0);
    /* Near the ends all is as ever. */
    assert_non_null(begin(&fixture, 5001));
    assert_int_equal(lbr_kv_aside_has(fixture.source, 5001), 1);
    assert_non_null(begin(&fixture, 45001));
    assert_int_equal(lbr_kv_aside_has(fixture.source, 45000), 1);
    assert_int_equal(lbr_kv_aside_has(fixture.source, 45002), 0);
    close_fixture(&fixture);
}

static void drop_until(void **state)
{
    static struct fixture fixture;
    (void)state;

    open_fixture(&fixture, BLOCKS);
    for (uint64_t number = 10; number < 20; number++)
        append(&fixture, begin(&fixture, number), 0, 3);
    lbr_kv_aside_drop_until(&fixture.store, fixture.source, 9);
    assert_int_equal(lbr_kv_aside_first(fixture.source)->stamp.number, 10);
    lbr_kv_aside_drop_until(&fixture.store, fixture.source, 14);
    assert_int_equal(lbr_kv_aside_first(fixture.source)->stamp.number, 15);
    assert_int_equal(lbr_kv_aside_ops(fixture.source), 15);
    assert_non_null(begin(&fixture, UINT64_MAX - 1));
    lbr_kv_aside_drop_all(&fixture.store, fixture.source);
    assert_null(lbr_kv_aside_first(fixture.source));
    assert_int_equal(fixture.store.aside_ops, 0);
    close_fixture(&fixture);
}

/* ---- room ---- */

/* What there is room for is kept whole, the rest not at all; what is dropped
 * makes room for others. */
static void room(void **state)
{
    static struct fixture fixture;
    struct lbr_kv_aside *aside;
    uint32_t limit = lbr_kv_aside_limit(800);
    uint32_t kept = 0;
    (void)state;

    open_fixture(&fixture, 800);
    assert_in_range(limit, 100, 200);
    aside = begin(&fixture, 7);
    while (append(&fixture, aside, kept, 10))
        kept += 10;
    assert_in_range(kept, limit - 20, limit);
    assert_int_equal(aside->count, kept);
    assert_int_equal(fixture.store.aside_ops, kept + 4);
    assert_true(fixture.store.aside_ops <= limit);
    assert_true(append(&fixture, aside, 0, 0));
    lbr_kv_aside_drop(&fixture.store, aside);
    for (kept = 0; begin(&fixture, kept); kept++) /* empty ones count, too */
        ;
    assert_in_range(kept, limit / 8, limit / 2);
    assert_true(fixture.store.aside_ops <= limit);
    close_fixture(&fixture);
}

static void without_memory(void **state)
{
    static struct fixture fixture;
    struct lbr_kv_aside *aside;
    (void)state;

    open_fixture(&fixture, BLOCKS);
    test_alloc_fail(&fixture.heap.alloc, 0, 1);
    assert_null(begin(&fixture, 3));
    assert_int_equal(fixture.store.aside_ops, 0);
    assert_false(lbr_kv_aside_has(fixture.source, 3));
    aside = begin(&fixture, 3);
    assert_true(append(&fixture, aside, 0, 30));
    test_alloc_fail(&fixture.heap.alloc, 0, 1);
    assert_false(append(&fixture, aside, 30, 170));
    assert_int_equal(aside->count, 30);
    assert_int_equal(fixture.store.aside_ops, 34);
    assert_true(append(&fixture, aside, 30, 170));
    for (uint32_t i = 0; i < 200; i++)
        assert_int_equal(aside->ops[i].name, i);
    close_fixture(&fixture);
}

/* Whatever the batches are like. */
static void the_estimate_holds(void **state)
{
    static const uint32_t all_blocks[] = {1, 100, 800, 4096, 65536};
    (void)state;

    for (size_t i = 0; i < sizeof all_blocks / sizeof all_blocks[0]; i++)
        for (size_t count = 0; count < 150; count += count / 4 + 1) {
            static struct fixture fixture;
            struct lbr_kv_aside *aside;
            size_t before;

            open_fixture(&fixture, all_blocks[i]);
            before = fixture.heap.alloc.live_bytes;
            for (uint64_t number = 0; (aside = begin(&fixture, number));
                 number++)
                while (append(&fixture, aside, 0, count) && count > 120)
                    ;
            assert_true(fixture.heap.alloc.peak_bytes - before <=
                        lbr_kv_aside_estimate(all_blocks[i]));
            close_fixture(&fixture);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_number),
        cmocka_unit_test(batches_in_parts),
        cmocka_unit_test(in_a_hostile_order),
        cmocka_unit_test(drop_until),
        cmocka_unit_test(room),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(the_estimate_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
