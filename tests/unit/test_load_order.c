/* SPDX-License-Identifier: MIT */
/* models/load_order: against a scan, and the fairness of ties. */
#include "models/load_order.h"

#include <math.h>
#include <stdbool.h>

#include "heap.h"
#include "statistics.h"
#include "support/rng.h"
#include "support/test.h"

#define MOST 100
#define RANK_BITS 24 /* random bits of a rank, below its round */

struct model {
    struct unit_heap heap;
    struct lbr_load_order order;
    struct lbr_rng rng;
    double load[MOST];
};

static void open_model(struct model *model, uint64_t seed)
{
    static const struct lbr_load_order none;

    unit_heap_open(&model->heap);
    model->order = none;
    lbr_rng_init(&model->rng, seed);
}

static void close_model(struct model *model)
{
    lbr_load_order_destroy(&model->order, &model->heap.memory);
    unit_heap_close(&model->heap);
}

static void append(struct model *model)
{
    uint32_t count = model->order.count;

    assert_true(
        lbr_load_order_reserve(&model->order, &model->heap.memory, count + 1));
    lbr_load_order_append(&model->order, &model->rng);
    assert_int_equal(model->order.count, count + 1);
    model->load[count] = (double)INFINITY;
}

static void set(struct model *model, uint32_t position, double load)
{
    lbr_load_order_set(&model->order, position, load);
    model->load[position] = load;
}

static void take_out(struct model *model, uint32_t position)
{
    lbr_load_order_delete(&model->order, position);
    for (uint32_t i = position; i < model->order.count; i++)
        model->load[i] = model->load[i + 1];
}

/* The lowest load wins; among equals the one that goes first by rank. */
static void check(const struct model *model)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < model->order.count; i++)
        if (model->load[i] < model->load[best] ||
            (!(model->load[i] > model->load[best]) &&
             lbr_load_order_tie(&model->order, i, best)))
            best = i;
    if (model->order.count && isfinite(model->load[best]))
        assert_int_equal(lbr_load_order_first(&model->order), best);
}

static double random_load(struct test_rng *rng)
{
    if (test_rng_below(rng, 5) == 0)
        return (double)INFINITY;
    return (double)test_rng_below(rng, 6) / 3.0;
}

/* Uses a position: its rank is redrawn, and its load moves. */
static void use(struct model *model, uint32_t position, double load)
{
    lbr_load_order_used(&model->order, position, &model->rng);
    set(model, position, model->load[position] + 1);
    check(model);
    set(model, position, load);
}

static void random_operations(void **state)
{
    struct test_rng rng = {1};
    struct model model;
    (void)state;

    open_model(&model, 1);
    for (int step = 0; step < 50000; step++) {
        uint64_t dice = test_rng_below(&rng, 100);
        uint32_t count = model.order.count;
        uint32_t position = count ? (uint32_t)test_rng_below(&rng, count) : 0;

        if (count == 0 || (dice < 6 && count < MOST))
            append(&model);
        else if (dice < 10)
            take_out(&model, position);
        else if (dice < 60)
            set(&model, position, random_load(&rng));
        else if (isfinite(model.load[lbr_load_order_first(&model.order)]))
            use(&model, lbr_load_order_first(&model.order),
                (double)test_rng_below(&rng, 6) / 3.0);
        check(&model);
    }
    close_model(&model);
}

/* Of |count| positions of equal load the first is used; its load is then as
 * it was. */
static uint32_t serve(struct model *model)
{
    uint32_t first = lbr_load_order_first(&model->order);

    check(model);
    lbr_load_order_used(&model->order, first, &model->rng);
    set(model, first, 1);
    set(model, first, 0);
    return first;
}

static void add_equals(struct model *model, uint32_t count)
{
    while (model->order.count < count) {
        append(model);
        set(model, model->order.count - 1, 0);
    }
}

/* Each of |count| is served once. */
static void check_bag(struct model *model, uint32_t count)
{
    bool served[MOST] = {false};

    for (uint32_t i = 0; i < count; i++) {
        uint32_t position = serve(model);

        assert_false(served[position]);
        served[position] = true;
    }
}

/* With a tree and without. */
static void ties_are_a_shuffled_bag(void **state)
{
    static const uint32_t counts[] = {1, 2, 3, 8, 16, 17, 33, 100};
    (void)state;

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct model model;

        open_model(&model, i + 1);
        add_equals(&model, counts[i]);
        for (int bag = 0; bag < 50; bag++)
            check_bag(&model, counts[i]);
        close_model(&model);
    }
}

/* All six orders of three, and in each the first of the next bag, are equally
 * frequent: 18 outcomes. */
