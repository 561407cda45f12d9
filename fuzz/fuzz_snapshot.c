/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes what a snapshot may say. The first byte tells how the others are
 * taken: bit 0, as they are, else with the right length and checksum; bit 1,
 * into a router that has begun to work; bit 2, they are the bodies of sections,
 * each after its kind and length in three bytes, which are put together. Bytes
 * that are refused change nothing; of others the router can make a snapshot,
 * from which another one comes to the same, and it works on.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lbroute/lbroute.h>

#include "api.h"
#include "check.h"
#include "heap.h"
#include "learned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { AS_IT_IS = 1, USED = 2, BODIES = 4, POOLS = 5, TARGETS = 2 };

enum { HEADER = 32, SECTION = 16, SHORT = 3 };

static const char *const strategies[POOLS] = {
    "cache_aware", "kv_aware", "predicted_latency", "round_robin",
    "precise_cache_aware"};

struct world {
    lbroute_router *router;
    struct heap heap;
    lbroute_pool pools[POOLS];
    lbroute_target targets[POOLS][TARGETS];
    uint64_t now;
};

static void start(struct world *world)
{
    lbroute_router_options options;

    memset(world, 0, sizeof *world);
    world->now = 1000 * SECOND;
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 5;
    options.max_sessions = 4;
    options.max_kv_blocks = 50;
    options.max_prices = 3;
    options.single_threaded = 1;
    heap_attach(&world->heap, &options);
    CHECK_I(lbroute_router_create(&options, &world->router), LBROUTE_OK);
    for (int i = 0; i < POOLS; i++) {
        lbroute_pool pool =
            api_pool(world->router, strategies[i], strategies[i]);
        world->pools[i] = pool;
        api_set(world->router, pool, "cache_aware.budget", 3000);
        api_set(world->router, pool, "kv_aware.capacity", 10);
        api_set(world->router, pool, "prefix.block_bytes", 8);
        for (int j = 0; j < TARGETS; j++) {
            char name[3] = {(char)('a' + i), (char)('0' + j), 0};
            world->targets[i][j] = api_target(world->router, pool, name, 1 + j);
        }
    }
}

static void end(struct world *world)
{
    lbroute_router_destroy(world->router);
    CHECK_U(world->heap.live, 0);
}

static void ask(struct world *world, int pool, uint32_t number)
{
    static const char text[] =
        "You are a helpful assistant. What is the weather like in Oslo?";
    lbroute_request request;
    lbroute_decision decision;
    lbroute_event event;
    char key[2] = {(char)('a' + number % 6), 0};

    api_request(&request, world->pools[pool]);
    request.prompt = text + number % 3;
    request.prompt_len = 1 + number * 13 % (sizeof text - 4);
    request.client = key;
    request.client_len = number % 2;
    request.adapter = key;
    request.adapter_len = number % 5 == 0;
    api_set_session(&request, key);
    lbroute_decision_init(&decision, sizeof decision);
    if (lbroute_pick(world->router, &request, world->now, &decision))
        return;
    lbroute_event_init(&event, sizeof event);
    event.ticket = decision.ticket;
    event.kind = LBROUTE_EVENT_FIRST_TOKEN;
    event.latency_ns = 1000000 + number;
    CHECK_I(lbroute_observe(world->router, &event, world->now), LBROUTE_OK);
    event.kind = number % 7 ? LBROUTE_EVENT_SUCCESS : LBROUTE_EVENT_FAILURE;
    event.latency_ns = 3000000;
    CHECK_I(lbroute_observe(world->router, &event, world->now), LBROUTE_OK);
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
        for (int pool = 0; pool < POOLS; pool++)
            ask(world, pool, i);
        tell(world, i);
    }
    lbroute_price_init(&price, sizeof price);
    price.input = from;
    CHECK_I(lbroute_set_price(world->router, "m", 1, &price), LBROUTE_OK);
}

/* What a world has to say; the caller frees it. */
static uint8_t *snapshot(const struct world *world, size_t *length)
{
    uint8_t *bytes;

    CHECK_I(lbroute_snapshot(world->router, world->now, NULL, 0, length),
            LBROUTE_ERR_BUFFER);
    bytes = malloc(*length);
    CHECK(bytes != NULL);
    CHECK_I(lbroute_snapshot(world->router, world->now, bytes, *length, length),
            LBROUTE_OK);
    return bytes;
}

static void check_says(const struct world *world, uint8_t *before,
                       size_t length)
{
    size_t now;
    uint8_t *bytes = snapshot(world, &now);

    CHECK(same_bytes(bytes, now, before, length));
    free(bytes);
    free(before);
}

/* Another world that is told what this one has to say, has the same to say. */
static void pass_on(const struct world *world)
{
    struct world next;
    size_t length;
    uint8_t *bytes = snapshot(world, &length);

    start(&next);
    next.now = world->now;
    CHECK_I(lbroute_restore(next.router, bytes, length, next.now, 0, NULL),
            LBROUTE_OK);
    check_says(&next, bytes, length);
    end(&next);
}

static void restore(struct world *world, const uint8_t *bytes, size_t size)
{
    size_t length;
    uint8_t *before = snapshot(world, &length);

    if (lbroute_restore(world->router, bytes, size, world->now, 7, NULL)) {
        check_says(world, before, length);
        return;
    }
    free(before);
    pass_on(world);
    work(world, 20, 5);
    pass_on(world);
}

/* ---- inputs ---- */

/* Writes a section at |to| for the body at |data|, as far as there is one.
 * Returns how many bytes of |size| it took. */
static size_t put_section(uint8_t *to, const uint8_t *data, size_t size,
                          size_t *length)
{
    size_t body = size < SHORT ? 0 : data[1] + 256U * data[2];

    if (size < SHORT || body > size - SHORT)
        return size;
    memset(to, 0, SECTION);
    to[0] = data[0];
    to[4] = 1;
    to[8] = data[1];
    to[9] = data[2];
    memcpy(to + SECTION, data + SHORT, body);
    *length += SECTION + body;
    return SHORT + body;
}

/* A snapshot of bodies; the caller frees it. */
static uint8_t *assemble(const uint8_t *data, size_t size, size_t *length)
{
    static const uint8_t begin[17] = "lbrsnap\x1a........\1";
    size_t most = HEADER + (SECTION + 1) * (size + 1);
    uint8_t *bytes = calloc(most, 1);
    size_t at = 0;

    CHECK(bytes != NULL);
    memcpy(bytes, begin, sizeof begin);
    *length = HEADER;
    while (at < size)
        at += put_section(bytes + *length, data + at, size - at, length);
    return bytes;
}

static uint8_t *copy(const uint8_t *data, size_t size, size_t *length)
{
    uint8_t *bytes = malloc(size ? size : 1);

    CHECK(bytes != NULL);
    memcpy(bytes, data, size);
    *length = size;
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world world;
    size_t length;
    uint8_t *bytes;

    if (!size)
        return 0;
    bytes = data[0] & BODIES ? assemble(data + 1, size - 1, &length)
                             : copy(data + 1, size - 1, &length);
    if (!(data[0] & AS_IT_IS))
        mend_snapshot(bytes, length);
    start(&world);
    if (data[0] & USED)
        work(&world, 0, 3);
    restore(&world, bytes, length);
    end(&world);
    free(bytes);
    return 0;
}
