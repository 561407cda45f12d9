/* SPDX-License-Identifier: MIT */
/* Prices, and the switch of the adaptive pools, while other threads pick. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "catalog.h"
#include "support/test.h"

enum { PICKERS = 2, ROUNDS = 4000 };

static struct storm {
    struct fleet fleet;
    lbroute_pool cheapest;
    pthread_barrier_t start;
    atomic_int done; /* pickers */
    atomic_size_t strange;
} storm;

static int known_rule(int rule)
{
    return rule == LBROUTE_RULE_CHEAPEST || rule == LBROUTE_RULE_ADAPTIVE ||
           rule == LBROUTE_RULE_EXPLORE || rule == LBROUTE_RULE_PIPELINE ||
           rule == LBROUTE_RULE_LEAST_CONNECTIONS;
}

static void *pick_all(void *user)
{
    lbroute_request request;
    lbroute_decision decision;
    lbroute_event event;
    (void)user;

    lbroute_request_init(&request, sizeof request);
    lbroute_decision_init(&decision, sizeof decision);
    lbroute_event_init(&event, sizeof event);
    event.kind = LBROUTE_EVENT_SUCCESS;
    pthread_barrier_wait(&storm.start);
    for (size_t i = 0; i < ROUNDS; i++) {
        request.pool = i % 2 ? storm.fleet.pool : storm.cheapest;
        if (lbroute_pick(storm.fleet.router, &request, i * TEST_MS,
                         &decision) != LBROUTE_OK ||
            !known_rule(decision.rule) || decision.expected_cost_pusd < -1)
            atomic_fetch_add(&storm.strange, 1);
        event.ticket = decision.ticket;
        if (lbroute_observe(storm.fleet.router, &event,
                            i * TEST_MS + TEST_MS) != LBROUTE_OK)
            atomic_fetch_add(&storm.strange, 1);
    }
    atomic_fetch_add(&storm.done, 1);
    return NULL;
}

/* Prices that come and go, a walk over them, the switch. */
static void *disturb(void *user)
{
    lbroute_price price = catalog_price(1, 2, 3);
    char key[LBROUTE_NAME_MAX + 1];
    size_t length;
    uint64_t place;
    (void)user;

    pthread_barrier_wait(&storm.start);
    for (int i = 0; atomic_load(&storm.done) < PICKERS; i++) {
        price.input = i % 100;
        if (lbroute_set_price(storm.fleet.router, "a", 1, &price) != LBROUTE_OK)
            atomic_fetch_add(&storm.strange, 1);
        lbroute_set_adaptive(storm.fleet.router, i / 8 % 2);
        if (i % 4 == 0)
            lbroute_remove_price(storm.fleet.router, "b", 1);
        else
            lbroute_set_price(storm.fleet.router, "b", 1, &price);
        place = 0;
        while (lbroute_price_next(storm.fleet.router, place, &place, key,
                                  sizeof key, &length) == LBROUTE_OK)
            ;
        if (lbroute_get_price(storm.fleet.router, "a", 1, &price) != LBROUTE_OK)
            atomic_fetch_add(&storm.strange, 1);
    }
    return NULL;
}

static void add_targets(void)
{
    catalog_add(&storm.fleet, "a", 0);
    catalog_add(&storm.fleet, "b", 0);
    catalog_add(&storm.fleet, NULL, 0);
}

static void prices_and_switch_in_a_storm(void **state)
{
    pthread_t threads[PICKERS + 1];
    (void)state;

    memset(&storm, 0, sizeof storm);
    fleet_open(&storm.fleet, "cheapest", 0, 1);
    add_targets();
    storm.cheapest = storm.fleet.pool;
    fleet_add_pool(&storm.fleet, "adaptive", "adaptive");
    add_targets();
    assert_int_equal(pthread_barrier_init(&storm.start, NULL, PICKERS + 1), 0);
    for (int i = 0; i < PICKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pick_all, NULL), 0);
    assert_int_equal(pthread_create(&threads[PICKERS], NULL, disturb, NULL), 0);
    for (int i = 0; i <= PICKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&storm.start);
    assert_int_equal(storm.strange, 0);
    assert_int_equal(fleet_totals(&storm.fleet).picks, PICKERS * ROUNDS);
    fleet_close(&storm.fleet);
}

/* Once the call has returned, no pick of any thread is adaptive. */
static void *pick_plain(void *user)
{
    lbroute_request request;
    lbroute_decision decision;
    (void)user;

    lbroute_request_init(&request, sizeof request);
    lbroute_decision_init(&decision, sizeof decision);
    request.pool = storm.fleet.pool;
    pthread_barrier_wait(&storm.start);
    for (size_t i = 0; i < ROUNDS; i++)
        if (lbroute_pick(storm.fleet.router, &request, 0, &decision) !=
                LBROUTE_OK ||
            decision.rule != LBROUTE_RULE_PIPELINE)
            atomic_fetch_add(&storm.strange, 1);
    return NULL;
}

static void off_holds_for_every_thread(void **state)
{
    pthread_t threads[PICKERS];
    (void)state;

    memset(&storm, 0, sizeof storm);
    fleet_open(&storm.fleet, "adaptive", 0, 1);
    fleet_param(&storm.fleet, "adaptive.min_picks", 0);
    add_targets();
    catalog_flat(&storm.fleet, "a", 1);
    catalog_flat(&storm.fleet, "b", 2);
    assert_int_equal(pthread_barrier_init(&storm.start, NULL, PICKERS + 1), 0);
    for (int i = 0; i < PICKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pick_plain, NULL),
                         0);
    assert_int_equal(lbroute_set_adaptive(storm.fleet.router, 0), LBROUTE_OK);
    pthread_barrier_wait(&storm.start);
    for (int i = 0; i < PICKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&storm.start);
    assert_int_equal(storm.strange, 0);
    fleet_close(&storm.fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_and_switch_in_a_storm),
        cmocka_unit_test(off_holds_for_every_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
