/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes what a snapshot may say, as packed.h puts it together; bit 1 of the
 * first byte: into a router that has begun to work. Bytes that are refused
 * change nothing; of others the router can make a snapshot, from which another
 * one comes to the same, and it works on.
 */
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "check.h"
#include "learned.h"
#include "packed.h"
#include "world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { USED = 2, POOLS = 5 };

static const char *const strategies[POOLS] = {
    "cache_aware", "kv_aware", "predicted_latency", "round_robin",
    "precise_cache_aware"};

static const struct packed_kind snapshots = {"lbrsnap\x1a........\1", NULL, 0};

static void start(struct world *world)
{
    lbroute_router_options options;

    world_options(&options, 5);
    options.max_kv_blocks = 50;
    options.max_prices = 3;
    world_start(world, &options, strategies, POOLS);
}

static void serve(struct world *world, lbroute_ticket ticket, uint32_t number)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = ticket;
    event.kind = LBROUTE_EVENT_FIRST_TOKEN;
    event.latency_ns = 1000000 + number;
    CHECK_I(lbroute_observe(world->router, &event, world->now), LBROUTE_OK);
    event.kind = number % 7 ? LBROUTE_EVENT_SUCCESS : LBROUTE_EVENT_FAILURE;
    event.latency_ns = 3000000;
    CHECK_I(lbroute_observe(world->router, &event, world->now), LBROUTE_OK);
}

static void ask(struct world *world, size_t pool, uint32_t number)
{
    lbroute_request request;
    lbroute_decision decision;
    char key[2];

    world_request(world, pool, number, key, &request);
    request.adapter = key;
    request.adapter_len = number % 5 == 0;
    lbroute_decision_init(&decision, sizeof decision);
    if (!lbroute_pick(world->router, &request, world->now, &decision))
        serve(world, decision.ticket, number);
}

static void tell(struct world *world, uint64_t number)
{
    static const uint32_t tokens[8] = {1, 2, 3, 4, 5, 6, 7, 8};

    CHECK_I(api_tell(world->router, world->targets[POOLS - 1][0], 0, number,
                     LBROUTE_KV_STORED, 3 * number, tokens + number % 2,
                     4 + (size_t)number % 3, world->now),
            LBROUTE_OK);
}

static void work(struct world *world, uint32_t from, uint32_t count)
{
    lbroute_price price;

    for (uint32_t i = from; i < from + count; i++) {
        world->now += 1 + i * 1000;
        for (size_t pool = 0; pool < POOLS; pool++)
            ask(world, pool, i);
        tell(world, i);
    }
    lbroute_price_init(&price, sizeof price);
    price.input = from;
    CHECK_I(lbroute_set_price(world->router, "m", 1, &price), LBROUTE_OK);
}

static void check_says(const struct world *world, uint8_t *before,
                       size_t length)
{
    size_t now;
    uint8_t *bytes = world_snapshot(world, &now);

    CHECK(same_bytes(bytes, now, before, length));
    free(bytes);
    free(before);
}

/* Another world that is told what this one has to say, has the same to say. */
static void pass_on(const struct world *world)
{
    struct world next;
    size_t length;
    uint8_t *bytes = world_snapshot(world, &length);

    start(&next);
    next.now = world->now;
    CHECK_I(lbroute_restore(next.router, bytes, length, next.now, 0, NULL),
            LBROUTE_OK);
    check_says(&next, bytes, length);
    world_end(&next);
}

static void restore(struct world *world, const uint8_t *bytes, size_t size)
{
    size_t length;
    uint8_t *before = world_snapshot(world, &length);

    if (lbroute_restore(world->router, bytes, size, world->now, 7, NULL)) {
        check_says(world, before, length);
        return;
    }
    free(before);
    pass_on(world);
    work(world, 20, 5);
    pass_on(world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world world;
    size_t length;
    uint8_t *bytes;

    if (!size)
        return 0;
    bytes = packed_bytes(&snapshots, data, size, &length);
    start(&world);
    if (data[0] & USED)
        work(&world, 0, 3);
    restore(&world, bytes, length);
    world_end(&world);
    free(bytes);
    return 0;
}
