/* SPDX-License-Identifier: MIT */
/* models/fair_queue: order, counters, and what is remembered of clients. */
#include "models/fair_queue.h"

#include <string.h>

#include "support/alloc.h"
#include "support/rng.h"
#include "support/test.h"

#define AGING (10 * TEST_S)

struct fixture {
    struct test_alloc alloc;
    struct lbr_memory memory;
    struct lbr_fair_table table;
    struct lbr_fair_queue queue;
    struct lbr_fair_entry entries[4096];
    size_t count;
};

static void open(struct fixture *fixture)
{
    lbroute_allocator allocator;

    memset(fixture, 0, sizeof *fixture);
    test_alloc_init(&fixture->alloc);
    test_alloc_hook(&fixture->alloc, &allocator);
    lbr_memory_init(&fixture->memory, &allocator);
    lbr_fair_table_init(&fixture->table, &fixture->memory, 10000);
    lbr_fair_queue_init(&fixture->queue, &fixture->table);
}

static void close(struct fixture *fixture)
{
    lbr_fair_queue_end(&fixture->queue);
    assert_int_equal(fixture->table.clients.live, 0);
    assert_int_equal(fixture->table.flows.live, 0);
    assert_int_equal(fixture->table.keys.count, 0);
    lbr_fair_table_destroy(&fixture->table);
    assert_int_equal(fixture->alloc.live_blocks, 0);
}

static struct lbr_fair_entry *add(struct fixture *fixture, uint64_t key,
                                  unsigned band, double cost, uint64_t now)
{
    struct lbr_fair_entry *entry = &fixture->entries[fixture->count++];

    assert_int_equal(lbr_fair_reserve(&fixture->table), 0);
    lbr_fair_add(&fixture->queue, entry, key, 0, band, cost, now);
    return entry;
}

/* Serves the next and gives its number; SIZE_MAX: nobody. */
static size_t serve(struct fixture *fixture, uint64_t now)
{
    struct lbr_fair_entry *entry = lbr_fair_first(&fixture->queue, now, AGING);

    if (!entry)
        return SIZE_MAX;
    lbr_fair_take(&fixture->queue, entry);
    (void)lbr_fair_served(&fixture->queue, entry);
    return (size_t)(entry - fixture->entries);
}

static void empty_queue(void **state)
{
    static struct fixture fixture;
    (void)state;

    open(&fixture);
    assert_null(lbr_fair_first(&fixture.queue, 0, AGING));
    assert_int_equal(lbr_fair_ahead(&fixture.queue, 1, 8), 0);
    assert_int_equal(lbr_fair_restore(&fixture.queue), 0);
    lbr_fair_correct(&fixture.table, 12345, 7);
    close(&fixture);
}

/* Requests without any cost go in the order in which they came. */
static void free_of_charge(void **state)
{
    static struct fixture fixture;
    (void)state;

    open(&fixture);
    for (size_t i = 0; i < 50; i++)
        add(&fixture, i % 7, 8, 0, 0);
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(serve(&fixture, 0), i);
    close(&fixture);
}

/* Putting back leaves everything as it was, wherever the entry stood. */
static void put_back(void **state)
{
    static struct fixture fixture;
    struct test_rng rng = {2};
    (void)state;

    open(&fixture);
    for (size_t i = 0; i < 60; i++)
        add(&fixture, i % 3, 7 + i % 2, 1, 0);
    for (int round = 0; round < 200; round++) {
        struct lbr_fair_entry *taken[20];
        size_t count = 1 + test_rng_below(&rng, 20);
        const struct lbr_fair_entry *first =
            lbr_fair_first(&fixture.queue, 0, AGING);
        for (size_t i = 0; i < count; i++) {
            taken[i] = lbr_fair_first(&fixture.queue, 0, AGING);
            lbr_fair_take(&fixture.queue, taken[i]);
        }
        while (count > 0) {
            size_t i = test_rng_below(&rng, (uint32_t)count);
            lbr_fair_put_back(&fixture.queue, taken[i]);
            taken[i] = taken[--count];
        }
        assert_ptr_equal(lbr_fair_first(&fixture.queue, 0, AGING), first);
    }
    for (size_t i = 0; i < 30; i++)
        assert_int_equal(serve(&fixture, 0), 2 * i + 1);
    for (size_t i = 0; i < 30; i++)
        assert_int_equal(serve(&fixture, 0), 2 * i);
    close(&fixture);
}

/* After four that found nobody a flow is passed over, until the end of the
 * round. */
