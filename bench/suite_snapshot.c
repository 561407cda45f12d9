/* SPDX-License-Identifier: MIT */
/*
 * A gateway that is restarted: 8 targets that remember 4 MiB of chat prompts
 * each, and two thousand sessions.
 *
 *     snapshot.save.8      everything written down
 *     snapshot.restore.8   and taken over by a new router
 *     snapshot.bytes.8     no time: its length
 */
#include "fleet.h"

#include <stdlib.h>
#include <string.h>

enum { BUDGET = 4 << 20, WARM_UP = 40000, SESSIONS = 2000, MOST = 16 };

typedef struct gateway {
    lbroute_router *router;
    lbroute_router *fresh[MOST];
    size_t fresh_count;
    size_t targets;
    bench_prompts *prompts;
    unsigned char *bytes;
    size_t length;
} gateway;

static void add_target(lbroute_router *router, lbroute_pool pool, size_t index)
{
    lbroute_target_options options;
    lbroute_target target;
    char name = (char)('a' + index);

    lbroute_target_options_init(&options, sizeof options);
    options.pool = pool;
    options.name = &name;
    options.name_len = 1;
    bench_check(lbroute_target_add(router, &options, 0, &target), "target_add");
}

static lbroute_router *start(size_t targets, lbroute_pool *pool)
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
    pools.strategy = "cache_aware";
    pools.strategy_len = strlen(pools.strategy);
    bench_check(lbroute_pool_add(router, &pools, pool), "pool_add");
    bench_check(lbroute_pool_set(router, *pool, "cache_aware.budget", BUDGET),
                "pool_set");
    for (size_t i = 0; i < targets; i++)
        add_target(router, *pool, i);
    return router;
}

static void serve(gateway *self, lbroute_pool pool, uint64_t number)
{
    const bench_prompt *prompt = bench_prompts_next(self->prompts);
    uint64_t session = number % SESSIONS;
    lbroute_request request;
    lbroute_decision decision;
    lbroute_event event;

    lbroute_request_init(&request, sizeof request);
    request.pool = pool;
    request.prompt = (const char *)prompt->bytes;
    request.prompt_len = prompt->length;
    request.session = (const char *)&session;
    request.session_len = sizeof session;
    lbroute_decision_init(&decision, sizeof decision);
    bench_check(lbroute_pick(self->router, &request, number, &decision),
                "pick");
    lbroute_event_init(&event, sizeof event);
    event.ticket = decision.ticket;
    event.kind = LBROUTE_EVENT_SUCCESS;
    bench_check(lbroute_observe(self->router, &event, number), "observe");
}

static void save(gateway *self)
{
    bench_check(lbroute_snapshot(self->router, WARM_UP, self->bytes,
                                 self->length, &self->length),
                "snapshot");
}

static void *open_gateway(const bench_case *test)
{
    gateway *self = bench_alloc(1, sizeof *self);
    lbroute_pool pool;

    self->targets = test->targets;
    self->prompts = bench_prompts_open(test, 0);
    self->router = start(self->targets, &pool);
    for (uint64_t i = 0; i < WARM_UP; i++)
        serve(self, pool, i);
    (void)lbroute_snapshot(self->router, WARM_UP, NULL, 0, &self->length);
    self->bytes = bench_alloc(self->length, 1);
    save(self);
    return self;
}

static void drop_fresh(gateway *self)
{
    while (self->fresh_count > 0)
        lbroute_router_destroy(self->fresh[--self->fresh_count]);
}

static void close_gateway(void *fixture)
{
    gateway *self = fixture;

    drop_fresh(self);
    lbroute_router_destroy(self->router);
    bench_prompts_close(self->prompts);
    free(self->bytes);
    free(self);
}

static void work_save(void *fixture, unsigned lane, uint64_t operations)
{
    gateway *self = fixture;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++)
        save(self);
    bench_keep(self->bytes[self->length - 1]);
}

static void prepare_restore(void *fixture, uint64_t operations)
{
    gateway *self = fixture;
    lbroute_pool pool;

    drop_fresh(self);
    while (self->fresh_count < operations)
        self->fresh[self->fresh_count++] = start(self->targets, &pool);
}

static void work_restore(void *fixture, unsigned lane, uint64_t operations)
{
    gateway *self = fixture;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++)
        bench_check(lbroute_restore(self->fresh[i], self->bytes, self->length,
                                    WARM_UP, 0, NULL),
                    "restore");
}

static double read_length(void *fixture)
{
    const gateway *self = fixture;

    return (double)self->length / 1e6;
}

static const bench_kind saving = {
    .open = open_gateway, .work = work_save, .close = close_gateway};

static const bench_kind restoring = {.open = open_gateway,
                                     .work = work_restore,
                                     .close = close_gateway,
                                     .prepare = prepare_restore};

static const bench_kind length = {.open = open_gateway,
                                  .close = close_gateway,
                                  .read = read_length,
                                  .unit = "MB"};

static void add(bench_list *list, const bench_kind *kind, const char *name)
{
    bench_case *test = bench_list_add_sized(list, kind, name, 8);

    test->prompts = BENCH_PROMPTS_CHAT;
    test->most_operations = MOST;
}

void bench_suite_snapshot(bench_list *list)
{
    add(list, &saving, "snapshot.save");
    add(list, &restoring, "snapshot.restore");
    add(list, &length, "snapshot.bytes");
}
