/* SPDX-License-Identifier: MIT */
/*
 * `sticky_session` against a naive table of pins: a list in the order of use,
 * the oldest first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "prng.h"

enum { TARGETS = 6, POOLS = 2, KEYS = 24, MOST_PINS = 8, OPEN = 32 };

struct pin {
    size_t pool;
    uint32_t key;
    lbroute_target target;
    uint64_t used_at;
};

struct open_request {
    lbroute_ticket ticket;
    size_t pool;
    uint32_t key; /* KEYS: none */
    lbroute_target target;
};

static struct run {
    struct rng rng;
    lbroute_router *router;
    lbroute_pool pools[POOLS];
    uint64_t now;
    uint64_t ttl;
    struct {
        lbroute_target handle;
        int out;
        uint32_t in_flight;
    } targets[POOLS][TARGETS];
    size_t pin_count;
    struct pin pins[MOST_PINS];
    size_t open_count;
    struct open_request open[OPEN];
} run;

/* --- The table ----------------------------------------------------------- */

static void drop_pin(size_t place)
{
    run.pin_count--;
    memmove(&run.pins[place], &run.pins[place + 1],
            (run.pin_count - place) * sizeof run.pins[0]);
}

static void drop_pins_of(lbroute_target target)
{
    for (size_t i = run.pin_count; i > 0; i--) {
        if (run.pins[i - 1].target == target)
            drop_pin(i - 1);
    }
}

/* The place of a pin, expired or not; MOST_PINS: none. */
static size_t find_pin(size_t pool, uint32_t key)
{
    for (size_t i = 0; i < run.pin_count; i++) {
        if (run.pins[i].pool == pool && run.pins[i].key == key)
            return i;
    }
    return MOST_PINS;
}

static void append_pin(size_t pool, uint32_t key, lbroute_target target)
{
    struct pin pin = {pool, key, target, run.now};
    run.pins[run.pin_count++] = pin;
}

static void learn(size_t pool, uint32_t key, lbroute_target target)
{
    size_t place = find_pin(pool, key);
    if (place < MOST_PINS)
        drop_pin(place);
    else if (run.pin_count == MOST_PINS)
        drop_pin(0);
    append_pin(pool, key, target);
}

/* The target that a key is pinned to, 0: none. Using the pin renews it. */
static lbroute_target use_pin(size_t pool, uint32_t key)
{
    size_t place = find_pin(pool, key);
    if (place == MOST_PINS || run.now - run.pins[place].used_at >= run.ttl)
        return 0;
    lbroute_target target = run.pins[place].target;
    drop_pin(place);
    append_pin(pool, key, target);
    return target;
}

/* --- The fleet ----------------------------------------------------------- */

static void add_target(size_t pool, size_t number)
{
    char name[32];
    snprintf(name, sizeof name, "p%zu t%zu", pool, number);
    run.targets[pool][number].handle =
        api_target(run.router, run.pools[pool], name, 1);
    run.targets[pool][number].out = 0;
    run.targets[pool][number].in_flight = 0;
}

static void start(uint64_t seed)
{
    lbroute_router_options options;
    check_context("sessions", seed);
    memset(&run, 0, sizeof run);
    rng_seed(&run.rng, seed);
    run.ttl = 10 * SECOND;
    lbroute_router_options_init(&options, sizeof options);
    options.seed = seed;
    options.max_sessions = MOST_PINS;
    CHECK_I(lbroute_router_create(&options, &run.router), LBROUTE_OK);
    for (size_t i = 0; i < POOLS; i++) {
        run.pools[i] = api_pool(run.router, i ? "b" : "a", "sticky_session");
        api_set(run.router, run.pools[i], "session.ttl", 10);
        for (size_t j = 0; j < TARGETS; j++)
            add_target(i, j);
    }
}

static size_t number_of(size_t pool, lbroute_target target)
{
    for (size_t i = 0; i < TARGETS; i++) {
        if (run.targets[pool][i].handle == target)
            return i;
    }
    return TARGETS;
}

static void replace_target(void)
{
    size_t pool = rng_below(&run.rng, POOLS);
    size_t number = rng_below(&run.rng, TARGETS);
    lbroute_target target = run.targets[pool][number].handle;
    CHECK_I(lbroute_target_remove(run.router, target), LBROUTE_OK);
    drop_pins_of(target);
    add_target(pool, number);
}

static void drain_target(void)
{
    size_t pool = rng_below(&run.rng, POOLS);
    size_t number = rng_between(&run.rng, 1, TARGETS - 1);
    int out = rng_chance(&run.rng, 40);
    run.targets[pool][number].out = out;
    CHECK_I(lbroute_target_drain(run.router, run.targets[pool][number].handle,
                                 out, run.now),
            LBROUTE_OK);
}

/* --- Traffic ------------------------------------------------------------- */

/* Even keys are sessions, odd ones clients without a session; sessions come
 * with whatever client. */
