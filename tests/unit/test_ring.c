/* SPDX-License-Identifier: MIT */
/* models/ring: against a sorted array of all points. Few hash bits make many
 * points collide. */
#include "models/ring.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "heap.h"
#include "support/rng.h"
#include "support/test.h"

#define OWNERS 12
#define MOST_POINTS (OWNERS * 400)

struct point {
    uint32_t hash;
    const char *name;
};

struct model {
    struct unit_heap heap;
    struct lbr_ring ring;
    unsigned hash_bits;
    char names[OWNERS][16];
    uint32_t points[OWNERS]; /* 0: not on the ring */
    struct point sorted[MOST_POINTS];
    size_t count;
};

static struct lbr_text name_of(void *user, uint32_t owner)
{
    const struct model *model = user;

    return lbr_text(model->names[owner], strlen(model->names[owner]));
}

static void open_model(struct model *model, unsigned hash_bits)
{
    memset(model, 0, sizeof *model);
    unit_heap_open(&model->heap);
    model->hash_bits = hash_bits;
    for (uint32_t i = 0; i < OWNERS; i++)
        snprintf(model->names[i], sizeof model->names[i], "gpu-%u", i);
    lbr_ring_init(&model->ring, &model->heap.memory, hash_bits, name_of, model);
}

static void close_model(struct model *model)
{
    lbr_ring_destroy(&model->ring);
    unit_heap_close(&model->heap);
}

/* Only the top |hash_bits| of the circle's 32 bits are in use. */
static uint32_t circle_hash(const struct model *model, uint64_t hash)
{
    uint32_t unused = 32 - model->hash_bits;

    return (uint32_t)(hash >> 32) >> unused << unused;
}

