/* SPDX-License-Identifier: MIT */
/* containers/map: against an array of pairs. */
#include "containers/map.h"

#include <stdbool.h>

#include "heap.h"
#include "support/rng.h"
#include "support/test.h"

#define MOST 400

struct pair {
    uint64_t key;
    uint32_t value;
};

struct model {
    struct unit_heap heap;
    struct lbr_map map;
    struct pair pairs[MOST];
    size_t count;
};

static void open_model(struct model *model)
{
    unit_heap_open(&model->heap);
    lbr_map_init(&model->map, &model->heap.memory);
    model->count = 0;
}

static void close_model(struct model *model)
{
    lbr_map_destroy(&model->map);
    unit_heap_close(&model->heap);
}

static void add(struct model *model, uint64_t key, uint32_t value)
{
    struct pair pair = {key, value};

    assert_true(lbr_map_reserve(&model->map));
    lbr_map_add(&model->map, key, value);
    model->pairs[model->count++] = pair;
}

static void remove_at(struct model *model, size_t place)
{
    lbr_map_remove(&model->map, model->pairs[place].key,
                   model->pairs[place].value);
    model->pairs[place] = model->pairs[--model->count];
}

/* Every value of |key| is found exactly once. */
static void check_key(const struct model *model, uint64_t key)
{
    bool found[MOST] = {false};
    uint32_t cursor = 0;
    uint32_t value;

    while ((value = lbr_map_next(&model->map, key, &cursor)) != LBR_MAP_NONE) {
        size_t i = 0;

        while (i < model->count && (found[i] || model->pairs[i].key != key ||
                                    model->pairs[i].value != value))
            i++;
        assert_true(i < model->count);
        found[i] = true;
    }
    for (size_t i = 0; i < model->count; i++)
        assert_int_equal(found[i], model->pairs[i].key == key);
}

/* Also that what is not there is not found. */
static void check(const struct model *model)
{
    for (size_t i = 0; i < model->count; i++) {
        check_key(model, model->pairs[i].key);
        check_key(model, model->pairs[i].key ^ 1);
        check_key(model, ~model->pairs[i].key);
    }
    assert_int_equal(model->map.count, model->count);
}

static void random_keys(void **state)
{
    struct test_rng rng = {1};
    struct model model;
    (void)state;

    open_model(&model);
    check_key(&model, 7);
    for (int step = 0; step < 6000; step++) {
        bool grow = test_rng_below(&rng, 1000) < (step < 3000 ? 600U : 400U);

        if (grow && model.count < MOST)
            add(&model, test_rng_next(&rng), (uint32_t)step);
        else if (model.count)
            remove_at(&model, (size_t)test_rng_below(&rng, model.count));
        if (step % 100 == 0)
            check(&model);
    }
    close_model(&model);
}

/* The last home slots: runs that continue at the start of the table, where
 * keys of low hashes have their homes. */
static uint64_t crowded_key(struct test_rng *rng)
{
    uint64_t top = test_rng_below(rng, 4) ? UINT64_MAX - test_rng_below(rng, 3)
                                          : test_rng_below(rng, 3);

    return top << 58 | test_rng_below(rng, 6);
}

static void long_runs_across_the_end(void **state)
{
    struct test_rng rng = {2};
    struct model model;
    (void)state;

    open_model(&model);
    for (int step = 0; step < 20000; step++) {
        if (model.count < 40 && test_rng_below(&rng, 2))
            add(&model, crowded_key(&rng), (uint32_t)step);
        else if (model.count)
            remove_at(&model, (size_t)test_rng_below(&rng, model.count));
        if (step % 10 == 0)
            check(&model);
    }
    while (model.count) {
        remove_at(&model, model.count / 2);
        check(&model);
    }
    close_model(&model);
}

static void equal_keys(void **state)
{
    struct test_rng rng = {3};
    struct model model;
    (void)state;

    open_model(&model);
    for (uint32_t value = 0; value < 90; value++)
        add(&model, value % 3 ? UINT64_MAX : 0, value);
    check(&model);
    while (model.count) {
        remove_at(&model, (size_t)test_rng_below(&rng, model.count));
        check_key(&model, UINT64_MAX);
        check_key(&model, 0);
    }
    close_model(&model);
}

/* The values at both ends of what an index can be. */
static void extreme_values(void **state)
{
    struct model model;
    (void)state;

    open_model(&model);
    add(&model, 5, 0);
    add(&model, 5, UINT32_MAX - 1);
    check(&model);
    remove_at(&model, 0);
    check(&model);
    close_model(&model);
}

/* Churn at one size must not make the table grow. */
static void churn_needs_no_memory(void **state)
{
    struct test_rng rng = {4};
    struct model model;
    uint64_t calls;
    (void)state;

    open_model(&model);
    while (model.count < 100)
        add(&model, test_rng_next(&rng), (uint32_t)model.count);
    calls = model.heap.alloc.calls;
    for (int step = 0; step < 20000; step++) {
        remove_at(&model, (size_t)test_rng_below(&rng, model.count));
        add(&model, test_rng_next(&rng), (uint32_t)step);
    }
    assert_int_equal(model.heap.alloc.calls, calls);
    check(&model);
    close_model(&model);
}

/* Room for one more is always made at the latest moment, so each growth is
 * refused once. */
static void without_memory_nothing_changes(void **state)
{
    struct test_rng rng = {5};
    struct model model;
    int refused = 0;
    (void)state;

    open_model(&model);
    while (model.count < MOST) {
        test_alloc_fail(&model.heap.alloc, 0, 1);
        if (!lbr_map_reserve(&model.map)) {
            refused++;
            check(&model);
        }
        test_alloc_heal(&model.heap.alloc);
        add(&model, test_rng_next(&rng), (uint32_t)model.count);
    }
    assert_true(refused >= 5);
    check(&model);
    close_model(&model);
}

static void the_estimate_holds(void **state)
{
    (void)state;
    for (uint32_t limit = 1; limit <= MOST; limit++) {
        struct test_rng rng = {limit};
        struct model model;

        open_model(&model);
        while (model.count < limit)
            add(&model, test_rng_next(&rng), (uint32_t)model.count);
        assert_true(model.heap.alloc.peak_bytes <= lbr_map_estimate(limit));
        close_model(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_keys),
        cmocka_unit_test(long_runs_across_the_end),
        cmocka_unit_test(equal_keys),
        cmocka_unit_test(extreme_values),
        cmocka_unit_test(churn_needs_no_memory),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(the_estimate_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