static void fill_request(uint32_t key, lbroute_request *request,
                         char session[32], char client[32])
{
    session[0] = 0;
    snprintf(client, 32, "client %u", rng_below(&run.rng, 3));
    if (key < KEYS && key % 2 == 0)
        snprintf(session, 32, "session %u", key);
    else if (key < KEYS)
        snprintf(client, 32, "lone client %u", key);
    else
        client[0] = 0;
    api_set_session(request, session);
    request->client = client;
    request->client_len = strlen(client);
}

static void check_least(size_t pool, size_t number)
{
    for (size_t i = 0; i < TARGETS; i++) {
        if (!run.targets[pool][i].out)
            CHECK(run.targets[pool][number].in_flight <=
                  run.targets[pool][i].in_flight);
    }
}

static void pick(void)
{
    char session[32];
    char client[32];
    lbroute_request request;
    lbroute_decision decision;
    size_t pool = rng_below(&run.rng, POOLS);
    uint32_t key = rng_below(&run.rng, KEYS + 1);
    if (run.open_count == OPEN)
        return;
    if (rng_chance(&run.rng, 70))
        key = rng_below(&run.rng, 6);
    api_request(&request, run.pools[pool]);
    fill_request(key, &request, session, client);
    lbroute_target pinned = key < KEYS ? use_pin(pool, key) : 0;
    api_pick(run.router, &request, run.now, &decision);
    size_t number = number_of(pool, decision.target);
    CHECK(number < TARGETS);
    if (pinned && !run.targets[pool][number_of(pool, pinned)].out) {
        CHECK_U(decision.target, pinned);
        CHECK_I(decision.rule, LBROUTE_RULE_STICKY_SESSION);
    } else {
        CHECK_I(decision.rule, LBROUTE_RULE_LEAST_CONNECTIONS);
        check_least(pool, number);
    }
    run.targets[pool][number].in_flight++;
    struct open_request open = {decision.ticket, pool, key, decision.target};
    run.open[run.open_count++] = open;
}

static void settle(void)
{
    static const int others[] = {LBROUTE_EVENT_CLIENT_ERROR,
                                 LBROUTE_EVENT_CANCEL, LBROUTE_EVENT_FAILURE};
    if (run.open_count == 0)
        return;
    size_t at = rng_below(&run.rng, (uint32_t)run.open_count);
    struct open_request settled = run.open[at];
    int kind = LBROUTE_EVENT_SUCCESS;
    if (rng_chance(&run.rng, 30))
        kind = others[rng_below(&run.rng, 3)];
    api_settle(run.router, settled.ticket, kind, run.now);
    run.open[at] = run.open[--run.open_count];
    size_t number = number_of(settled.pool, settled.target);
    if (number == TARGETS)
        return;
    run.targets[settled.pool][number].in_flight--;
    if (kind == LBROUTE_EVENT_SUCCESS && settled.key < KEYS)
        learn(settled.pool, settled.key, settled.target);
}

static void check_table(void)
{
    uint64_t alive = 0;
    for (size_t i = 0; i < run.pin_count; i++)
        alive += run.now - run.pins[i].used_at < run.ttl;
    lbroute_stats stats = api_stats(run.router);
    CHECK(stats.sessions <= run.pin_count);
    CHECK(stats.sessions >= alive);
}

static void run_program(uint64_t seed)
{
    start(seed);
    for (int i = 0; i < POOLS; i++)
        api_set(run.router, run.pools[i], "health.bench_after", 0);
    for (size_t i = 0; i < scaled(10000); i++) {
        check_step(i);
        if (rng_chance(&run.rng, 30))
            run.now += rng_below(&run.rng, 5) * SECOND / 2;
        if (rng_chance(&run.rng, 3))
            replace_target();
        if (rng_chance(&run.rng, 5))
            drain_target();
        if (rng_chance(&run.rng, 52))
            pick();
        else
            settle();
        check_table();
    }
    lbroute_router_destroy(run.router);
}

static void random_sessions(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        run_program(seed);
}

/* --- One session --------------------------------------------------------- */

static int32_t rule_at(const lbroute_request *request, uint64_t now,
                       lbroute_target *target, int kind)
{
    lbroute_decision decision;
    api_pick(run.router, request, now, &decision);
    *target = decision.target;
    api_settle(run.router, decision.ticket, kind, now);
    return decision.rule;
}

/* At the age of one TTL a pin is gone; each pick renews it; only a success
 * makes one. */
