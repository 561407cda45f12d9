/* SPDX-License-Identifier: MIT */
#include "engines.h"

#include <stdlib.h>

/* Holds of three conversations. */
enum { CYCLE = 6 };

enum { FIRST_TOKEN = 1 << 16, VOCABULARY = 100000 };

/* Longest time to live, s. */
#define FOREVER 31536000.0

uint64_t bench_engines_conversation(uint64_t hold)
{
    static const unsigned char within[CYCLE] = {1, 2, 2, 3, 3, 3};

    return hold / CYCLE * 3 + within[hold % CYCLE];
}

/* Spread over all values, as digests are. */
static uint64_t spread(uint64_t value)
{
    value = (value ^ value >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return value ^ value >> 32;
}

/* The holders of a conversation are a third of all engines apart. */
size_t bench_engines_holder(const bench_engines *self, uint64_t hold)
{
    static const unsigned char which[CYCLE] = {0, 0, 1, 0, 1, 2};
    uint64_t first = spread(bench_engines_conversation(hold));

    return (size_t)(first + which[hold % CYCLE] * (self->count / 3)) %
           self->count;
}

void bench_engines_turn_to(bench_engines *self, uint64_t conversation)
{
    uint32_t *tokens = self->tokens + BENCH_KV_SYSTEM * BENCH_KV_TOKENS;

    tokens[0] = (uint32_t)(FIRST_TOKEN + (conversation & 0xffff));
    tokens[1] = (uint32_t)(FIRST_TOKEN + (conversation >> 16));
}

void bench_engines_name(bench_engines *self, uint64_t conversation)
{
    bench_engines_turn_to(self, conversation);
    for (uint64_t i = BENCH_KV_SYSTEM; i < BENCH_KV_PROMPT; i++)
        self->names[i] = spread(conversation * BENCH_KV_PROMPT + i);
}

uint64_t bench_engines_any(const bench_engines *self, uint64_t *random)
{
    return bench_engines_conversation(
        self->first + bench_random(random, self->end - self->first));
}

void bench_engines_send(bench_engines *self, size_t engine, size_t count)
{
    const bench_lane *lane = self->fleet->lanes[0];
    lbroute_kv_batch batch;

    lbroute_kv_batch_init(&batch, sizeof batch);
    batch.seq = self->batches[engine]++;
    batch.events = self->events;
    batch.event_count = count;
    bench_check(lbroute_kv_apply(lane->router, self->targets[engine], 0, &batch,
                                 lane->now, NULL),
                "kv_apply");
}

void bench_engines_store_event(const bench_engines *self,
                               lbroute_kv_event *event, size_t begin,
                               size_t count)
{
    event->kind = LBROUTE_KV_STORED;
    event->medium = LBROUTE_MEDIUM_GPU;
    event->has_parent = begin > 0;
    event->parent = begin > 0 ? self->names[begin - 1] : 0;
    event->hashes = self->names + begin;
    event->hash_count = count;
    event->tokens = self->tokens + begin * BENCH_KV_TOKENS;
    event->token_count = count * BENCH_KV_TOKENS;
    event->block_size = BENCH_KV_TOKENS;
}

void bench_engines_store(bench_engines *self)
{
    uint64_t hold = self->end++;

    bench_engines_name(self, bench_engines_conversation(hold));
    bench_engines_store_event(self, &self->events[0], BENCH_KV_SYSTEM,
                              BENCH_KV_CHAT);
    bench_engines_send(self, bench_engines_holder(self, hold), 1);
}

void bench_engines_remove(bench_engines *self)
{
    uint64_t hold = self->first++;

    bench_engines_name(self, bench_engines_conversation(hold));
    for (size_t i = 0; i < BENCH_KV_CHAT; i++) {
        self->events[i].kind = LBROUTE_KV_REMOVED;
        self->events[i].hashes = &self->names[BENCH_KV_PROMPT - 1 - i];
        self->events[i].hash_count = 1;
    }
    bench_engines_send(self, bench_engines_holder(self, hold), BENCH_KV_CHAT);
}

uint64_t bench_engines_held(const bench_engines *self)
{
    return self->count * BENCH_KV_SYSTEM +
           (self->end - self->first) * BENCH_KV_CHAT;
}

static uint64_t memory_of(const bench_fleet *fleet)
{
    lbroute_stats stats;

    lbroute_stats_init(&stats, sizeof stats);
    bench_check(lbroute_get_stats(fleet->routers[0], &stats), "stats");
    return stats.memory_bytes;
}

static void make_prompt(bench_engines *self)
{
    uint64_t random = 1;

    for (size_t i = 0; i < BENCH_KV_PROMPT * BENCH_KV_TOKENS; i++)
        self->tokens[i] = (uint32_t)bench_random(&random, VOCABULARY);
    for (uint64_t i = 0; i < BENCH_KV_SYSTEM; i++)
        self->names[i] = spread(i);
    for (size_t i = 0; i < BENCH_KV_CHAT; i++)
        lbroute_kv_event_init(&self->events[i], sizeof self->events[i]);
}

static void fill(bench_engines *self)
{
    for (size_t i = 0; i < self->count; i++) {
        bench_engines_store_event(self, &self->events[0], 0, BENCH_KV_SYSTEM);
        bench_engines_send(self, i, 1);
    }
    while (bench_engines_held(self) < BENCH_KV_HELD)
        bench_engines_store(self);
}

bench_engines *bench_engines_open(const bench_case *test)
{
    bench_engines *self = bench_alloc(1, sizeof *self);
    bench_lane *lane;

    self->fleet = bench_fleet_open(test);
    self->count = test->targets;
    self->targets = bench_fleet_targets(self->fleet, self->count);
    self->batches = bench_alloc(self->count, sizeof *self->batches);
    lane = self->fleet->lanes[0];
    bench_check(lbroute_pool_set(lane->router, lane->request.pool,
                                 "precise_cache_aware.ttl", FOREVER),
                "ttl");
    lane->request.tokens = self->tokens;
    lane->request.tokens_len = BENCH_KV_PROMPT * BENCH_KV_TOKENS;
    make_prompt(self);
    self->memory_before = memory_of(self->fleet);
    fill(self);
    return self;
}

void bench_engines_close(bench_engines *self)
{
    bench_fleet_close(self->fleet);
    free(self->targets);
    free(self->batches);
    free(self);
}
