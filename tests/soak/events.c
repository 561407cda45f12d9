/* SPDX-License-Identifier: MIT */
#include "events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "check.h"
#include "heap.h"
#include "prng.h"

enum {
    TARGETS = 4,
    SOURCES = 2, /* of each */
    ROOM = 1 << 11,
    PROMPTS = 3000, /* more than there is room for */
    DEPTH = 32,     /* blocks of one */
    HEAD = 4,       /* of these, those that all have in common */
    MOST = 8,       /* blocks of an event, and events of a batch */
    FLAT = 1 << 15  /* bytes: how far the sets' memory moves */
};

static const uint64_t second = UINT64_C(1000000000);

struct engine {
    uint64_t seq;     /* of its next batch */
    uint64_t epoch;   /* names are others after a restart */
    double timestamp; /* of its latest start */
};

struct soak {
    struct heap heap;
    struct rng rng;
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target targets[TARGETS];
    struct engine engines[TARGETS][SOURCES];
    uint64_t now;
    uint64_t outcomes[LBROUTE_KV_OUTCOME_COUNT];
    uint64_t reasons[LBROUTE_KV_REASON_COUNT];
};

static struct soak soak;

/* ---- events ---- */

/* A batch being written. */
static struct {
    lbroute_kv_event events[MOST];
    uint64_t names[MOST][MOST], contents[MOST][MOST];
    size_t count;
} draft;

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return value ^ value >> 27;
}

static uint64_t content_of(uint64_t prompt, uint64_t depth)
{
    return mix(1 + (depth < HEAD ? 0 : prompt) * DEPTH + depth);
}

static uint64_t name_of(const struct engine *engine, uint64_t prompt,
                        uint64_t depth)
{
    return content_of(prompt, depth) + engine->epoch;
}

/* Blocks of a prompt, from |begin| on. */
static void add_event(const struct engine *engine, int kind, uint64_t prompt,
                      uint64_t begin, size_t count)
{
    size_t at = draft.count++;
    lbroute_kv_event *event = &draft.events[at];

    lbroute_kv_event_init(event, sizeof *event);
    for (size_t i = 0; i < count; i++) {
        draft.names[at][i] = name_of(engine, prompt, begin + i);
        draft.contents[at][i] = content_of(prompt, begin + i);
    }
    event->kind = kind;
    event->medium = (int32_t)rng_below(&soak.rng, 4) - 1;
    event->hashes = draft.names[at];
    event->hash_count = count;
    if (kind != LBROUTE_KV_STORED || rng_chance(&soak.rng, 10))
        return;
    event->blocks = draft.contents[at];
    event->block_count = count;
    event->block_size = 16;
    event->has_parent = begin > 0;
    if (begin > 0)
        event->parent = name_of(engine, prompt, begin - 1);
}

/* Most rows go on where nobody knows whether their parent is known. */
static void draw_event(const struct engine *engine)
{
    uint64_t prompt = rng_below(&soak.rng, 1 + rng_below(&soak.rng, PROMPTS));
    uint32_t begin =
        rng_chance(&soak.rng, 60) ? 0 : rng_below(&soak.rng, DEPTH);
    uint32_t most = DEPTH - begin < MOST ? DEPTH - begin : MOST;
    int kind =
        rng_chance(&soak.rng, 65) ? LBROUTE_KV_STORED : LBROUTE_KV_REMOVED;

    add_event(engine, kind, prompt, begin, rng_between(&soak.rng, 1, most));
}

static uint64_t blocks_drafted(void)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < draft.count; i++)
        sum += draft.events[i].hash_count;
    return sum;
}

static void note(const lbroute_kv_result *result)
{
    soak.outcomes[result->outcome]++;
    for (int reason = 0; reason < LBROUTE_KV_REASON_COUNT; reason++)
        soak.reasons[reason] += result->reasons[reason];
}

/* Hands the draft over as batch |seq|. */
static void send(size_t target, uint32_t source, uint64_t seq)
{
    const struct engine *engine = &soak.engines[target][source];
    lbroute_kv_batch batch;
    lbroute_kv_result result;

    lbroute_kv_batch_init(&batch, sizeof batch);
    lbroute_kv_result_init(&result, sizeof result);
    batch.seq = seq;
    batch.timestamp = engine->timestamp + (double)seq;
    batch.events = draft.events;
    batch.event_count = draft.count;
    CHECK_I(lbroute_kv_apply(soak.router, soak.targets[target], source, &batch,
                             soak.now, &result),
            LBROUTE_OK);
    note(&result);
}

/* ---- what happens ---- */

/* What was missed comes, or does not and is given up. */
static void end_gap(size_t target, uint32_t source)
{
    uint64_t first, last;

    while (lbroute_kv_missing(soak.router, soak.targets[target], source, &first,
                              &last) == LBROUTE_OK) {
        if (rng_chance(&soak.rng, 10)) {
            CHECK_I(lbroute_kv_clear(soak.router, soak.targets[target], source,
                                     soak.now),
                    LBROUTE_OK);
            return;
        }
        for (; first <= last; first++)
            send(target, source, first);
    }
}

