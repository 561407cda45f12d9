/* SPDX-License-Identifier: MIT */
#include "program.h"

#include <string.h>

#include "api.h"
#include "check.h"
#include "program_state.h"

/* The counts of all targets are compared after so many operations, those of
 * the router after each. */
enum { CHECK_EVERY = 8 };

static struct program the_program;

uint32_t program_byte(struct program *program)
{
    if (!program->bytes)
        return rng_below(&program->rng, 256);
    if (program->at >= program->length)
        return 0;
    return program->bytes[program->at++];
}

uint32_t program_below(struct program *program, uint32_t bound)
{
    return program_byte(program) * bound / 256;
}

int program_ended(const struct program *program)
{
    return program->bytes && program->at >= program->length;
}

uint64_t program_now(struct program *program)
{
    uint64_t now = program->model.now;
    uint32_t back = program_byte(program);
    if (program->unseen)
        back = 0;
    program->unseen = 0;
    return back < 240 || now < back ? now : now - back;
}

struct program_pool *program_some_pool(struct program *program)
{
    uint32_t first = program_below(program, PROGRAM_POOLS);
    for (uint32_t i = 0; i < PROGRAM_POOLS; i++) {
        struct program_pool *pool =
            &program->pools[(first + i) % PROGRAM_POOLS];
        if (pool->handle)
            return pool;
    }
    return NULL;
}

struct program_pool *program_find_pool(struct program *program,
                                       lbroute_pool handle)
{
    for (int i = 0; i < PROGRAM_POOLS; i++) {
        if (program->pools[i].handle == handle)
            return &program->pools[i];
    }
    return NULL;
}

size_t program_some_target(struct program *program)
{
    if (program->model.target_count == 0)
        return MODEL_TARGETS;
    return program_below(program, (uint32_t)program->model.target_count);
}

void program_remember_removed(struct program *program, lbroute_target target)
{
    program->removed[program->removed_count++ % PROGRAM_STALE] = target;
}

void program_remember_settled(struct program *program, lbroute_ticket ticket)
{
    program->settled[program->settled_count++ % PROGRAM_STALE] = ticket;
}

/* Picks and observes come often, the rest seldom. */
static void run_operation(struct program *program)
{
    static void (*const operations[])(struct program *) = {
        program_pick,          program_pick,          program_pick,
        program_pick,          program_pick,          program_pick,
        program_pick,          program_pick,          program_observe,
        program_observe,       program_observe,       program_observe,
        program_observe,       program_observe,       program_observe,
        program_observe_stale, program_pass_time,     program_pass_time,
        program_explain,       program_explain,       program_read,
        program_set_gauge,     program_set_gauge,     program_add_target,
        program_add_target,    program_remove_target, program_update_target,
        program_set_weight,    program_drain,         program_bench,
        program_add_pool,      program_update_pool,   program_remove_pool,
        program_set_parameter, program_walk,          program_misuse,
        program_add_scorer,    program_change_scorer, program_change_price,
        program_change_price,  program_tell_events,   program_tell_events,
        program_tell_events,   program_tell_events,   program_forget_events,
    };
    uint32_t count = sizeof operations / sizeof operations[0];
    operations[program_below(program, count)](program);
}

static void check_memory(struct program *program, const lbroute_stats *stats)
{
    CHECK_U(stats->memory_bytes, program->heap.bytes);
    CHECK_U(stats->allocations, program->heap.calls);
    CHECK(program->estimate == 0 || program->heap.peak <= program->estimate);
}

static void check_state(struct program *program)
{
    lbroute_stats stats = api_stats(program->router);
    CHECK_U(stats.picks, program->model.picks);
    CHECK_U(stats.open_tickets, program->model.ticket_count);
    CHECK_U(stats.targets, program->model.target_count);
    CHECK(stats.sessions <= program->max_sessions);
    CHECK(stats.kv_blocks <= PROGRAM_KV_BLOCKS);
    CHECK(stats.kv_sources <= PROGRAM_KV_SOURCES);
    check_memory(program, &stats);
}

static void count_strategies(struct program *program)
{
    while (lbroute_strategy_name(program->strategies))
        program->strategies++;
}

/* A small router, so that its bounds are met. */
static void start(struct program *program)
{
    lbroute_router_options options;
    lbroute_router_options_init(&options, sizeof options);
    uint32_t shape = program_byte(program);
    options.seed = shape + 1;
    options.max_pools = PROGRAM_POOLS - 1;
    options.max_targets = PROGRAM_TARGETS;
    program->max_tickets = shape & 1 ? 12 : 200;
    program->max_sessions = shape & 2 ? 3 : 100;
    options.max_tickets = program->max_tickets;
    options.max_sessions = program->max_sessions;
    options.max_prices = MODEL_LABELS;
    options.max_kv_blocks = PROGRAM_KV_BLOCKS;
    options.max_kv_sources = PROGRAM_KV_SOURCES;
    options.ticket_ttl = 60 * SECOND;
    options.single_threaded = (shape >> 2) & 1;
    heap_attach(&program->heap, &options);
    CHECK_I(lbroute_router_estimate(&options, &program->estimate), LBROUTE_OK);
    CHECK_I(lbroute_router_create(&options, &program->router), LBROUTE_OK);
    program->prompts = (shape >> 5) & 1;
    if (program->prompts)
        program->estimate = 0;

    model_init(&program->model);
    program->model.ticket_ttl = options.ticket_ttl;
    if (shape & 8) {
        program->model.rules.bench_after = 2;
        program->model.rules.bench_time = SECOND;
        program->model.rules.bench_max = 4 * SECOND;
    }
    program->model.now = shape & 16 ? UINT64_C(1) << 62 : 0;
    count_strategies(program);
}

static void finish(struct program *program)
{
    model_check_counts(&program->model, program->router);
    lbroute_router_destroy(program->router);
    program_check_scorers_gone(program);
    CHECK_U(program->heap.live, 0);
    CHECK_U(program->heap.bytes, 0);
}

static void run(struct program *program, size_t operations)
{
    start(program);
    for (size_t i = 0; i < operations && !program_ended(program); i++) {
        check_step(i);
        run_operation(program);
        check_state(program);
        if (i % CHECK_EVERY == 0)
            model_check_counts(&program->model, program->router);
    }
    finish(program);
}

void program_run(const uint8_t *bytes, size_t length)
{
    memset(&the_program, 0, sizeof the_program);
    the_program.bytes = bytes;
    the_program.length = length;
    if (length > 0)
        run(&the_program, length);
}

void program_run_random(uint64_t seed, size_t operations)
{
    check_context("a random program", seed);
    memset(&the_program, 0, sizeof the_program);
    rng_seed(&the_program.rng, seed);
    run(&the_program, operations);
}
