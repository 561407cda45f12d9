/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes what a delta may say. The first byte tells how the others are taken:
 * bit 0, as they are, else with the right length and checksum; bit 1, by a
 * router that has begun to work; bit 2, they are the bodies of sections, each
 * after its kind and length in three bytes, which are put together behind an
 * origin. Bytes that are refused change nothing. Others are taken over once:
 * the second time changes nothing; the router works on, and another one takes
 * its deltas over.
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

enum { AS_IT_IS = 1, USED = 2, BODIES = 4, POOLS = 4, TARGETS = 2 };

enum { HEADER = 32, SECTION = 16, SHORT = 3, ORIGIN_BODY = 24 };

static const char *const strategies[POOLS] = {"cache_aware", "kv_aware",
                                              "least_work", "sticky_session"};

struct world {
    lbroute_router *router;
    struct heap heap;
    lbroute_pool pools[POOLS];
    lbroute_target targets[POOLS][TARGETS];
    uint64_t now;
};

static void start(struct world *world, uint64_t seed)
{
    lbroute_router_options options;

    memset(world, 0, sizeof *world);
    world->now = 1000 * SECOND;
    lbroute_router_options_init(&options, sizeof options);
    options.seed = seed;
    memset(options.digest_key, 5, sizeof options.digest_key);
    options.max_sessions = 4;
    options.max_peers = 2;
    options.max_delta_bytes = 4096;
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

/* Every third request stays open. */
static void ask(struct world *world, int pool, uint32_t number)
{
    static const char text[] =
        "You are a helpful assistant. What is the weather like in Oslo?";
    lbroute_request request;
    lbroute_decision decision;
    char key[2] = {(char)('a' + number % 6), 0};

    api_request(&request, world->pools[pool]);
    request.prompt = text + number % 3;
    request.prompt_len = 1 + number * 13 % (sizeof text - 4);
    request.client = key;
    request.client_len = number % 2;
    api_set_session(&request, key);
    lbroute_decision_init(&decision, sizeof decision);
    if (lbroute_pick(world->router, &request, world->now, &decision))
        return;
    if (number % 3)
        CHECK_I(api_observe(world->router, decision.ticket,
                            LBROUTE_EVENT_SUCCESS, world->now),
                LBROUTE_OK);
}

static void work(struct world *world, uint32_t from, uint32_t count)
{
    for (uint32_t i = from; i < from + count; i++) {
        world->now += 1 + i * 1000;
        for (int pool = 0; pool < POOLS; pool++)
            ask(world, pool, i);
    }
}

/* All that a delta may change. */
struct knowledge {
    double load[POOLS][TARGETS];
    uint64_t applied;
    uint32_t peers;
    uint8_t *learned; /* owned by the caller */
    size_t length;
};

static struct knowledge knowledge_of(const struct world *world)
{
    struct knowledge knowledge = {0};
    lbroute_delta_stats stats;

    for (int i = 0; i < POOLS; i++)
        for (int j = 0; j < TARGETS; j++)
            knowledge.load[i][j] =
                api_target_stats(world->router, world->targets[i][j],
                                 world->now)
                    .load;
    lbroute_delta_stats_init(&stats, sizeof stats);
    CHECK_I(lbroute_get_delta_stats(world->router, world->now, &stats),
            LBROUTE_OK);
    knowledge.applied = stats.applied;
    knowledge.peers = stats.peers;
    CHECK_I(
        lbroute_snapshot(world->router, world->now, NULL, 0, &knowledge.length),
        LBROUTE_ERR_BUFFER);
    knowledge.learned = malloc(knowledge.length);
    CHECK(knowledge.learned != NULL);
    CHECK_I(lbroute_snapshot(world->router, world->now, knowledge.learned,
                             knowledge.length, &knowledge.length),
            LBROUTE_OK);
    return knowledge;
}

static void check_unchanged(const struct world *world,
                            const struct knowledge *before)
{
    struct knowledge after = knowledge_of(world);

    CHECK(!memcmp(after.load, before->load, sizeof after.load));
    CHECK_U(after.applied, before->applied);
    CHECK_U(after.peers, before->peers);
    CHECK(same_bytes(after.learned, after.length, before->learned,
                     before->length));
    free(after.learned);
}

/* Another router takes over what this one has to tell. */
static void pass_on(struct world *world)
{
    uint8_t bytes[2048];
    struct world other;
    lbroute_delta_result result;
    size_t length;

    start(&other, 8);
    other.now = world->now;
    lbroute_delta_result_init(&result, sizeof result);
    for (int i = 0; i < 3; i++) {
        CHECK_I(lbroute_delta_export(world->router, world->now, bytes,
                                     sizeof bytes, &length),
                LBROUTE_OK);
        CHECK(length <= sizeof bytes);
        CHECK_I(lbroute_delta_apply(other.router, bytes, length, other.now, 0,
                                    &result),
                LBROUTE_OK);
        CHECK_U(result.targets_unknown + result.prompts_skipped, 0);
        CHECK_I(result.repeated + result.own + result.overtaken, 0);
    }
    work(&other, 0, 4);
    end(&other);
}

static void apply(struct world *world, const uint8_t *bytes, size_t size)
{
    struct knowledge before = knowledge_of(world);
    lbroute_delta_result result;
    int refused =
        lbroute_delta_apply(world->router, bytes, size, world->now, 7, NULL);

    if (!refused) {
        free(before.learned);
        before = knowledge_of(world);
        lbroute_delta_result_init(&result, sizeof result);
        CHECK_I(lbroute_delta_apply(world->router, bytes, size, world->now, 9,
                                    &result),
                LBROUTE_OK);
        CHECK(result.repeated || result.own);
    }
    check_unchanged(world, &before);
    free(before.learned);
    work(world, 20, 5);
    pass_on(world);
}

/* ---- inputs ---- */

static uint8_t *put_head(uint8_t *to, uint8_t kind, size_t length)
{
    memset(to, 0, SECTION);
    to[0] = kind;
    to[4] = 1;
    to[8] = (uint8_t)length;
    to[9] = (uint8_t)(length >> 8);
    return to + SECTION;
}

/* Writes a section at |to| for the body at |data|, as far as there is one.
 * Returns how many bytes of |size| it took. */
static size_t put_section(uint8_t *to, const uint8_t *data, size_t size,
                          size_t *length)
{
    size_t body = size < SHORT ? 0 : data[1] + 256U * data[2];

    if (size < SHORT || body > size - SHORT)
        return size;
    memcpy(put_head(to, data[0], body), data + SHORT, body);
    *length += SECTION + body;
    return SHORT + body;
}

/* A delta of bodies; the caller frees it. */
static uint8_t *assemble(const uint8_t *data, size_t size, size_t *length)
{
    static const uint8_t begin[17] = "lbrdelt\x1a........\1";
    size_t most = HEADER + SECTION + ORIGIN_BODY + (SECTION + 1) * (size + 1);
    uint8_t *bytes = calloc(most, 1);
    uint8_t *origin;
    size_t at = 0;

    CHECK(bytes != NULL);
    memcpy(bytes, begin, sizeof begin);
    origin = put_head(bytes + HEADER, 1, ORIGIN_BODY);
    origin[8] = 2; /* its second */
    *length = HEADER + SECTION + ORIGIN_BODY;
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
    start(&world, 6);
    if (data[0] & USED)
        work(&world, 0, 3);
    apply(&world, bytes, length);
    end(&world);
    free(bytes);
    return 0;
}