static void draw_batch(const struct engine *engine)
{
    uint32_t count = rng_between(&soak.rng, 1, MOST);

    draft.count = 0;
    while (draft.count < count)
        draw_event(engine);
    if (rng_below(&soak.rng, 500) == 0)
        draft.events[0].kind = LBROUTE_KV_CLEARED;
}

/* Returns the number of blocks. */
static uint64_t tell(void)
{
    size_t target = rng_below(&soak.rng, TARGETS);
    uint32_t source = rng_below(&soak.rng, SOURCES);
    struct engine *engine = &soak.engines[target][source];

    if (rng_below(&soak.rng, 500) == 0) {
        engine->seq = 0;
        engine->epoch++;
        engine->timestamp += 1e9;
    }
    if (rng_chance(&soak.rng, 1))
        engine->seq += rng_between(&soak.rng, 1, 3);
    draw_batch(engine);
    send(target, source, engine->seq++);
    if (rng_chance(&soak.rng, 25))
        end_gap(target, source);
    return blocks_drafted();
}

static uint64_t ask(void)
{
    uint64_t prompt = rng_below(&soak.rng, 1 + rng_below(&soak.rng, PROMPTS));
    uint64_t blocks[DEPTH];
    lbroute_request request;
    lbroute_decision decision;

    for (size_t i = 0; i < DEPTH; i++)
        blocks[i] = content_of(prompt, i);
    api_request(&request, soak.pool);
    request.blocks = blocks;
    request.blocks_len = rng_between(&soak.rng, 1, DEPTH);
    lbroute_decision_init(&decision, sizeof decision);
    api_pick(soak.router, &request, soak.now, &decision);
    api_settle(soak.router, decision.ticket, LBROUTE_EVENT_SUCCESS, soak.now);
    return 1;
}

/* A target goes, with all that it told, and comes back. */
static uint64_t replace_target(void)
{
    size_t index = rng_below(&soak.rng, TARGETS);
    char name[16];

    snprintf(name, sizeof name, "new%zu", index);
    CHECK_I(lbroute_target_remove(soak.router, soak.targets[index]),
            LBROUTE_OK);
    soak.targets[index] = api_target(soak.router, soak.pool, name, 1);
    return 1;
}

static uint64_t step(void)
{
    soak.now += rng_below(&soak.rng, (uint32_t)(second / 100));
    if (rng_below(&soak.rng, 2000) == 0)
        return replace_target();
    return rng_chance(&soak.rng, 10) ? ask() : tell();
}

/* ---- the run ---- */

static void open_router(uint64_t seed)
{
    lbroute_router_options options;

    memset(&soak, 0, sizeof soak);
    rng_seed(&soak.rng, seed);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = seed;
    options.max_kv_blocks = ROOM;
    heap_attach(&soak.heap, &options);
    CHECK_I(lbroute_router_create(&options, &soak.router), LBROUTE_OK);
    soak.pool = api_pool(soak.router, "pool", "precise_cache_aware");
    api_targets(soak.router, soak.pool, TARGETS, soak.targets);
    api_set(soak.router, soak.pool, "precise_cache_aware.speculate", 1);
}

/* Returns the most memory that was ever held since the latest one. */
static uint64_t run(uint64_t operations)
{
    uint64_t done = 0;

    soak.heap.peak = soak.heap.bytes;
    while (done < operations) {
        check_step(done);
        done += step();
    }
    return soak.heap.peak;
}

/* Everything did happen. */
static void check_counts(void)
{
    lbroute_stats stats = api_stats(soak.router);

    CHECK(stats.kv_blocks <= ROOM);
    CHECK(stats.kv_evicted > 0);
    CHECK(soak.outcomes[LBROUTE_KV_GAP] > 0);
    CHECK(soak.outcomes[LBROUTE_KV_RESTARTED] > 0);
    CHECK(soak.reasons[LBROUTE_KV_REASON_WAITING] > 0);
    CHECK(soak.reasons[LBROUTE_KV_REASON_UNKNOWN] > 0);
}

void soak_events(uint64_t operations, uint64_t seed)
{
    clock_t begin = clock();
    uint64_t first, then;

    check_context("KV events", seed);
    open_router(seed);
    first = run(operations / 2);
    then = run(operations - operations / 2);
    check_counts();
    lbroute_router_destroy(soak.router);
    CHECK_U(soak.heap.live, 0);
    printf("KV events: %" PRIu64 " blocks, at most %" PRIu64 " then %" PRIu64
           " bytes, %.0f s\n",
           operations, first, then, (double)(clock() - begin) / CLOCKS_PER_SEC);
    fflush(stdout);
    CHECK(then <= first + FLAT);
}
