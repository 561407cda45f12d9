/* SPDX-License-Identifier: MIT */
/*
 * What a router takes, in bytes; nothing here is a time.
 *
 *     memory.estimate          bound that lbroute_router_estimate() gives
 *     memory.estimate.small    with options for a small gateway
 *     memory.router            what is taken at first, without pools
 *     memory.target.STRATEGY   each of 1,000 targets
 *     memory.ticket            each of 100,000 open tickets
 *     memory.session           each of 50,000 pinned sessions
 */
#include "bench.h"

#include <lbroute/lbroute.h>

#include <stdio.h>
#include <string.h>

enum { TARGETS = 1000, TICKETS = 100000, SESSIONS = 50000 };

static void *open_case(const bench_case *test)
{
    return (void *)test;
}

static void close_case(void *fixture)
{
    (void)fixture;
}

static lbroute_router *start(const char *strategy, lbroute_pool *pool)
{
    lbroute_router_options options;
    lbroute_pool_options pools;
    lbroute_router *router;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    bench_check(lbroute_router_create(&options, &router), "router_create");
    lbroute_pool_options_init(&pools, sizeof pools);
    pools.name = "pool";
    pools.name_len = 4;
    pools.strategy = strategy;
    pools.strategy_len = strlen(strategy);
    bench_check(lbroute_pool_add(router, &pools, pool), "pool_add");
    return router;
}

static void add_targets(lbroute_router *router, lbroute_pool pool, int count)
{
    lbroute_target_options options;
    lbroute_target target;
    char name[16];

    lbroute_target_options_init(&options, sizeof options);
    options.pool = pool;
    options.name = name;
    options.max_concurrency = 0;
    for (int i = 0; i < count; i++) {
        options.name_len = (size_t)snprintf(name, sizeof name, "gpu-%d", i);
        bench_check(lbroute_target_add(router, &options, 0, &target),
                    "target_add");
    }
}

static double held(lbroute_router *router)
{
    lbroute_stats stats;

    lbroute_stats_init(&stats, sizeof stats);
    bench_check(lbroute_get_stats(router, &stats), "get_stats");
    return (double)stats.memory_bytes;
}

/* A request of a session of its own, answered if |settled|. */
static void serve(lbroute_router *router, lbroute_pool pool, uint64_t session,
                  int settled)
{
    lbroute_request request;
    lbroute_decision decision;
    lbroute_event event;

    lbroute_request_init(&request, sizeof request);
    request.pool = pool;
    request.session = (const char *)&session;
    request.session_len = sizeof session;
    lbroute_decision_init(&decision, sizeof decision);
    bench_check(lbroute_pick(router, &request, 1, &decision), "pick");
    if (!settled)
        return;
    lbroute_event_init(&event, sizeof event);
    event.ticket = decision.ticket;
    event.kind = LBROUTE_EVENT_SUCCESS;
    bench_check(lbroute_observe(router, &event, 2), "observe");
}

static double estimate(const lbroute_router_options *options)
{
    size_t bytes;

    bench_check(lbroute_router_estimate(options, &bytes), "router_estimate");
    return (double)bytes / 1e6;
}

static double of_defaults(void *fixture)
{
    lbroute_router_options options;

    (void)fixture;
    lbroute_router_options_init(&options, sizeof options);
    return estimate(&options);
}

static double of_small(void *fixture)
{
    lbroute_router_options options;

    (void)fixture;
    lbroute_router_options_init(&options, sizeof options);
    options.max_pools = 4;
    options.max_targets = 16;
    options.max_tickets = 10000;
    options.max_sessions = 1000;
    options.max_prices = 16;
    options.max_kv_blocks = 1;
    options.max_waiting = 1000;
    options.max_waiting_bytes = 1 << 20;
    return estimate(&options);
}

static double of_router(void *fixture)
{
    lbroute_router_options options;
    lbroute_router *router;
    double bytes;

    (void)fixture;
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    bench_check(lbroute_router_create(&options, &router), "router_create");
    bytes = held(router);
    lbroute_router_destroy(router);
    return bytes;
}

/* After a first pick, which makes what a strategy makes on demand. */
static double of_target(void *fixture)
{
    const bench_case *test = fixture;
    lbroute_pool pool;
    lbroute_router *router = start(test->strategy, &pool);
    double before = held(router), bytes;

    add_targets(router, pool, TARGETS);
    serve(router, pool, 1, 1);
    bytes = (held(router) - before) / TARGETS;
    lbroute_router_destroy(router);
    return bytes;
}

static double of_requests(const char *strategy, int count, int settled)
{
    lbroute_pool pool;
    lbroute_router *router = start(strategy, &pool);
    double before, bytes;

    add_targets(router, pool, 8);
    before = held(router);
    for (int i = 0; i < count; i++)
        serve(router, pool, (uint64_t)i, settled);
    bytes = (held(router) - before) / count;
    lbroute_router_destroy(router);
    return bytes;
}

static double of_ticket(void *fixture)
{
    (void)fixture;
    return of_requests("least_connections", TICKETS, 0);
}

static double of_session(void *fixture)
{
    (void)fixture;
    return of_requests("sticky_session", SESSIONS, 1);
}

static const bench_kind defaults = {.open = open_case,
                                    .read = of_defaults,
                                    .close = close_case,
                                    .unit = "MB at most"};
static const bench_kind small = {.open = open_case,
                                 .read = of_small,
                                 .close = close_case,
                                 .unit = "MB at most"};
static const bench_kind routers = {
    .open = open_case, .read = of_router, .close = close_case, .unit = "bytes"};
static const bench_kind targets = {.open = open_case,
                                   .read = of_target,
                                   .close = close_case,
                                   .unit = "bytes for each target"};
static const bench_kind tickets = {.open = open_case,
                                   .read = of_ticket,
                                   .close = close_case,
                                   .unit = "bytes for each open ticket"};
static const bench_kind sessions = {.open = open_case,
                                    .read = of_session,
                                    .close = close_case,
                                    .unit = "bytes for each session"};

void bench_suite_memory(bench_list *list)
{
    static const char *const strategies[] = {"least_connections", "weighted",
                                             "consistent_hash",   "cache_aware",
                                             "least_work",        "adaptive"};
    char name[BENCH_NAME_MAX];

    bench_list_add(list, &defaults, "memory.estimate");
    bench_list_add(list, &small, "memory.estimate.small");
    bench_list_add(list, &routers, "memory.router");
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        (void)snprintf(name, sizeof name, "memory.target.%s", strategies[i]);
        bench_list_add(list, &targets, name)->strategy = strategies[i];
    }
    bench_list_add(list, &tickets, "memory.ticket");
    bench_list_add(list, &sessions, "memory.session");
}
