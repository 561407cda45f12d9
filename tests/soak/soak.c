/* SPDX-License-Identifier: MIT */
/*
 * Many random operations on routers that remember prompts, by their bytes
 * (cache_aware), by blocks, and by blocks for clients (kv_aware); and on one
 * that is told of blocks by KV events:
 *
 *     soak [OPERATIONS [SEED]]     10^8 on each, if not told otherwise
 *
 * Fails if memory grew in the second half by more than a chunk.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api.h"
#include "check.h"
#include "events.h"
#include "heap.h"
#include "prng.h"

enum {
    TARGETS = 4,
    TEXT = 1 << 20,   /* all prompts are parts of one text */
    PLACES = 1 << 12, /* at which they begin */
    CLIENTS = 3000,
    CHUNK = 32 * 1024
};

static const uint64_t second = UINT64_C(1000000000);

struct soak {
    struct heap heap;
    struct rng rng;
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target targets[TARGETS];
    lbroute_request request;
    lbroute_decision decision;
    uint64_t now;
};

static struct soak soak;
static unsigned char text[TEXT];

static void set(const char *name, double value)
{
    CHECK_I(lbroute_pool_set(soak.router, soak.pool, name, value), LBROUTE_OK);
}

static void open_router(const char *strategy, int mode, uint64_t seed)
{
    lbroute_router_options options;

    rng_seed(&soak.rng, seed);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = seed;
    options.max_sessions = 1000;
    heap_attach(&soak.heap, &options);
    CHECK_I(lbroute_router_create(&options, &soak.router), LBROUTE_OK);
    soak.pool = api_pool(soak.router, "pool", strategy);
    api_targets(soak.router, soak.pool, TARGETS, soak.targets);
    set("cache_aware.mode", mode);
    set("cache_aware.budget", 1 << 18);
    set("kv_aware.capacity", 2048);
    set("kv_aware.clients", 256);
    set("prefix.block_bytes", 16);
    lbroute_decision_init(&soak.decision, sizeof soak.decision);
    soak.now = 0;
}

/* Few prompts are long, few places common. */
static size_t draw_length(void)
{
    uint32_t most = rng_chance(&soak.rng, 1) ? 40000 : 600;

    return rng_below(&soak.rng, most);
}

static void ask(void)
{
    size_t place = rng_below(&soak.rng, 1 + rng_below(&soak.rng, PLACES));
    uint32_t client = rng_below(&soak.rng, CLIENTS);
    uint32_t session = rng_below(&soak.rng, 5000);

    api_request(&soak.request, soak.pool);
    soak.request.prompt = text + place * 64;
    soak.request.prompt_len = draw_length();
    soak.request.client = &client;
    soak.request.client_len = client % 10 ? sizeof client : 0;
    soak.request.session = &session;
    soak.request.session_len = session % 10 ? 0 : sizeof session;
    soak.now += rng_below(&soak.rng, (uint32_t)(second / 10));
    CHECK_I(lbroute_pick(soak.router, &soak.request, soak.now, &soak.decision),
            LBROUTE_OK);
    CHECK_I(api_observe(soak.router, soak.decision.ticket,
                        LBROUTE_EVENT_SUCCESS, soak.now),
            LBROUTE_OK);
}

/* A target goes, with all that it knows, and comes back. */
static void replace_target(void)
{
    char name[16];
    size_t index = rng_below(&soak.rng, TARGETS);
    lbroute_target_options options;

    snprintf(name, sizeof name, "new%zu", index);
    api_target_options(&options, soak.pool, name, 1);
    CHECK_I(lbroute_target_remove(soak.router, soak.targets[index]),
            LBROUTE_OK);
    CHECK_I(lbroute_target_add(soak.router, &options, soak.now,
                               &soak.targets[index]),
            LBROUTE_OK);
}

/* Returns the most memory that was ever held. */
static uint64_t run(uint64_t operations)
{
    soak.heap.peak = 0;
    for (uint64_t i = 0; i < operations; i++) {
        check_step(i);
        if (i % 50000 == 49999)
            replace_target();
        else
            ask();
    }
    return soak.heap.peak;
}

static void run_rule(const char *what, const char *strategy, int mode,
                     uint64_t operations, uint64_t seed)
{
    clock_t begin = clock();
    uint64_t first, then;

    check_context(what, seed);
    open_router(strategy, mode, seed);
    first = run(operations / 2);
    then = run(operations - operations / 2);
    lbroute_router_destroy(soak.router);
    CHECK_U(soak.heap.live, 0);
    printf("%s: %" PRIu64 " operations, at most %" PRIu64 " then %" PRIu64
           " bytes, %.0f s\n",
           what, operations, first, then,
           (double)(clock() - begin) / CLOCKS_PER_SEC);
    fflush(stdout);
    CHECK(then <= first + CHUNK);
}

int main(int argc, char **argv)
{
    uint64_t operations = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct rng rng;

    if (operations == 0 || seed == 0) {
        fprintf(stderr, "usage: soak [OPERATIONS [SEED]]\n");
        return 1;
    }
    rng_seed(&rng, seed);
    for (size_t i = 0; i < TEXT; i++)
        text[i] = (unsigned char)rng_next(&rng);
    run_rule("bytes", "cache_aware", 0, operations, seed);
    run_rule("blocks", "cache_aware", 1, operations, seed);
    run_rule("blocks of clients", "kv_aware", 0, operations, seed);
    soak_events(operations, seed);
    return 0;
}
