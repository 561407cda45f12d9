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

struct runner {
    int resting;
    struct lbr_link link;
    struct lbr_link tasks;
    uint64_t seen_at;
};

struct lanes {
    struct lbr_link awake, asleep; /* runners, longest unseen first */
    uint32_t awake_count;
};

static int is_awake(const struct runner *runner, uint64_t now, uint64_t rest)
{
    return (now > runner->seen_at ? now - runner->seen_at : 0) < rest;
}

static struct runner *first_of(const struct lbr_link *list)
{
    return lbr_list_empty(list) ? NULL
                                : LBR_OWNER(list->next, struct runner, link);
}

/* Two loops that move objects between lists: gcc 12 leaves the first one's
 * reload out when it may assume that types tell addresses apart. */
static void sort_lanes(struct lanes *lanes, uint64_t now, uint64_t rest)
{
    struct runner *runner;

    while ((runner = first_of(&lanes->awake)) != NULL &&
           !is_awake(runner, now, rest)) {
        lbr_list_remove(&runner->link);
        lbr_list_append(&lanes->asleep, &runner->link);
        runner->resting = 1;
        lanes->awake_count--;
        if (runner->resting && lbr_list_empty(&runner->tasks))
            lbr_list_remove(&runner->link);
    }
    while (!lbr_list_empty(&lanes->asleep)) {
        runner = LBR_OWNER(lanes->asleep.previous, struct runner, link);
        if (!is_awake(runner, now, rest))
            return;
        lbr_list_remove(&runner->link);
        lbr_list_append(lanes->awake.next, &runner->link);
        runner->resting = 0;
        lanes->awake_count++;
    }
}

static void between_lists(void **state)
{
    void (*volatile sort)(struct lanes *, uint64_t, uint64_t) = sort_lanes;
    struct runner runners[3] = {0};
    struct lbr_link task;
    struct lanes lanes;
    (void)state;

    lbr_list_init(&lanes.awake);
    lbr_list_init(&lanes.asleep);
    lanes.awake_count = 3;
    for (size_t i = 0; i < 3; i++) {
        lbr_list_init(&runners[i].tasks);
        runners[i].seen_at = i;
        lbr_list_append(&lanes.awake, &runners[i].link);
    }
    lbr_list_append(&runners[0].tasks, &task);
    sort(&lanes, 100, 10);
    assert_int_equal(lanes.awake_count, 0);
    assert_true(lbr_list_empty(&lanes.awake));
    assert_ptr_equal(lanes.asleep.next, &runners[0].link);
    assert_ptr_equal(lanes.asleep.previous, &runners[0].link);
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
        cmocka_unit_test(between_lists),
        cmocka_unit_test(the_front_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
