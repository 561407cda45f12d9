/* SPDX-License-Identifier: MIT */
/* state/ticket: open tickets, oldest first. */
#include "state/ticket.h"

#include "heap.h"
#include "support/rng.h"
#include "support/test.h"

#define LIMIT 50
#define TTL 1000

struct model {
    struct unit_heap heap;
    struct lbr_tickets tickets;
    struct lbr_ticket *open[LIMIT]; /* oldest first */
    uint64_t picked_at[LIMIT];
    size_t count;
};

static void open_model(struct model *model, uint64_t ttl)
{
    unit_heap_open(&model->heap);
    lbr_tickets_init(&model->tickets, &model->heap.memory, LIMIT, ttl);
    model->count = 0;
}

static void close_model(struct model *model)
{
    lbr_tickets_destroy(&model->tickets);
    unit_heap_close(&model->heap);
}

static struct lbr_ticket *pick(struct model *model, uint64_t now)
{
    struct lbr_ticket *ticket = NULL;

    assert_int_equal(lbr_tickets_open(&model->tickets, now, &ticket),
                     LBROUTE_OK);
    assert_true(ticket->picked_at == now);
    assert_ptr_equal(lbr_tickets_find(&model->tickets, ticket->slot.handle),
                     ticket);
    model->open[model->count] = ticket;
    model->picked_at[model->count++] = now;
    return ticket;
}

static void settle(struct model *model, size_t place)
{
    lbroute_ticket handle = model->open[place]->slot.handle;

    lbr_tickets_close(&model->tickets, model->open[place]);
    assert_null(lbr_tickets_find(&model->tickets, handle));
    for (model->count--; place < model->count; place++) {
        model->open[place] = model->open[place + 1];
        model->picked_at[place] = model->picked_at[place + 1];
    }
}

/* The expired ones come first, in order, and then no more. */
static void check(const struct model *model, uint64_t now)
{
    struct lbr_ticket *ticket = NULL;
    uint64_t deadline = lbr_tickets_deadline(&model->tickets);

    assert_true(deadline ==
                (model->count ? model->picked_at[0] + TTL : LBR_NEVER));
    for (size_t i = 0; i < model->count; i++) {
        ticket = lbr_tickets_expired(&model->tickets, ticket, now);
        if (now < model->picked_at[i] + TTL) {
            assert_null(ticket);
            return;
        }
        assert_ptr_equal(ticket, model->open[i]);
    }
    assert_null(lbr_tickets_expired(&model->tickets, ticket, now));
}

static void random_operations(void **state)
{
    struct test_rng rng = {1};
    struct model model;
    uint64_t now = 0;
    (void)state;

    open_model(&model, TTL);
    check(&model, 0);
    for (int step = 0; step < 20000; step++) {
        now += test_rng_below(&rng, 40);
        if (model.count < LIMIT && test_rng_below(&rng, 2))
            (void)pick(&model, now);
        else if (model.count)
            settle(&model, (size_t)test_rng_below(&rng, model.count));
        check(&model, now);
        check(&model, now + test_rng_below(&rng, 2 * TTL));
    }
    close_model(&model);
}

static void the_limit_is_a_limit(void **state)
{
    struct lbr_ticket *ticket = NULL;
    struct model model;
    (void)state;

    open_model(&model, TTL);
    while (model.count < LIMIT)
        (void)pick(&model, 5);
    assert_int_equal(lbr_tickets_open(&model.tickets, 6, &ticket),
                     LBROUTE_ERR_LIMIT);
    check(&model, 6);
    settle(&model, 10);
    (void)pick(&model, 7);
    assert_true(model.heap.alloc.peak_bytes <= lbr_tickets_estimate(LIMIT));
    close_model(&model);
}

static void without_memory_nothing_changes(void **state)
{
    struct lbr_ticket *ticket = NULL;
    struct model model;
    (void)state;

    open_model(&model, TTL);
    for (uint64_t after = 0; after < 2; after++) {
        test_alloc_fail(&model.heap.alloc, after, 1);
        assert_int_equal(lbr_tickets_open(&model.tickets, 0, &ticket),
                         LBROUTE_ERR_NO_MEMORY);
        test_alloc_heal(&model.heap.alloc);
        check(&model, 0);
    }
    (void)pick(&model, 1);
    check(&model, 1);
    close_model(&model);
}

static void a_ticket_that_never_expires(void **state)
{
    struct model model;
    (void)state;

    open_model(&model, UINT64_MAX);
    (void)pick(&model, 5);
    assert_true(lbr_tickets_deadline(&model.tickets) == LBR_NEVER);
    assert_null(lbr_tickets_expired(&model.tickets, NULL, UINT64_MAX - 1));
    close_model(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations),
        cmocka_unit_test(the_limit_is_a_limit),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(a_ticket_that_never_expires),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
