/* SPDX-License-Identifier: MIT */
#include "fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What all targets together remember of prompts, where there are any. */
static const double PROMPT_BYTES = 128 << 20;

static const char SESSION[] = "3f2a9c54-6b1e-4d0f-9a7c-51e2d8b40000";

/* Models of different price, as many as a fleet may well have. */
enum { PRICES = 4 };
static const char *const price_keys[PRICES] = {"tiny", "small", "medium",
                                               "large"};

/* Strategies whose requests carry a session: without one they would fall
 * through to another rule. */
static int needs_session(const char *strategy)
{
    static const char *const names[] = {"consistent_hash", "sticky_session"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(strategy, names[i]) == 0)
            return 1;
    return 0;
}

/* Strategies that only decide by what first tokens and usage taught them. */
static int needs_answers(const char *strategy)
{
    return strcmp(strategy, "least_work") == 0;
}

double bench_weight(size_t index, size_t distinct)
{
    return (double)(1 + index % distinct);
}

size_t bench_target_name(char name[BENCH_TARGET_NAME], size_t index)
{
    return (size_t)snprintf(name, BENCH_TARGET_NAME, "target-%05zu", index);
}

static lbroute_router *open_router(const bench_case *test, unsigned number)
{
    lbroute_router_options options;
    lbroute_router *router;
    uint32_t sessions = (uint32_t)test->targets * BENCH_SESSIONS;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1 + number;
    options.single_threaded = test->unlocked;
    if (options.max_sessions < sessions)
        options.max_sessions = sessions;
    if (test->kv_blocks > 0)
        options.max_kv_blocks = test->kv_blocks;
    bench_check(lbroute_router_create(&options, &router), "router");
    return router;
}

static void set_memory(lbroute_router *router, lbroute_pool pool,
                       const bench_case *test)
{
    double bytes = floor(PROMPT_BYTES / (double)test->targets);

    bench_check(lbroute_pool_set(router, pool, "cache_aware.budget", bytes),
                "budget");
    bench_check(
        lbroute_pool_set(router, pool, "cache_aware.mode", test->blocks != 0),
        "mode");
    /* Blocks of the same amount of text. */
    bench_check(
        lbroute_pool_set(router, pool, "kv_aware.capacity", floor(bytes / 256)),
        "capacity");
}

static lbroute_pool add_pool(lbroute_router *router, const bench_case *test)
{
    const char *strategy = test->strategy;
    lbroute_pool_options options;
    lbroute_pool pool;

    lbroute_pool_options_init(&options, sizeof options);
    options.name = "bench";
    options.name_len = strlen(options.name);
    options.strategy = strategy;
    options.strategy_len = strlen(strategy);
    bench_check(lbroute_pool_add(router, &options, &pool), "pool");
    if (test->prompts != BENCH_PROMPTS_NONE)
        set_memory(router, pool, test);
    return pool;
}

/* Strategies that look at prices. Others are measured without any. */
static int needs_prices(const char *strategy)
{
    return strcmp(strategy, "cheapest") == 0 ||
           strcmp(strategy, "adaptive") == 0;
}

static void set_prices(lbroute_router *router)
{
    lbroute_price price;

    lbroute_price_init(&price, sizeof price);
    for (size_t i = 0; i < PRICES; i++) {
        price.input = (int64_t)(1000000 * (1 + i));
        price.output = 4 * price.input;
        bench_check(lbroute_set_price(router, price_keys[i],
                                      strlen(price_keys[i]), &price),
                    "price");
    }
}

static void add_targets(lbroute_router *router, lbroute_pool pool,
                        const bench_case *test)
{
    lbroute_target_options options;
    lbroute_target target;
    char name[BENCH_TARGET_NAME];

    lbroute_target_options_init(&options, sizeof options);
    options.pool = pool;
    options.name = name;
    if (needs_prices(test->strategy))
        set_prices(router);
    for (size_t i = 0; i < test->targets; i++) {
        if (needs_prices(test->strategy)) {
            options.price_key = price_keys[i % PRICES];
            options.price_key_len = strlen(options.price_key);
        }
        options.name_len = bench_target_name(name, i);
        options.weight = bench_weight(i, test->distinct_weights);
        bench_check(lbroute_target_add(router, &options, 0, &target), "target");
    }
}

/* The tail of the session is its number; the bytes stay in cache, as they are
 * in a host that has just read the request. */
static void set_session(bench_lane *lane, uint64_t number)
{
    memcpy(lane->session + BENCH_SESSION_BYTES - sizeof number, &number,
           sizeof number);
}

static void set_prompt(bench_lane *lane)
{
    const bench_prompt *prompt = bench_prompts_next(lane->prompts);

    lane->request.prompt = prompt->bytes;
    lane->request.prompt_len = prompt->length;
}

void bench_lane_pick(bench_lane *lane)
{
    if (lane->prompts != NULL)
        set_prompt(lane);
    lane->now += BENCH_STEP_NS;
    if (lane->sessions > 0)
        set_session(lane, bench_random(&lane->random, lane->sessions));
    bench_check(
        lbroute_pick(lane->router, &lane->request, lane->now, &lane->decision),
        "pick");
}

/* An engine with the router's idea of its cache: 20 ms, 1 ms for each request
 * there, 60 ms for each kilotoken that it must compute, a tenth more or less.
 */
