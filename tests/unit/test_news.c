/* SPDX-License-Identifier: MIT */
/* state/news: what stays of a ring of bytes, against a list of all that was
 * ever added: always the newest, none torn, none out of turn. */
#include "state/news.h"

#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "support/rng.h"
#include "support/test.h"

#define CAPACITY 4096
#define STEPS 4000
#define LONGEST 1500

struct added {
    size_t length;
    unsigned char first;
};

struct world {
    struct unit_heap heap;
    struct lbr_news news;
    struct test_rng rng;
    struct added added[STEPS];
    size_t begin, end; /* of those that must be there */
};

static void start(struct world *world, uint64_t seed)
{
    memset(world, 0, sizeof *world);
    world->rng.state = seed;
    unit_heap_open(&world->heap);
    assert_true(lbr_news_init(&world->news, &world->heap.memory, CAPACITY));
}

static void end(struct world *world)
{
    lbr_news_destroy(&world->news, &world->heap.memory);
    unit_heap_close(&world->heap);
}

/* A quarter of the ring for one, its record included. */
static size_t told(size_t length)
{
    size_t most = CAPACITY / 4 - sizeof(struct lbr_news_item);

    return length < most ? length : most / 8 * 8;
}

static size_t size_of(const struct added *added)
{
    return sizeof(struct lbr_news_item) + (told(added->length) + 7) / 8 * 8;
}

static void add(struct world *world)
{
    unsigned char symbols[LONGEST];
    struct added *added = &world->added[world->end];
    struct lbr_news_item head = {0};
    uint64_t dropped = world->news.dropped;

    added->length = (size_t)test_rng_below(
        &world->rng, test_rng_below(&world->rng, 20) ? 200 : LONGEST);
    added->first = (unsigned char)test_rng_below(&world->rng, 256);
    for (size_t i = 0; i < added->length; i++)
        symbols[i] = (unsigned char)(added->first + i);
    head.key = world->end;
    lbr_news_add(&world->news, &head, symbols, added->length);
    world->end++;
    world->begin += (size_t)(world->news.dropped - dropped);
}

static void collect(struct world *world)
{
    uint32_t count =
        (uint32_t)test_rng_below(&world->rng, world->news.count + 1);

    lbr_news_collected(&world->news, count);
    world->begin += count;
}

static void check_item(const struct world *world,
                       const struct lbr_news_item *item, size_t number)
{
    const struct added *added = &world->added[number];

    assert_non_null(item);
    assert_int_equal(item->key, number);
    assert_int_equal(item->length, told(added->length));
    for (size_t i = 0; i < item->length; i++)
        assert_int_equal(lbr_news_symbols(item)[i],
                         (unsigned char)(added->first + i));
}

static void check(const struct world *world)
{
    const struct lbr_news_item *item = NULL;
    size_t bytes = 0;

    assert_int_equal(world->news.count, world->end - world->begin);
    for (size_t i = world->begin; i < world->end; i++) {
        item = lbr_news_next(&world->news, item);
        check_item(world, item, i);
        bytes += size_of(&world->added[i]);
    }
    assert_true(bytes <= CAPACITY);
    if (world->news.count)
        assert_null(lbr_news_next(&world->news, item));
    else
        assert_null(lbr_news_next(&world->news, NULL));
}

/* Nothing gives way without need: with the one that did, at the end, what there
 * is would not have fitted, even if a record's length is lost at the seam. */
static void check_need(const struct world *world, size_t before)
{
    size_t bytes = 0;

    if (world->begin == before)
        return;
    for (size_t i = world->begin - 1; i < world->end; i++)
        bytes += size_of(&world->added[i]);
    assert_true(bytes > CAPACITY - CAPACITY / 4);
}

static void random_operations(void **state)
{
    static struct world world;
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        start(&world, seed);
        while (world.end < STEPS) {
            size_t before = world.begin;

            add(&world);
            check_need(&world, before);
            if (!test_rng_below(&world.rng, 10))
                collect(&world);
            check(&world);
        }
        end(&world);
    }
}

static void nothing_is_kept(void **state)
{
    struct unit_heap heap;
    struct lbr_news news;
    (void)state;

    unit_heap_open(&heap);
    assert_true(lbr_news_init(&news, &heap.memory, 0));
    assert_null(news.bytes);
    assert_null(lbr_news_next(&news, NULL));
    lbr_news_destroy(&news, &heap.memory);
    test_alloc_fail(&heap.alloc, 0, 1);
    assert_false(lbr_news_init(&news, &heap.memory, CAPACITY));
    unit_heap_close(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations),
        cmocka_unit_test(nothing_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
