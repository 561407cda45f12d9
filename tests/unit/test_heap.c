/* SPDX-License-Identifier: MIT */
/* containers/heap: against an array that is searched from end to end. */
#include "containers/heap.h"

#include <stdlib.h>

#include "support/rng.h"
#include "support/test.h"

#define MOST 300

/* Values are a base plus an offset; the model knows the offsets only, so it
 * does not depend on how large numbers compare. */
struct model {
    struct lbr_heap_node nodes[MOST];
    uint64_t offsets[MOST];
    int inside[MOST];
    struct lbr_heap_node *top;
};

/* The node that must be on top: highest value, then lowest order. */
static struct lbr_heap_node *best_of(struct model *model)
{
    size_t best = MOST;

    for (size_t i = 0; i < MOST; i++) {
        if (!model->inside[i])
            continue;
        if (best == MOST || model->offsets[i] > model->offsets[best] ||
            (model->offsets[i] == model->offsets[best] &&
             model->nodes[i].order < model->nodes[best].order))
            best = i;
    }
    return best == MOST ? NULL : &model->nodes[best];
}

static void put(struct model *model, size_t i, struct lbr_wide base,
                uint64_t offset, uint64_t order)
{
    struct lbr_wide wide = {0, offset};

    model->offsets[i] = offset;
    model->nodes[i].value = lbr_wide_add(base, wide);
    model->nodes[i].order = order;
    model->inside[i] = 1;
    lbr_heap_insert(&model->top, &model->nodes[i]);
}

static void take_out(struct model *model, size_t i)
{
    lbr_heap_remove(&model->top, &model->nodes[i]);
    model->inside[i] = 0;
}

/* Few different values make many ties; orders never repeat. */
static void check_random(size_t values, struct lbr_wide base)
{
    struct model model = {.top = NULL};
    struct test_rng rng = {values};
    uint64_t order = 1000000;

    for (uint64_t step = 0; step < 20000; step++) {
        size_t i = (size_t)test_rng_below(&rng, MOST);

        if (model.inside[i])
            take_out(&model, i);
        else
            put(&model, i, base, test_rng_below(&rng, values),
                step % 2 ? order + step : order - step);
        assert_ptr_equal(model.top, best_of(&model));
    }
    while (model.top) {
        assert_ptr_equal(model.top, best_of(&model));
        take_out(&model, (size_t)(model.top - model.nodes));
    }
    assert_null(best_of(&model));
}

static void random_operations(void **state)
{
    static const struct lbr_wide zero = {0, 0};
    (void)state;

    check_random(1, zero);
    check_random(5, zero);
    check_random(1000000, zero);
}

static void negative_values(void **state)
{
    static const struct lbr_wide below_zero = {UINT64_MAX, UINT64_MAX - 500};
    (void)state;

    check_random(1000, below_zero);
}

/* Schedules run on past the largest number; the order of neighbours holds. */
static void values_that_wrap(void **state)
{
    static const struct lbr_wide near_wrap = {UINT64_C(0x7fffffffffffffff),
                                              UINT64_MAX - 500};
    (void)state;

    check_random(1000, near_wrap);
}

#define LONG_CHAIN 200000

/* Sorted insertion makes the deepest and the widest heap; neither may need a
 * stack. */
static void drain_sorted(int ascending)
{
    struct lbr_heap_node *nodes = calloc(LONG_CHAIN, sizeof *nodes);
    struct lbr_heap_node *top = NULL;
    size_t left = LONG_CHAIN;

    assert_non_null(nodes);
    for (size_t i = 0; i < LONG_CHAIN; i++) {
        nodes[i].value.low = ascending ? i : LONG_CHAIN - i;
        lbr_heap_insert(&top, &nodes[i]);
    }
    while (left--) {
        struct lbr_heap_node *wanted =
            &nodes[ascending ? left : LONG_CHAIN - 1 - left];

        assert_ptr_equal(top, wanted);
        lbr_heap_remove(&top, top);
    }
    assert_null(top);
    free(nodes);
}

static void long_chains(void **state)
{
    (void)state;
    drain_sorted(0);
    drain_sorted(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations),
        cmocka_unit_test(negative_values),
        cmocka_unit_test(values_that_wrap),
        cmocka_unit_test(long_chains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