static void keep_answer(bench_lane *lane)
{
    const lbroute_decision *decision = &lane->decision;
    bench_answer *answer = &lane->answers[lane->next];
    double tokens = (double)lane->request.prompt_len / 4;
    double cached = 0;
    double ms;

    if (decision->prefix_total > 0)
        cached = tokens * (double)decision->prefix_matched /
                 (double)decision->prefix_total;
    ms = 20 + decision->in_flight + 0.06 * (tokens - cached);
    ms *= 0.9 + 0.2e-3 * (double)bench_random(&lane->random, 1000);
    answer->first_ns = (int64_t)(ms * 1e6);
    answer->input_tokens = (int64_t)tokens;
    answer->cached_tokens = (int64_t)cached;
}

static void tell_first_token(bench_lane *lane)
{
    const bench_answer *answer = &lane->answers[lane->next];

    lane->event.kind = LBROUTE_EVENT_FIRST_TOKEN;
    lane->event.latency_ns = answer->first_ns;
    bench_check(lbroute_observe(lane->router, &lane->event, lane->now),
                "observe");
    lane->event.kind = LBROUTE_EVENT_SUCCESS;
    lane->event.latency_ns += 1000000000;
    lane->event.input_tokens = answer->input_tokens;
    lane->event.cached_tokens = answer->cached_tokens;
    lane->event.output_tokens = 100;
}

void bench_lane_settle(bench_lane *lane)
{
    lane->event.ticket = lane->open[lane->next];
    if (lane->answers != NULL)
        tell_first_token(lane);
    bench_check(lbroute_observe(lane->router, &lane->event, lane->now),
                "observe");
    lane->open[lane->next] = lane->decision.ticket;
    if (lane->answers != NULL)
        keep_answer(lane);
    if (++lane->next == lane->open_count)
        lane->next = 0;
}

void bench_lane_step(bench_lane *lane)
{
    bench_lane_pick(lane);
    bench_lane_settle(lane);
}

static bench_lane *open_lane(lbroute_router *router, lbroute_pool pool,
                             const bench_case *test, unsigned number)
{
    bench_lane *lane = bench_alloc(1, sizeof *lane);

    lane->router = router;
    lane->open_count =
        test->targets * BENCH_IN_FLIGHT * test->routers / test->lanes;
    lane->open = bench_alloc(lane->open_count, sizeof *lane->open);
    lane->random = number;
    lbroute_request_init(&lane->request, sizeof lane->request);
    lbroute_decision_init(&lane->decision, sizeof lane->decision);
    lbroute_event_init(&lane->event, sizeof lane->event);
    lane->request.pool = pool;
    lane->event.kind = LBROUTE_EVENT_SUCCESS;
    if (needs_answers(test->strategy))
        lane->answers = bench_alloc(lane->open_count, sizeof *lane->answers);
    if (test->prompts != BENCH_PROMPTS_NONE)
        lane->prompts = bench_prompts_open(test, number);
    if (needs_session(test->strategy)) {
        lane->sessions = test->targets * BENCH_SESSIONS;
        memcpy(lane->session, SESSION, sizeof lane->session);
        lane->request.session = lane->session;
        lane->request.session_len = sizeof lane->session;
    }
    return lane;
}

static void take_steps(bench_lane *lane, size_t steps)
{
    for (size_t i = 0; i < steps; i++)
        bench_lane_step(lane);
}

static double memory_of(lbroute_router *router)
{
    lbroute_stats stats;

    lbroute_stats_init(&stats, sizeof stats);
    bench_check(lbroute_get_stats(router, &stats), "stats");
    return (double)stats.memory_bytes;
}

/* Until every target remembers as much as it may. */
static void fill_memory(bench_lane *lane)
{
    enum { STEPS = 20000 };
    double before, after = memory_of(lane->router);

    do {
        before = after;
        take_steps(lane, STEPS);
        after = memory_of(lane->router);
    } while (after > before * 1.005);
}

/* Fills the ring of open tickets, then lets the fleet turn over until every
 * target and nearly every session has been seen several times. */
static void warm_lane(bench_lane *lane)
{
    for (size_t i = 0; i < lane->open_count; i++) {
        bench_lane_pick(lane);
        lane->open[i] = lane->decision.ticket;
    }
    take_steps(lane, 8 * lane->open_count + 1000);
    if (lane->prompts != NULL)
        fill_memory(lane);
}

bench_fleet *bench_fleet_open(const bench_case *test)
{
    bench_fleet *fleet = bench_alloc(1, sizeof *fleet);
    lbroute_pool pools[BENCH_LANES_MAX];

    fleet->router_count = test->routers;
    fleet->lane_count = test->lanes;
    for (unsigned i = 0; i < test->routers; i++) {
        fleet->routers[i] = open_router(test, i);
        pools[i] = add_pool(fleet->routers[i], test);
        add_targets(fleet->routers[i], pools[i], test);
    }
    for (unsigned i = 0; i < test->lanes; i++) {
        unsigned router = i % test->routers;

        fleet->lanes[i] =
            open_lane(fleet->routers[router], pools[router], test, i);
        warm_lane(fleet->lanes[i]);
    }
    return fleet;
}

void bench_fleet_close(bench_fleet *fleet)
{
    for (unsigned i = 0; i < fleet->lane_count; i++) {
        bench_prompts_close(fleet->lanes[i]->prompts);
        free(fleet->lanes[i]->open);
        free(fleet->lanes[i]->answers);
        free(fleet->lanes[i]);
    }
    for (unsigned i = 0; i < fleet->router_count; i++)
        lbroute_router_destroy(fleet->routers[i]);
    free(fleet);
}

lbroute_target *bench_fleet_targets(const bench_fleet *fleet, size_t count)
{
    lbroute_target *targets = bench_alloc(count, sizeof *targets);
    lbroute_target target = 0;

    for (size_t i = 0; i < count; i++) {
        bench_check(lbroute_target_next(fleet->routers[0], 0, target, &target),
                    "next");
        targets[i] = target;
    }
    return targets;
}
