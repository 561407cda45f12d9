/* SPDX-License-Identifier: MIT */
/*
 * Picks of the strategies that go by what engines report, with requests that
 * ask for it:
 *
 *     pick.lora_aware.adapter.N      each request asks for one of 64 adapters,
 *                                    of which a target holds four
 *     pick.lmcache_aware.lookup.N    each request carries a lookup of four
 *                                    targets; how full caches are is known
 *
 * What was reported does not grow old while the bench runs.
 */
#include "fleet.h"

#include <stdio.h>
#include <stdlib.h>

enum { ADAPTERS = 64, SLOTS = 4, LOOKED_UP = 4, PROMPT_TOKENS = 4096 };

/* Longest time to live. */
#define FOREVER 31536000.0

typedef struct signalled {
    bench_fleet *fleet;
    lbroute_target *targets;
    size_t target_count;
    char names[ADAPTERS][16];
    size_t lengths[ADAPTERS];
    lbroute_target looked_up[LOOKED_UP];
    uint64_t tokens[LOOKED_UP];
} signalled;

static signalled *open_fleet(const bench_case *test, const char *ttl)
{
    signalled *self = bench_alloc(1, sizeof *self);
    bench_lane *lane;

    self->fleet = bench_fleet_open(test);
    lane = self->fleet->lanes[0];
    self->target_count = test->targets;
    self->targets = bench_fleet_targets(self->fleet, test->targets);
    bench_check(
        lbroute_pool_set(lane->router, lane->request.pool, ttl, FOREVER), ttl);
    return self;
}

/* Every ticket that is open when time is taken is one of these requests. */
static void warm(signalled *self, void (*work)(void *, unsigned, uint64_t))
{
    work(self, 0, 8 * self->fleet->lanes[0]->open_count);
}

static void ask_for_adapters(void *fixture, unsigned lane_number,
                             uint64_t operations)
{
    signalled *self = fixture;
    bench_lane *lane = self->fleet->lanes[lane_number];

    for (uint64_t i = 0; i < operations; i++) {
        size_t adapter = (size_t)bench_random(&lane->random, ADAPTERS);

        lane->request.adapter = self->names[adapter];
        lane->request.adapter_len = self->lengths[adapter];
        bench_lane_step(lane);
    }
    bench_keep(lane->decision.ticket);
}

static void *open_adapters(const bench_case *test)
{
    signalled *self = open_fleet(test, "lora_aware.ttl");
    const bench_lane *lane = self->fleet->lanes[0];

    for (size_t i = 0; i < ADAPTERS; i++)
        self->lengths[i] = (size_t)snprintf(
            self->names[i], sizeof self->names[i], "adapter-%zu", i);
    for (size_t i = 0; i < self->target_count; i++)
        bench_check(lbroute_note_adapters(lane->router, self->targets[i], NULL,
                                          NULL, 0, SLOTS, lane->now),
                    "adapters");
    warm(self, ask_for_adapters);
    return self;
}

static void look_up(void *fixture, unsigned lane_number, uint64_t operations)
{
    signalled *self = fixture;
    bench_lane *lane = self->fleet->lanes[lane_number];

    for (uint64_t i = 0; i < operations; i++) {
        for (size_t k = 0; k < LOOKED_UP; k++) {
            self->looked_up[k] =
                self->targets[bench_random(&lane->random, self->target_count)];
            self->tokens[k] = bench_random(&lane->random, PROMPT_TOKENS);
        }
        bench_lane_step(lane);
    }
    bench_keep(lane->decision.ticket);
}

static void *open_lookups(const bench_case *test)
{
    signalled *self = open_fleet(test, "lmcache_aware.ttl");
    bench_lane *lane = self->fleet->lanes[0];

    for (size_t i = 0; i < self->target_count; i++)
        bench_check(lbroute_set_occupancy(lane->router, self->targets[i],
                                          (double)(i % 10) / 10, 1, lane->now),
                    "occupancy");
    lane->request.lookup_targets = self->looked_up;
    lane->request.lookup_tokens = self->tokens;
    lane->request.lookup_len = LOOKED_UP;
    lane->request.input_tokens = PROMPT_TOKENS;
    warm(self, look_up);
    return self;
}

static void close_signalled(void *fixture)
{
    signalled *self = fixture;

    bench_fleet_close(self->fleet);
    free(self->targets);
    free(self);
}

static const bench_kind adapters = {
    .open = open_adapters, .work = ask_for_adapters, .close = close_signalled};
static const bench_kind lookups = {
    .open = open_lookups, .work = look_up, .close = close_signalled};

void bench_suite_signals(bench_list *list)
{
    for (size_t i = 0; i < BENCH_SIZES; i++) {
        bench_case *test = bench_list_add_sized(
            list, &adapters, "pick.lora_aware.adapter", bench_sizes[i]);

        test->strategy = "lora_aware";
        test = bench_list_add_sized(list, &lookups, "pick.lmcache_aware.lookup",
                                    bench_sizes[i]);
        test->strategy = "lmcache_aware";
    }
}
