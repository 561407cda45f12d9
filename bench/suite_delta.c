/* SPDX-License-Identifier: MIT */
/*
 * Gateways that share: what a delta costs after 100 requests with chat prompts
 * to 8 targets, which are compared by hashes. A fourth of them is in flight.
 *
 *     delta.export.8   written down
 *     delta.apply.8    taken over by another router
 *     delta.bytes.8    no time: its length
 */
#include "fleet.h"

#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 100, MOST = 16, ROOM = 1 << 20 };

typedef struct sender {
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_ticket open[REQUESTS];
    size_t open_count;
    unsigned char *bytes; /* its latest delta */
    size_t length;
} sender;

typedef struct gateways {
    sender senders[MOST];
    sender receiver;
    bench_prompts *prompts;
    uint64_t now;
} gateways;

static void add_target(const sender *self, size_t index)
{
    lbroute_target_options options;
    lbroute_target target;
    char name = (char)('a' + index);

    lbroute_target_options_init(&options, sizeof options);
    options.pool = self->pool;
    options.name = &name;
    options.name_len = 1;
    bench_check(lbroute_target_add(self->router, &options, 0, &target),
                "target_add");
}

static void start(sender *self, size_t targets, uint64_t seed)
{
    lbroute_router_options options;
    lbroute_pool_options pools;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = seed;
    options.digest_key[0] = 1;
    options.max_delta_bytes = ROOM;
    bench_check(lbroute_router_create(&options, &self->router),
                "router_create");
    lbroute_pool_options_init(&pools, sizeof pools);
    pools.name = "pool";
    pools.name_len = 4;
    pools.strategy = "cache_aware";
    pools.strategy_len = strlen(pools.strategy);
    bench_check(lbroute_pool_add(self->router, &pools, &self->pool),
                "pool_add");
    bench_check(
        lbroute_pool_set(self->router, self->pool, "cache_aware.mode", 1),
        "pool_set");
    for (size_t i = 0; i < targets; i++)
        add_target(self, i);
    self->bytes = bench_alloc(ROOM, 1);
}

static void settle(sender *self, lbroute_ticket ticket, uint64_t now)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = ticket;
    event.kind = LBROUTE_EVENT_SUCCESS;
    bench_check(lbroute_observe(self->router, &event, now), "observe");
}

static lbroute_ticket ask(gateways *self, sender *from)
{
    const bench_prompt *prompt = bench_prompts_next(self->prompts);
    lbroute_request request;
    lbroute_decision decision;

    lbroute_request_init(&request, sizeof request);
    request.pool = from->pool;
    request.prompt = (const char *)prompt->bytes;
    request.prompt_len = prompt->length;
    lbroute_decision_init(&decision, sizeof decision);
    bench_check(lbroute_pick(from->router, &request, ++self->now, &decision),
                "pick");
    return decision.ticket;
}

/* Ends what is in flight and sends the next requests. */
static void serve(gateways *self, sender *from)
{
    while (from->open_count)
        settle(from, from->open[--from->open_count], self->now);
    for (int i = 0; i < REQUESTS; i++) {
        lbroute_ticket ticket = ask(self, from);

        if (i % 4)
            settle(from, ticket, self->now);
        else
            from->open[from->open_count++] = ticket;
    }
}

static void export(gateways *self, sender *from)
{
    bench_check(lbroute_delta_export(from->router, self->now, from->bytes, ROOM,
                                     &from->length),
                "delta_export");
}

static void *open_gateways(const bench_case *test)
{
    gateways *self = bench_alloc(1, sizeof *self);

    self->prompts = bench_prompts_open(test, 0);
    for (size_t i = 0; i < MOST; i++)
        start(&self->senders[i], test->targets, 1 + i);
    start(&self->receiver, test->targets, 1 + MOST);
    serve(self, &self->senders[0]);
    export(self, &self->senders[0]);
    return self;
}

static void stop(sender *self)
{
    lbroute_router_destroy(self->router);
    free(self->bytes);
}

static void close_gateways(void *fixture)
{
    gateways *self = fixture;

    for (size_t i = 0; i < MOST; i++)
        stop(&self->senders[i]);
    stop(&self->receiver);
    bench_prompts_close(self->prompts);
    free(self);
}

static void prepare_export(void *fixture, uint64_t operations)
{
    gateways *self = fixture;

    for (uint64_t i = 0; i < operations; i++)
        serve(self, &self->senders[i]);
}

static void work_export(void *fixture, unsigned lane, uint64_t operations)
{
    gateways *self = fixture;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++)
        export(self, &self->senders[i]);
}

static void prepare_apply(void *fixture, uint64_t operations)
{
    prepare_export(fixture, operations);
    work_export(fixture, 0, operations);
}

static void work_apply(void *fixture, unsigned lane, uint64_t operations)
{
    gateways *self = fixture;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++)
        bench_check(
            lbroute_delta_apply(self->receiver.router, self->senders[i].bytes,
                                self->senders[i].length, self->now, 0, NULL),
            "delta_apply");
}

static double read_length(void *fixture)
{
    const gateways *self = fixture;

    return (double)self->senders[0].length / 1e3;
}

static const bench_kind exporting = {.open = open_gateways,
                                     .work = work_export,
                                     .close = close_gateways,
                                     .prepare = prepare_export};

static const bench_kind applying = {.open = open_gateways,
                                    .work = work_apply,
                                    .close = close_gateways,
                                    .prepare = prepare_apply};

static const bench_kind length = {.open = open_gateways,
                                  .close = close_gateways,
                                  .read = read_length,
                                  .unit = "kB"};

static void add(bench_list *list, const bench_kind *kind, const char *name)
{
    bench_case *test = bench_list_add_sized(list, kind, name, 8);

    test->prompts = BENCH_PROMPTS_CHAT;
    test->most_operations = MOST;
}

void bench_suite_delta(bench_list *list)
{
    add(list, &exporting, "delta.export");
    add(list, &applying, "delta.apply");
    add(list, &length, "delta.bytes");
}
