/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes what a delta may say, as packed.h puts it together behind an origin;
 * bit 1 of the first byte: to a router that has begun to work. Bytes that are
 * refused change nothing. Others are taken over once: the second time changes
 * nothing; the router works on, and another one takes its deltas over.
 */
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "check.h"
#include "learned.h"
#include "packed.h"
#include "world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { USED = 2, POOLS = 4 };

static const char *const strategies[POOLS] = {"cache_aware", "kv_aware",
                                              "least_work", "sticky_session"};

/* The section that says whose delta it is, and its second. */
enum { ORIGIN_BODY = 24 };
static const uint8_t origin[PACKED_SECTION + ORIGIN_BODY] = {
    [0] = 1, [4] = 1, [8] = ORIGIN_BODY, [PACKED_SECTION + 8] = 2};

static const struct packed_kind deltas = {"lbrdelt\x1a........\1", origin,
                                          sizeof origin};

static void start(struct world *world, uint64_t seed)
{
    lbroute_router_options options;

    world_options(&options, seed);
    memset(options.digest_key, 5, sizeof options.digest_key);
    options.max_peers = 2;
    options.max_delta_bytes = 4096;
    world_start(world, &options, strategies, POOLS);
}

/* Every third request stays open. */
static void ask(struct world *world, size_t pool, uint32_t number)
{
    lbroute_request request;
    lbroute_decision decision;
    char key[2];

    world_request(world, pool, number, key, &request);
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
        for (size_t pool = 0; pool < POOLS; pool++)
            ask(world, pool, i);
    }
}

/* All that a delta may change. */
struct knowledge {
    double load[POOLS][WORLD_TARGETS];
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
        for (int j = 0; j < WORLD_TARGETS; j++)
            knowledge.load[i][j] =
                api_target_stats(world->router, world->targets[i][j],
                                 world->now)
                    .load;
    lbroute_delta_stats_init(&stats, sizeof stats);
    CHECK_I(lbroute_get_delta_stats(world->router, world->now, &stats),
            LBROUTE_OK);
    knowledge.applied = stats.applied;
    knowledge.peers = stats.peers;
    knowledge.learned = world_snapshot(world, &knowledge.length);
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
    world_end(&other);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world world;
    size_t length;
    uint8_t *bytes;

    if (!size)
        return 0;
    bytes = packed_bytes(&deltas, data, size, &length);
    start(&world, 6);
    if (data[0] & USED)
        work(&world, 0, 3);
    apply(&world, bytes, length);
    world_end(&world);
    free(bytes);
    return 0;
}