static void bags_are_shuffled_evenly(void **state)
{
    uint64_t counts[18] = {0};
    double parts[18];
    struct model model;
    uint32_t next;
    (void)state;

    for (size_t i = 0; i < 18; i++)
        parts[i] = 1 / 18.0;
    open_model(&model, 5);
    add_equals(&model, 3);
    for (int bag = 0; bag < 20000; bag++) {
        uint32_t first = serve(&model);
        uint32_t second = serve(&model);

        (void)serve(&model);
        next = lbr_load_order_first(&model.order);
        counts[first * 6 + (second > first ? second - 1 : second) * 3 + next]++;
    }
    assert_true(chi_square(counts, parts, 18) < chi_square_limit(17));
    close_model(&model);
}

/* One that comes later joins the current round instead of catching up on
 * those that it missed. */
static void newcomers_catch_nothing_up(void **state)
{
    struct model model;
    int served = 0;
    (void)state;

    open_model(&model, 1);
    add_equals(&model, 4);
    for (int bag = 0; bag < 25; bag++)
        check_bag(&model, 4);
    add_equals(&model, 5);
    for (int i = 0; i < 10; i++)
        served += serve(&model) == 4;
    assert_in_range(served, 1, 3);
    close_model(&model);
}

/* The same for one that was away under load. */
static void the_absent_catch_nothing_up(void **state)
{
    struct model model;
    int served = 0;
    (void)state;

    open_model(&model, 2);
    add_equals(&model, 5);
    set(&model, 2, 50);
    for (int i = 0; i < 400; i++)
        assert_int_not_equal(serve(&model), 2);
    set(&model, 2, 0);
    for (int i = 0; i < 10; i++)
        served += serve(&model) == 2;
    assert_in_range(served, 1, 3);
    close_model(&model);
}

/* Sets every rank to the same late round. */
static void preset_round(struct model *model, uint64_t round)
{
    uint64_t random = (UINT64_C(1) << RANK_BITS) - 1;

    model->order.round = round;
    for (uint32_t i = 0; i < model->order.count; i++) {
        uint64_t *tie = &model->order.keys[i].tie;

        *tie = (*tie & random) | round << RANK_BITS;
    }
    for (uint32_t i = 0; i < model->order.count; i++) {
        set(model, i, 1);
        set(model, i, 0);
    }
}

/* The round number has 40 bits. Where it starts again one bag may be mixed
 * with the next; before and after nothing changes. */
static void check_restart(uint32_t count)
{
    uint64_t late = (UINT64_C(1) << (64 - RANK_BITS)) - 5;
    uint64_t before = late;
    int served = 0;
    struct model model;

    open_model(&model, count);
    add_equals(&model, count);
    preset_round(&model, late);
    while (model.order.round >= before) {
        before = model.order.round;
        (void)serve(&model);
        served++;
        assert_true(served < 10 * MOST);
    }
    assert_true(served > 1);
    for (int bag = 0; bag < 20; bag++)
        check_bag(&model, count);
    close_model(&model);
}

static void rounds_start_again(void **state)
{
    (void)state;
    check_restart(2);
    check_restart(7);
    check_restart(40);
}

static void without_memory_nothing_changes(void **state)
{
    struct test_rng rng = {3};
    struct model model;
    (void)state;

    open_model(&model, 3);
    for (uint64_t after = 0; model.order.count < MOST;) {
        int room;

        test_alloc_fail(&model.heap.alloc, after, 1);
        room = lbr_load_order_reserve(&model.order, &model.heap.memory,
                                      model.order.count + 1);
        test_alloc_heal(&model.heap.alloc);
        check(&model);
        if (!room) {
            after++;
            continue;
        }
        after = 0;
        append(&model);
        set(&model, model.order.count - 1, random_load(&rng));
    }
    assert_true(model.heap.alloc.failures >= 5);
    close_model(&model);
}

/* Places double, the old table living until the new one is filled. */
static void the_estimate_holds(void **state)
{
    struct model model;
    (void)state;

    open_model(&model, 4);
    while (model.order.count < MOST) {
        size_t places;

        append(&model);
        places = model.order.count < 8 ? 8 : 2 * (size_t)model.order.count;
        assert_true(model.heap.alloc.live_bytes <=
                    places * lbr_load_order_estimate());
    }
    close_model(&model);
}

/* In the window unless above the lowest by more than 2 and by half. */
static void the_least_busy_window(void **state)
{
    (void)state;
    assert_true(lbr_load_in_window(0, 0));
    assert_true(lbr_load_in_window(2, 0));
    assert_false(lbr_load_in_window(2.125, 0));
    assert_true(lbr_load_in_window(4, 2));
    assert_false(lbr_load_in_window(4.125, 2));
    assert_true(lbr_load_in_window(6, 4));
    assert_false(lbr_load_in_window(6.125, 4));
    assert_true(lbr_load_in_window(15, 10));
    assert_false(lbr_load_in_window(15.125, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations),
        cmocka_unit_test(ties_are_a_shuffled_bag),
        cmocka_unit_test(bags_are_shuffled_evenly),
        cmocka_unit_test(newcomers_catch_nothing_up),
        cmocka_unit_test(the_absent_catch_nothing_up),
        cmocka_unit_test(rounds_start_again),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(the_estimate_holds),
        cmocka_unit_test(the_least_busy_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
