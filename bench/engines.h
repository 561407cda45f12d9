/* SPDX-License-Identifier: MIT */
/*
 * Engines whose caches are full, as their KV events tell.
 *
 * A prompt has 128 blocks of 16 tokens: a system prompt that all engines hold,
 * and a conversation that one, two or three of them hold. Conversations differ
 * by their numbers; the rest of their bytes is in cache, as in a host that has
 * just read the request.
 *
 *     [ system prompt, 32 blocks | number, rest: 96 blocks ]
 *
 * A **hold** is a conversation at one of its engines. Those from |first| to
 * before |end| are in the caches, where the oldest makes room for a new one.
 *
 *     hold:          0  1  2  3  4  5   6  7  8 …
 *     conversation:  1  2  2  3  3  3   4  5  5 …
 */
#ifndef LBROUTE_BENCH_ENGINES_H
#define LBROUTE_BENCH_ENGINES_H

#include "fleet.h"

enum {
    BENCH_KV_TOKENS = 16,  /* in a block */
    BENCH_KV_PROMPT = 128, /* blocks */
    BENCH_KV_SYSTEM = 32,
    BENCH_KV_CHAT = BENCH_KV_PROMPT - BENCH_KV_SYSTEM,
    BENCH_KV_HELD = 3600000, /* blocks in the caches, of all engines */
    BENCH_KV_ROOM = 3800000  /* blocks that the router has room for */
};

typedef struct bench_engines {
    bench_fleet *fleet;
    lbroute_target *targets;
    size_t count;
    uint64_t *batches; /* that each has sent */
    uint64_t first, end;
    uint32_t tokens[BENCH_KV_PROMPT * BENCH_KV_TOKENS];
    uint64_t names[BENCH_KV_PROMPT];
    lbroute_kv_event events[BENCH_KV_CHAT];
    uint64_t memory_before; /* bytes of the router, without events */
} bench_engines;

/* Opens the fleet of the case and fills its caches. */
bench_engines *bench_engines_open(const bench_case *test);
void bench_engines_close(bench_engines *self);

uint64_t bench_engines_conversation(uint64_t hold);
size_t bench_engines_holder(const bench_engines *self, uint64_t hold);

/* Makes |tokens| those of a conversation; and |names| as well. */
void bench_engines_turn_to(bench_engines *self, uint64_t conversation);
void bench_engines_name(bench_engines *self, uint64_t conversation);

/* A conversation in the caches, at random. */
uint64_t bench_engines_any(const bench_engines *self, uint64_t *random);

/* Hands the first |count| events over as the next batch of an engine. */
void bench_engines_send(bench_engines *self, size_t engine, size_t count);

/* An event that stores |count| blocks of the conversation at hand. */
void bench_engines_store_event(const bench_engines *self,
                               lbroute_kv_event *event, size_t begin,
                               size_t count);

/* A new hold is stored at once, as at the end of a prefill. */
void bench_engines_store(bench_engines *self);

/* The oldest is removed, from its end on, with an event for each block. */
void bench_engines_remove(bench_engines *self);

/* Blocks that the caches hold, as often as they do. */
uint64_t bench_engines_held(const bench_engines *self);

#endif