static void set_aside(void **state)
{
    static struct fixture fixture;
    struct lbr_fair_entry *taken[6];
    (void)state;

    open(&fixture);
    for (size_t i = 0; i < 6; i++)
        add(&fixture, 1, 8, 0, 0);
    add(&fixture, 2, 8, 0, 0);
    for (size_t i = 0; i < 4; i++) {
        taken[i] = lbr_fair_first(&fixture.queue, 0, AGING);
        assert_ptr_equal(taken[i], &fixture.entries[i]);
        lbr_fair_take(&fixture.queue, taken[i]);
        lbr_fair_failed(&fixture.queue, taken[i]);
    }
    assert_ptr_equal(lbr_fair_first(&fixture.queue, 0, AGING),
                     &fixture.entries[6]);
    assert_int_equal(lbr_fair_restore(&fixture.queue), 1);
    assert_ptr_equal(lbr_fair_first(&fixture.queue, 0, AGING),
                     &fixture.entries[4]);
    for (size_t i = 0; i < 4; i++)
        lbr_fair_put_back(&fixture.queue, taken[i]);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(serve(&fixture, 0), i);
    close(&fixture);
}

/* The band of a waiter that has aged is on a par with the highest, at the time
 * at which it has and not before. */
static void aging(void **state)
{
    static struct fixture fixture;
    (void)state;

    open(&fixture);
    add(&fixture, 1, 2, 10, 5);
    for (size_t i = 0; i < 4; i++)
        add(&fixture, 2, 9, 10, 100);
    assert_int_equal(serve(&fixture, AGING + 4), 1);
    /* Client 2 has had one by now: 1 goes first. */
    assert_int_equal(serve(&fixture, AGING + 5), 0);
    add(&fixture, 1, 2, 10, AGING + 5);
    for (size_t i = 2; i < 5; i++)
        assert_int_equal(serve(&fixture, AGING + 5), i);
    assert_int_equal(serve(&fixture, AGING + 5), 5);
    close(&fixture);
}

/* As many as idle clients are remembered; those without a debt are not. */
static void idle_clients(void **state)
{
    static struct fixture fixture;
    (void)state;

    open(&fixture);
    for (uint64_t key = 1; key <= 3000; key++) {
        fixture.count = 0;
        add(&fixture, key, 8, 100, 0);
        (void)serve(&fixture, 0);
        assert_true(fixture.table.idle_count <= LBR_FAIR_IDLE);
        assert_int_equal(fixture.table.clients.live, fixture.table.idle_count);
    }
    fixture.count = 0;
    add(&fixture, 5000, 8, 0, 0);
    (void)serve(&fixture, 0);
    assert_true(fixture.table.idle_count < 3000);
    close(&fixture);
}

/* How many go before, from the queue as it is, is what then happens if nobody
 * comes; all requests cost the same here. */
static void ahead(void **state)
{
    static struct fixture fixture;
    struct test_rng rng = {11};
    (void)state;

    for (int round = 0; round < 300; round++) {
        size_t count = test_rng_below(&rng, 40);
        uint64_t key = test_rng_below(&rng, 5);
        unsigned band = 6 + (unsigned)test_rng_below(&rng, 3);
        uint32_t told;
        size_t served = 0;

        open(&fixture);
        for (size_t i = 0; i < count; i++) {
            add(&fixture, test_rng_below(&rng, 5),
                6 + (unsigned)test_rng_below(&rng, 3), 100, 0);
            if (test_rng_below(&rng, 4) == 0)
                (void)serve(&fixture, 0);
        }
        told = lbr_fair_ahead(&fixture.queue, key, band);
        count = fixture.count;
        add(&fixture, key, band, 100, 0);
        while (serve(&fixture, 0) != count)
            served++;
        assert_int_equal(told, served);
        while (serve(&fixture, 0) != SIZE_MAX)
            continue;
        close(&fixture);
    }
}

/* Corrections move a client at once, and never below nothing. */
static void corrections(void **state)
{
    static struct fixture fixture;
    uint64_t client;
    (void)state;

    open(&fixture);
    for (size_t i = 0; i < 4; i++)
        add(&fixture, 1 + i % 2, 8, 100, 0);
    lbr_fair_take(&fixture.queue, &fixture.entries[0]);
    client = lbr_fair_served(&fixture.queue, &fixture.entries[0]);
    assert_ptr_equal(lbr_fair_first(&fixture.queue, 0, AGING),
                     &fixture.entries[1]);
    lbr_fair_correct(&fixture.table, client, -1e9);
    assert_near(fixture.entries[2].flow->client->counter, 0, 0);
    lbr_fair_correct(&fixture.table, client, -1);
    assert_near(fixture.entries[2].flow->client->counter, 0, 0);
    lbr_fair_correct(&fixture.table, client, 1);
    assert_ptr_equal(lbr_fair_first(&fixture.queue, 0, AGING),
                     &fixture.entries[1]);
    lbr_fair_correct(&fixture.table, client + 1, 1e9);
    for (size_t i = 0; i < 3; i++)
        (void)serve(&fixture, 0);
    close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_queue), cmocka_unit_test(free_of_charge),
        cmocka_unit_test(put_back),    cmocka_unit_test(set_aside),
        cmocka_unit_test(aging),       cmocka_unit_test(idle_clients),
        cmocka_unit_test(ahead),       cmocka_unit_test(corrections),
    };
    return cmocka_run_group_tests_name("fair_queue", tests, NULL, NULL);
}
