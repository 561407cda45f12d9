/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "check.h"

void world_options(lbroute_router_options *options, uint64_t seed)
{
    lbroute_router_options_init(options, sizeof *options);
    options->seed = seed;
    options->max_sessions = 4;
    options->single_threaded = 1;
}

static void add_pool(struct world *world, size_t which, const char *strategy)
{
    lbroute_pool pool = api_pool(world->router, strategy, strategy);

    world->pools[which] = pool;
    api_set(world->router, pool, "cache_aware.budget", 3000);
    api_set(world->router, pool, "kv_aware.capacity", 10);
    api_set(world->router, pool, "prefix.block_bytes", 8);
    for (int i = 0; i < WORLD_TARGETS; i++) {
        char name[3] = {(char)('a' + which), (char)('0' + i), 0};

        world->targets[which][i] = api_target(world->router, pool, name, 1 + i);
    }
}

void world_start(struct world *world, lbroute_router_options *options,
                 const char *const *strategies, size_t count)
{
    memset(world, 0, sizeof *world);
    world->now = 1000 * SECOND;
    world->count = count;
    heap_attach(&world->heap, options);
    CHECK_I(lbroute_router_create(options, &world->router), LBROUTE_OK);
    for (size_t i = 0; i < count; i++)
        add_pool(world, i, strategies[i]);
}

void world_end(struct world *world)
{
    lbroute_router_destroy(world->router);
    CHECK_U(world->heap.live, 0);
}

void world_request(const struct world *world, size_t pool, uint32_t number,
                   char key[2], lbroute_request *request)
{
    static const char text[] =
        "You are a helpful assistant. What is the weather like in Oslo?";

    key[0] = (char)('a' + number % 6);
    key[1] = '\0';
    api_request(request, world->pools[pool]);
    request->prompt = text + number % 3;
    request->prompt_len = 1 + number * 13 % (sizeof text - 4);
    request->client = key;
    request->client_len = number % 2;
    api_set_session(request, key);
}

uint8_t *world_snapshot(const struct world *world, size_t *length)
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