static void pins_end_at_their_ttl(void **state)
{
    (void)state;
    lbroute_request request;
    lbroute_target first = 0;
    lbroute_target target = 0;
    start(1);
    api_request(&request, run.pools[0]);
    api_set_session(&request, "s");
    for (int kind = LBROUTE_EVENT_FAILURE; kind < LBROUTE_EVENT_COUNT; kind++)
        CHECK_I(rule_at(&request, 0, &target, kind),
                LBROUTE_RULE_LEAST_CONNECTIONS);
    CHECK_I(rule_at(&request, 0, &first, LBROUTE_EVENT_SUCCESS),
            LBROUTE_RULE_LEAST_CONNECTIONS);
    for (uint64_t i = 1; i <= 5; i++) {
        CHECK_I(
            rule_at(&request, i * (run.ttl - 1), &target, LBROUTE_EVENT_CANCEL),
            LBROUTE_RULE_STICKY_SESSION);
        CHECK_U(target, first);
    }
    CHECK_I(rule_at(&request, 5 * (run.ttl - 1) + run.ttl, &target,
                    LBROUTE_EVENT_CANCEL),
            LBROUTE_RULE_LEAST_CONNECTIONS);
    lbroute_router_destroy(run.router);
}

/* While its target is full, benched, draining or excluded a pin yields; it
 * moves to where the session then succeeds. */
static void pins_yield_and_move(void **state)
{
    (void)state;
    lbroute_request request;
    lbroute_target home = 0;
    lbroute_target target = 0;
    lbroute_target other = 0;
    start(2);
    api_request(&request, run.pools[0]);
    api_set_session(&request, "s");
    (void)rule_at(&request, 0, &home, LBROUTE_EVENT_SUCCESS);
    request.exclude = &home;
    request.exclude_len = 1;
    CHECK_I(rule_at(&request, 1, &target, LBROUTE_EVENT_FAILURE),
            LBROUTE_RULE_LEAST_CONNECTIONS);
    CHECK(target != home);
    request.exclude_len = 0;
    CHECK_I(rule_at(&request, 2, &target, LBROUTE_EVENT_CANCEL),
            LBROUTE_RULE_STICKY_SESSION);
    CHECK_U(target, home);

    CHECK_I(lbroute_target_drain(run.router, home, 1, 3), LBROUTE_OK);
    CHECK_I(rule_at(&request, 3, &other, LBROUTE_EVENT_SUCCESS),
            LBROUTE_RULE_LEAST_CONNECTIONS);
    CHECK_I(lbroute_target_drain(run.router, home, 0, 4), LBROUTE_OK);
    CHECK_I(rule_at(&request, 4, &target, LBROUTE_EVENT_CANCEL),
            LBROUTE_RULE_STICKY_SESSION);
    CHECK_U(target, other);
    lbroute_router_destroy(run.router);
}

/* A pin to a target that has gone to another pool is worth nothing, in
 * neither pool; there it may even stand at the place of an old neighbour. */
static void pins_do_not_follow_a_moved_target(void **state)
{
    (void)state;
    lbroute_request request;
    lbroute_target home = 0;
    lbroute_target target = 0;
    start(4);
    api_request(&request, run.pools[0]);
    api_set_session(&request, "s");
    (void)rule_at(&request, 0, &home, LBROUTE_EVENT_SUCCESS);
    lbroute_pool away = api_pool(run.router, "away", "sticky_session");
    lbroute_target_options options;
    api_target_options(&options, away, "ignored", 1);
    CHECK_I(lbroute_target_update(run.router, home, &options, 0), LBROUTE_OK);
    for (int i = 0; i < 20; i++) {
        request.pool = i % 2 ? away : run.pools[0];
        CHECK_I(rule_at(&request, 0, &target, LBROUTE_EVENT_CANCEL),
                LBROUTE_RULE_LEAST_CONNECTIONS);
        CHECK_I(target == home, i % 2);
    }
    lbroute_router_destroy(run.router);
}

/* Digests tell sessions apart, are the same for the same key, and differ
 * between routers with other keys. */
static void digests_are_keyed(void **state)
{
    (void)state;
    lbroute_request request;
    lbroute_decision decisions[4];
    start(3);
    api_request(&request, run.pools[0]);
    api_pick(run.router, &request, 0, &decisions[0]);
    CHECK_U(decisions[0].sticky_digest, 0);
    api_set_session(&request, "s");
    api_pick(run.router, &request, 0, &decisions[0]);
    request.client = "c";
    request.client_len = 1;
    api_pick(run.router, &request, 0, &decisions[1]);
    api_set_session(&request, "");
    api_pick(run.router, &request, 0, &decisions[2]);
    CHECK_U(decisions[0].sticky_digest, decisions[1].sticky_digest);
    CHECK(decisions[0].sticky_digest != decisions[2].sticky_digest);
    lbroute_router_destroy(run.router);
    start(4);
    api_request(&request, run.pools[0]);
    api_set_session(&request, "s");
    api_pick(run.router, &request, 0, &decisions[3]);
    CHECK(decisions[0].sticky_digest != decisions[3].sticky_digest);
    lbroute_router_destroy(run.router);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sessions),
        cmocka_unit_test(pins_end_at_their_ttl),
        cmocka_unit_test(pins_yield_and_move),
        cmocka_unit_test(pins_do_not_follow_a_moved_target),
        cmocka_unit_test(digests_are_keyed),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
