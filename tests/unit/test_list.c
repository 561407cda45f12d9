/* SPDX-License-Identifier: MIT */
/* containers/list: against an array. */
#include "containers/list.h"

#include "support/rng.h"
#include "support/test.h"

#define MOST 20

struct item {
    int number;
    struct lbr_link link;
};

struct model {
    struct lbr_link head;
    struct item items[MOST];
    struct item *order[MOST];
    size_t count;
};

static void check(const struct model *model)
{
    const struct lbr_link *link = model->head.next;

    assert_int_equal(lbr_list_empty(&model->head) != 0, model->count == 0);
    for (size_t i = 0; i < model->count; i++, link = link->next) {
        const struct item *item = LBR_OWNER(link, struct item, link);

        assert_ptr_equal(item, model->order[i]);
        assert_ptr_equal(link->next->previous, link);
        assert_ptr_equal(link->previous->next, link);
    }
    assert_ptr_equal(link, &model->head);
}

static void take_out(struct model *model, size_t place)
{
    lbr_list_remove(&model->order[place]->link);
    model->count--;
    for (; place < model->count; place++)
        model->order[place] = model->order[place + 1];
}

static void put_last(struct model *model, struct item *item)
{
    lbr_list_append(&model->head, &item->link);
    model->order[model->count++] = item;
}

static void toggle(struct model *model, struct item *item)
{
    for (size_t i = 0; i < model->count; i++)
        if (model->order[i] == item) {
            take_out(model, i);
            return;
        }
    put_last(model, item);
}

static void random_operations(void **state)
{
    struct test_rng rng = {1};
    struct model model;
    (void)state;

    lbr_list_init(&model.head);
    model.count = 0;
    check(&model);
    for (int step = 0; step < 5000; step++) {
        toggle(&model, &model.items[test_rng_below(&rng, MOST)]);
        check(&model);
    }
}

static void renewal_moves_to_the_end(void **state)
{
    struct model model;
    (void)state;

    lbr_list_init(&model.head);
    model.count = 0;
    for (size_t i = 0; i < 3; i++)
        put_last(&model, &model.items[i]);
    for (size_t i = 0; i < 3; i++) {
        struct item *first = model.order[0];

        take_out(&model, 0);
        put_last(&model, first);
        check(&model);
    }
    assert_ptr_equal(model.order[0], &model.items[0]);
}

static void the_front_comes_first(void **state)
{
    struct model model;
    (void)state;

    lbr_list_init(&model.head);
    model.count = 2;
    model.order[0] = &model.items[1];
    model.order[1] = &model.items[0];
    for (size_t i = 0; i < 2; i++)
        lbr_list_prepend(&model.head, &model.items[i].link);
    check(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations),
        cmocka_unit_test(renewal_moves_to_the_end),
        cmocka_unit_test(the_front_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
