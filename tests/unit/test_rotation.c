/* SPDX-License-Identifier: MIT */
/* models/rotation: against a queue in order of waiting. */
#include "models/rotation.h"

#include <stdbool.h>
#include <string.h>

#include "support/rng.h"
#include "support/test.h"

#define PLACES 10

struct model {
    struct lbr_rotation rotation;
    struct lbr_rotation_place places[PLACES];
    bool usable[PLACES];
    size_t queue[PLACES]; /* longest waiting first */
    size_t list[PLACES];  /* in order of arrival */
    size_t count;
    size_t last; /* served last, PLACES: none or gone */
};

static void open_model(struct model *model)
{
    memset(model, 0, sizeof *model);
    model->last = PLACES;
}

static size_t index_of(const size_t *array, size_t count, size_t value)
{
    size_t i = 0;

    while (i < count && array[i] != value)
        i++;
    return i;
}

static void insert(size_t *array, size_t count, size_t at, size_t value)
{
    memmove(array + at + 1, array + at, (count - at) * sizeof *array);
    array[at] = value;
}

static void erase(size_t *array, size_t count, size_t at)
{
    memmove(array + at, array + at + 1, (count - at - 1) * sizeof *array);
}

/* Behind the last of the list, or next if that one was served last. */
static void add(struct model *model, size_t i)
{
    size_t before = model->count ? model->list[model->count - 1] : PLACES;
    size_t at = 0;

    if (before != PLACES && before != model->last)
        at = index_of(model->queue, model->count, before) + 1;
    lbr_rotation_add(&model->rotation, &model->places[i],
                     model->count ? &model->places[before] : NULL,
                     model->count ? &model->places[model->queue[0]] : NULL);
    insert(model->queue, model->count, at, i);
    insert(model->list, model->count, model->count, i);
    model->usable[i] = false;
    model->count++;
}

static void drop(struct model *model, size_t i)
{
    lbr_rotation_remove(&model->rotation, &model->places[i]);
    erase(model->queue, model->count, index_of(model->queue, model->count, i));
    erase(model->list, model->count, index_of(model->list, model->count, i));
    model->count--;
    if (model->last == i)
        model->last = PLACES;
}

static void use(struct model *model, size_t i, bool usable)
{
    lbr_rotation_set_active(&model->rotation, &model->places[i], usable);
    model->usable[i] = usable;
}

/* Whoever is served, usable or not, waits behind all others. */
static void serve(struct model *model, size_t i)
{
    lbr_rotation_serve(&model->rotation, &model->places[i]);
    erase(model->queue, model->count, index_of(model->queue, model->count, i));
    model->queue[model->count - 1] = i;
    model->last = i;
}

static size_t next_of(const struct model *model)
{
    size_t i = 0;

    while (i < model->count && !model->usable[model->queue[i]])
        i++;
    return i < model->count ? model->queue[i] : PLACES;
}

static void check(const struct model *model)
{
    const struct lbr_rotation_place *top = lbr_rotation_peek(&model->rotation);
    size_t next = next_of(model);

    assert_ptr_equal(top, next == PLACES ? NULL : &model->places[next]);
    for (size_t i = 1; i < model->count; i++) {
        const struct lbr_rotation_place *a =
            &model->places[model->queue[i - 1]];
        const struct lbr_rotation_place *b = &model->places[model->queue[i]];

        assert_true(lbr_rotation_before(a, b));
        assert_false(lbr_rotation_before(b, a));
    }
}

static void one_operation(struct model *model, struct test_rng *rng)
{
    size_t i = (size_t)test_rng_below(rng, PLACES);
    uint64_t dice = test_rng_below(rng, 100);

    if (index_of(model->list, model->count, i) == model->count) {
        if (dice < 20)
            add(model, i);
    } else if (dice < 3) {
        drop(model, i);
    } else if (dice < 25) {
        use(model, i, test_rng_below(rng, 4) > 0);
    } else if (dice < 35) {
        serve(model, i);
    } else if (next_of(model) != PLACES) {
        serve(model, next_of(model));
    }
}

static void check_random(uint64_t served)
{
    struct test_rng rng = {served};
    struct model model;

    open_model(&model);
    model.rotation.served = served;
    check(&model);
    for (int step = 0; step < 100000; step++) {
        one_operation(&model, &rng);
        check(&model);
    }
}

static void random_operations(void **state)
{
    (void)state;
    check_random(0);
}

/* The count of services wraps, as does the sign of what is made of it. */
static void counts_that_wrap(void **state)
{
    (void)state;
    check_random(UINT64_MAX - 1000);
    check_random(UINT64_MAX / 2 - 1000);
}

static void the_order_of_the_list(void **state)
{
    struct model model;
    (void)state;

    open_model(&model);
    for (size_t i = 0; i < 4; i++) {
        add(&model, i);
        use(&model, i, true);
    }
    for (size_t pick = 0; pick < 40; pick++) {
        assert_ptr_equal(lbr_rotation_peek(&model.rotation),
                         &model.places[pick % 4]);
        serve(&model, pick % 4);
    }
}

/* The share of one that is out goes to all others. */
static void a_missing_share_goes_to_all(void **state)
{
    int served[5] = {0};
    struct model model;
    (void)state;

    open_model(&model);
    for (size_t i = 0; i < 5; i++) {
        add(&model, i);
        use(&model, i, i != 2);
    }
    for (int pick = 0; pick < 400; pick++) {
        size_t next = next_of(&model);

        check(&model);
        served[next]++;
        serve(&model, next);
    }
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(served[i], i == 2 ? 0 : 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations),
        cmocka_unit_test(counts_that_wrap),
        cmocka_unit_test(the_order_of_the_list),
        cmocka_unit_test(a_missing_share_goes_to_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