static int compare_points(const void *a, const void *b)
{
    const struct point *left = a;
    const struct point *right = b;

    if (left->hash != right->hash)
        return left->hash < right->hash ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* Point |number| of an owner is where its name, hashed with that number,
 * falls; equal hashes stand in the order of names. */
static void sort_points(struct model *model)
{
    model->count = 0;
    for (uint32_t owner = 0; owner < OWNERS; owner++)
        for (uint32_t number = 0; number < model->points[owner]; number++) {
            struct lbr_text name = name_of(model, owner);
            struct point *point = &model->sorted[model->count++];

            point->name = name.bytes;
            point->hash = circle_hash(
                model, lbr_hash_seeded(name.bytes, name.length, number));
        }
    qsort(model->sorted, model->count, sizeof *model->sorted, compare_points);
}

/* From a key's owner once round the circle. */
static void check_walk(const struct model *model, uint64_t key)
{
    uint32_t hash = circle_hash(model, key);
    uint32_t slot = lbr_ring_find(&model->ring, key);
    size_t at = 0;

    if (!model->count) {
        assert_int_equal(slot, LBR_RING_NONE);
        return;
    }
    while (at < model->count && model->sorted[at].hash < hash)
        at++;
    for (size_t i = 0; i <= model->count; i++) {
        const char *wanted = model->sorted[(at + i) % model->count].name;
        uint32_t owner = lbr_ring_owner(&model->ring, slot);

        assert_true(owner < OWNERS);
        assert_string_equal(model->names[owner], wanted);
        slot = lbr_ring_next(&model->ring, slot);
    }
}

static void check_owner(const struct model *model, uint64_t key)
{
    uint32_t hash = circle_hash(model, key);
    uint32_t slot = lbr_ring_find(&model->ring, key);
    size_t at = 0;

    while (at < model->count && model->sorted[at].hash < hash)
        at++;
    assert_string_equal(model->names[lbr_ring_owner(&model->ring, slot)],
                        model->sorted[at % model->count].name);
}

static void check(struct model *model, struct test_rng *rng)
{
    sort_points(model);
    assert_int_equal(model->ring.points, model->count);
    check_walk(model, 0);
    check_walk(model, UINT64_MAX);
    check_walk(model, test_rng_next(rng));
    if (!model->count)
        return;
    for (int i = 0; i < 20; i++) {
        const struct point *point =
            &model->sorted[test_rng_below(rng, model->count)];
        uint64_t exact = (uint64_t)point->hash << 32;

        check_owner(model, exact);
        check_owner(model, exact - 1);
        check_owner(model, exact | UINT32_MAX);
        check_owner(model, test_rng_next(rng));
    }
}

static void add(struct model *model, uint32_t owner, uint32_t points)
{
    assert_true(lbr_ring_add(&model->ring, owner, points));
    model->points[owner] = points;
}

static void change(struct model *model, uint32_t owner, uint32_t points)
{
    if (!model->points[owner]) {
        add(model, owner, points);
        return;
    }
    if (points)
        assert_true(
            lbr_ring_resize(&model->ring, owner, model->points[owner], points));
    else
        lbr_ring_remove(&model->ring, owner, model->points[owner]);
    model->points[owner] = points;
}

static void check_random(unsigned hash_bits, int steps)
{
    struct test_rng rng = {hash_bits};
    struct model model;

    open_model(&model, hash_bits);
    check_walk(&model, 1);
    for (int step = 0; step < steps; step++) {
        uint32_t owner = (uint32_t)test_rng_below(&rng, OWNERS);
        uint32_t points = 1 + (uint32_t)test_rng_below(&rng, 400);

        change(&model, owner, test_rng_below(&rng, 3) ? points : 0);
        check(&model, &rng);
    }
    for (uint32_t owner = 0; owner < OWNERS; owner++)
        if (model.points[owner])
            change(&model, owner, 0);
    check(&model, &rng);
    close_model(&model);
}

static void against_a_sorted_array(void **state)
{
    (void)state;
    check_random(32, 150);
}

static void colliding_points(void **state)
{
    (void)state;
    check_random(12, 150);
    check_random(8, 100);
    check_random(4, 60);
    check_random(1, 60);
}

/* Two rings with the same owners, added in other orders under other numbers,
 * some of them twice over, are the same circle. */
static void check_order_independence(unsigned hash_bits)
{
    struct test_rng rng = {hash_bits};
    struct model forward;
    struct model shuffled;
    uint32_t slot;
    uint32_t other;

    open_model(&forward, hash_bits);
    open_model(&shuffled, hash_bits);
    for (uint32_t i = 0; i < OWNERS; i++)
        add(&forward, i, LBR_RING_POINTS);
    for (uint32_t i = 0; i < OWNERS; i++)
        snprintf(shuffled.names[i], sizeof shuffled.names[i], "gpu-%u",
                 (i * 5 + 3) % OWNERS);
    for (uint32_t i = 0; i < OWNERS; i++)
        add(&shuffled, (i * 7 + 1) % OWNERS, 1 + i * 20);
    for (int i = 0; i < 20; i++)
        change(&shuffled, (uint32_t)test_rng_below(&rng, OWNERS),
               (uint32_t)test_rng_below(&rng, 300));
    for (uint32_t i = 0; i < OWNERS; i++)
        change(&shuffled, i, LBR_RING_POINTS);
    slot = lbr_ring_find(&forward.ring, 0);
    other = lbr_ring_find(&shuffled.ring, 0);
    for (uint32_t i = 0; i < OWNERS * LBR_RING_POINTS; i++) {
        assert_string_equal(
            forward.names[lbr_ring_owner(&forward.ring, slot)],
            shuffled.names[lbr_ring_owner(&shuffled.ring, other)]);
        slot = lbr_ring_next(&forward.ring, slot);
        other = lbr_ring_next(&shuffled.ring, other);
    }
    close_model(&shuffled);
    close_model(&forward);
}

static void the_order_of_arrival_leaves_no_trace(void **state)
{
    (void)state;
    check_order_independence(32);
    check_order_independence(12);
    check_order_independence(4);
    check_order_independence(1);
}

/* Looks for a name with three points in the last of 256 homes. */
static void name_crowding_the_end(char *name, size_t size)
{
    for (unsigned i = 0; i < 100000; i++) {
        int last = 0;

        snprintf(name, size, "end-%u", i);
        for (uint32_t number = 0; number < LBR_RING_POINTS; number++)
            last += lbr_hash_seeded(name, strlen(name), number) >> 56 == 0xff;
        if (last >= 3)
            return;
    }
    fail();
}

/* With room for a single point behind the last home the table is laid out
 * anew, with a longer tail. */
static void a_full_tail_grows(void **state)
{
    struct test_rng rng = {1};
    struct model model;
    (void)state;

    open_model(&model, 32);
    model.ring.tail = 1;
    name_crowding_the_end(model.names[0], sizeof model.names[0]);
    add(&model, 0, LBR_RING_POINTS);
    assert_true(model.ring.tail > 1);
    check(&model, &rng);
    close_model(&model);
}

static void a_tail_that_cannot_grow(void **state)
{
    struct test_rng rng = {2};
    struct model model;
    (void)state;

    open_model(&model, 32);
    model.ring.tail = 1;
    name_crowding_the_end(model.names[0], sizeof model.names[0]);
    add(&model, 1, 10);
    test_alloc_fail(&model.heap.alloc, 0, 1);
    assert_false(lbr_ring_add(&model.ring, 0, LBR_RING_POINTS));
    check(&model, &rng);
    test_alloc_heal(&model.heap.alloc);
    add(&model, 0, LBR_RING_POINTS);
    check(&model, &rng);
    close_model(&model);
}

/* Tries an addition or a resize with the next allocation refused, and the one
 * after that, until it succeeds. */
static void change_against_odds(struct model *model, uint32_t owner,
                                uint32_t points, struct test_rng *rng)
{
    for (uint64_t after = 0;; after++) {
        int done;

        test_alloc_fail(&model->heap.alloc, after, 1);
        if (model->points[owner])
            done = lbr_ring_resize(&model->ring, owner, model->points[owner],
                                   points);
        else
            done = lbr_ring_add(&model->ring, owner, points);
        test_alloc_heal(&model->heap.alloc);
        if (done) {
            model->points[owner] = points;
            check(model, rng);
            return;
        }
        check(model, rng);
    }
}

static void without_memory_nothing_changes(void **state)
{
    static const unsigned hash_bits[] = {32, 4};
    (void)state;

    for (size_t i = 0; i < sizeof hash_bits / sizeof hash_bits[0]; i++) {
        struct test_rng rng = {i};
        struct model model;

        open_model(&model, hash_bits[i]);
        model.ring.tail = 1;
        for (uint32_t owner = 0; owner < OWNERS; owner++) {
            change_against_odds(&model, owner, LBR_RING_POINTS, &rng);
            change_against_odds(&model, owner, 400, &rng);
        }
        assert_true(model.heap.alloc.failures > 4);
        close_model(&model);
    }
}

static void shrinking_needs_no_memory(void **state)
{
    struct test_rng rng = {3};
    struct model model;
    (void)state;

    open_model(&model, 32);
    for (uint32_t owner = 0; owner < OWNERS; owner++)
        add(&model, owner, 400);
    test_alloc_fail(&model.heap.alloc, 0, UINT64_MAX);
    for (uint32_t owner = 0; owner < OWNERS; owner++) {
        change(&model, owner, 100);
        change(&model, owner, 0);
        check(&model, &rng);
    }
    assert_int_equal(model.heap.alloc.failures, 0);
    close_model(&model);
}

static void points_follow_weights(void **state)
{
    (void)state;
    assert_int_equal(lbr_ring_points_for(1), LBR_RING_POINTS);
    assert_int_equal(lbr_ring_points_for(2.5), 250);
    assert_int_equal(lbr_ring_points_for(0.5), 50);
    assert_int_equal(lbr_ring_points_for(0.014), 1);
    assert_int_equal(lbr_ring_points_for(0.016), 2);
    assert_int_equal(lbr_ring_points_for(1e-6), 1);
    assert_int_equal(lbr_ring_points_for(100), LBR_RING_MAX_POINTS);
    assert_int_equal(lbr_ring_points_for(1e9), LBR_RING_MAX_POINTS);
}

static void the_estimate_holds(void **state)
{
    struct model model;
    size_t points = 0;
    (void)state;

    open_model(&model, 32);
    for (uint32_t owner = 0; owner < OWNERS; owner++) {
        add(&model, owner, 400);
        points += 400;
        assert_true(model.heap.alloc.peak_bytes <= lbr_ring_estimate(points));
    }
    close_model(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_a_sorted_array),
        cmocka_unit_test(colliding_points),
        cmocka_unit_test(the_order_of_arrival_leaves_no_trace),
        cmocka_unit_test(a_full_tail_grows),
        cmocka_unit_test(a_tail_that_cannot_grow),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(shrinking_needs_no_memory),
        cmocka_unit_test(points_follow_weights),
        cmocka_unit_test(the_estimate_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
