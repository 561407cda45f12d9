/* SPDX-License-Identifier: MIT */
/*
 * One router, eight threads that pick, observe, explain, read, add, update and
 * remove. At the end every ticket is settled and every count is zero. Meant to
 * be run under ThreadSanitizer as well.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "prng.h"

enum { THREADS = 8, SHARED = 6, OWN = 3, OPEN = 16 };

/* What the threads share. */
static struct {
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target targets[SHARED];
    atomic_uint_fast64_t clock;
    size_t steps;
} arena;

/* What one thread has to itself. Checks belong to the main thread: a worker
 * counts what it finds wrong. */
struct worker {
    struct rng rng;
    uint32_t number;
    lbroute_target own[OWN];
    lbroute_ticket open[OPEN];
    size_t open_count;
    uint64_t told; /* batches of KV events */
    uint64_t picks;
    uint64_t settled;
    uint64_t rejected;
    uint64_t wrong;
};

/* Threads read the clock before they take the lock, so times go backward. */
static uint64_t tick(void)
{
    return atomic_fetch_add_explicit(&arena.clock, 1000, memory_order_relaxed);
}

static void expect(struct worker *worker, int condition)
{
    worker->wrong += !condition;
}

static void add_own(struct worker *worker, size_t place)
{
    char name[32];
    lbroute_target_options options;
    snprintf(name, sizeof name, "thread %u target %zu", worker->number, place);
    api_target_options(&options, arena.pool, name,
                       1 + rng_below(&worker->rng, 4));
    options.max_concurrency = 4;
    options.tier = "gold";
    options.tier_len = rng_chance(&worker->rng, 20) ? 4 : 0;
    expect(worker, lbroute_target_add(arena.router, &options, tick(),
                                      &worker->own[place]) == LBROUTE_OK);
}

static void remove_own(struct worker *worker, size_t place)
{
    expect(worker, lbroute_target_remove(arena.router, worker->own[place]) ==
                       LBROUTE_OK);
    expect(worker, lbroute_target_remove(arena.router, worker->own[place]) ==
                       LBROUTE_ERR_NOT_FOUND);
    worker->own[place] = 0;
}

enum { TOKENS = API_KV_BLOCKS * API_KV_SIZE };

/* A prompt as token ids. */
static size_t draw_tokens(struct worker *worker, uint32_t tokens[TOKENS])
{
    uint32_t id = rng_below(&worker->rng, 4);
    for (uint32_t i = 0; i < TOKENS; i++)
        tokens[i] = i < TOKENS / 2 ? 0 : id;
    return rng_below(&worker->rng, TOKENS + 1);
}

/* Each thread reads a source of its own of the first target. */
static void tell(struct worker *worker)
{
    uint32_t tokens[TOKENS];
    size_t count = draw_tokens(worker, tokens);
    int kind =
        rng_chance(&worker->rng, 60) ? LBROUTE_KV_STORED : LBROUTE_KV_REMOVED;
    expect(worker, api_tell(arena.router, arena.targets[0], worker->number,
                            worker->told++, kind, rng_below(&worker->rng, 20),
                            tokens, count, tick()) == LBROUTE_OK);
    if (rng_chance(&worker->rng, 2))
        expect(worker, lbroute_kv_clear(arena.router, arena.targets[0],
                                        worker->number, tick()) == LBROUTE_OK);
}

static void change(struct worker *worker)
{
    size_t place = rng_below(&worker->rng, OWN);
    lbroute_target target = arena.targets[rng_below(&worker->rng, SHARED)];
    lbroute_target own = worker->own[place];
    int result = LBROUTE_OK;
    switch (rng_below(&worker->rng, 6)) {
    case 0:
        if (own)
            remove_own(worker, place);
        else
            add_own(worker, place);
        break;
    case 1:
        result = lbroute_target_set_weight(
            arena.router, target, 1 + rng_below(&worker->rng, 3), tick());
        break;
    case 2:
        if (own)
            result = lbroute_target_drain(arena.router, own,
                                          rng_chance(&worker->rng, 50), tick());
        break;
    case 3:
        if (own)
            result = lbroute_target_bench(
                arena.router, own, rng_below(&worker->rng, 10000), tick());
        break;
    default:
        result = lbroute_set_gauge(arena.router, target, LBROUTE_GAUGE_RUNNING,
                                   rng_below(&worker->rng, 9), tick());
        break;
    }
    expect(worker, result == LBROUTE_OK);
}

/* What a request points to. */
struct texts {
    char session[16];
    uint32_t tokens[TOKENS];
};

static void fill_request(struct worker *worker, struct texts *texts,
                         lbroute_request *request)
{
    static const char prompts[4][32] = {
        "you are helpful; what is a", "you are helpful; what is the b",
        "you are a poet; write c", "translate this into French: d"};
    snprintf(texts->session, sizeof texts->session, "s%u",
             rng_below(&worker->rng, 50));
    api_request(request, arena.pool);
    api_set_session(request, texts->session);
    if (rng_chance(&worker->rng, 30)) {
        request->tokens = texts->tokens;
        request->tokens_len = draw_tokens(worker, texts->tokens);
    }
    request->prompt = prompts[rng_below(&worker->rng, 4)];
    request->prompt_len = rng_below(&worker->rng, sizeof prompts[0] + 1);
    if (rng_chance(&worker->rng, 10)) {
        request->exclude = arena.targets;
        request->exclude_len = rng_below(&worker->rng, SHARED);
    }
    if (rng_chance(&worker->rng, 5)) {
        request->tier = "nobody";
        request->tier_len = 6;
    }
}

static void pick(struct worker *worker)
{
    struct texts texts;
    lbroute_request request;
    lbroute_decision decision;
    if (worker->open_count == OPEN)
        return;
    fill_request(worker, &texts, &request);
    lbroute_decision_init(&decision, sizeof decision);
    int result = lbroute_pick(arena.router, &request, tick(), &decision);
    if (result != LBROUTE_OK) {
        expect(worker, request.tier_len > 0 && result == LBROUTE_ERR_NO_TARGET);
        worker->rejected++;
        return;
    }
    worker->picks++;
    expect(worker, decision.target_name_len > 0);
    expect(worker, decision.max_concurrency == 0 ||
                       decision.in_flight <= decision.max_concurrency);
    worker->open[worker->open_count++] = decision.ticket;
}

static void settle(struct worker *worker)
{
    if (worker->open_count == 0)
        return;
    size_t at = rng_below(&worker->rng, (uint32_t)worker->open_count);
    lbroute_ticket ticket = worker->open[at];
    int kind = rng_chance(&worker->rng, 95)
                   ? LBROUTE_EVENT_SUCCESS
                   : (int)rng_between(&worker->rng, 3, 7);
    worker->open[at] = worker->open[--worker->open_count];
    expect(worker, api_observe(arena.router, ticket, LBROUTE_EVENT_FIRST_TOKEN,
                               tick()) == LBROUTE_OK);
    expect(worker,
           api_observe(arena.router, ticket, kind, tick()) == LBROUTE_OK);
    expect(worker, api_observe(arena.router, ticket, kind, tick()) ==
                       LBROUTE_ERR_NOT_FOUND);
    worker->settled++;
}

static void explain(struct worker *worker)
{
    struct texts texts;
    lbroute_request request;
    lbroute_decision decision;
    lbroute_candidate candidates[SHARED];
    size_t count = 0;
    char name[64];
    char value[300];
    size_t name_len = 0;
    size_t value_len = 0;
    fill_request(worker, &texts, &request);
    (void)api_explain(arena.router, &request, tick(), &decision, candidates,
                      SHARED, &count);
    expect(worker, count >= SHARED && decision.ticket == 0);
    (void)lbroute_decision_header(arena.router, &decision, 0, name, sizeof name,
                                  &name_len, value, sizeof value, &value_len);
}

static void read_all(struct worker *worker)
{
    lbroute_stats stats;
    lbroute_target_stats target_stats;
    lbroute_share shares[SHARED];
    size_t count = 0;
    lbroute_target at = 0;
    lbroute_stats_init(&stats, sizeof stats);
    expect(worker, lbroute_get_stats(arena.router, &stats) == LBROUTE_OK);
    expect(worker, stats.open_tickets <= THREADS * OPEN);
    for (size_t i = 0; i < SHARED; i++)
        lbroute_share_init(&shares[i], sizeof shares[i]);
    expect(worker, lbroute_pool_shares(arena.router, arena.pool, tick(), shares,
                                       SHARED, &count) == LBROUTE_OK);
    while (lbroute_target_next(arena.router, arena.pool, at, &at) ==
           LBROUTE_OK) {
        lbroute_target_stats_init(&target_stats, sizeof target_stats);
        (void)lbroute_get_target_stats(arena.router, at, tick(), &target_stats);
    }
    expect(worker, lbroute_tick(arena.router, tick()) == LBROUTE_OK);
    (void)lbroute_next_deadline(arena.router);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (size_t i = 0; i < arena.steps; i++) {
        uint32_t choice = rng_below(&worker->rng, 100);
        if (choice < 45)
            pick(worker);
        else if (choice < 90)
            settle(worker);
        else if (choice < 93)
            change(worker);
        else if (choice < 95)
            tell(worker);
        else if (choice < 98)
            explain(worker);
        else
            read_all(worker);
    }
    while (worker->open_count > 0)
        settle(worker);
    for (size_t i = 0; i < OWN; i++) {
        if (worker->own[i])
            remove_own(worker, i);
    }
    return NULL;
}

static void run_threads(struct worker *workers)
{
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        rng_seed(&workers[i].rng, i + 1);
        workers[i].number = i;
        CHECK_I(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        CHECK_I(pthread_join(threads[i], NULL), 0);
}

static void check_ledger(const struct worker *workers)
{
    uint64_t picks = 0;
    uint64_t settled = 0;
    uint64_t rejected = 0;
    for (int i = 0; i < THREADS; i++) {
        CHECK_U(workers[i].wrong, 0);
        CHECK_U(workers[i].picks, workers[i].settled);
        picks += workers[i].picks;
        settled += workers[i].settled;
        rejected += workers[i].rejected;
    }
    lbroute_stats stats = api_stats(arena.router);
    CHECK_U(stats.picks, picks);
    uint64_t by_reason = 0;
    for (int reason = 0; reason < LBROUTE_REASON_COUNT; reason++)
        by_reason += stats.rejections[reason];
    CHECK_U(by_reason, rejected);
    CHECK_U(stats.open_tickets, 0);
    CHECK_U(stats.orphan_tickets, 0);
    CHECK_U(stats.expired, 0);
    CHECK_U(stats.targets, SHARED);
    CHECK(stats.kv_sources <= THREADS);
    uint64_t by_kind = 0;
    for (int kind = 0; kind < LBROUTE_EVENT_COUNT; kind++)
        by_kind += stats.settled[kind];
    CHECK_U(by_kind, settled);
    for (size_t i = 0; i < SHARED; i++)
        CHECK_U(api_target_stats(arena.router, arena.targets[i], 0).in_flight,
                0);
}

static void run_strategy(const char *strategy)
{
    static struct worker workers[THREADS];
    lbroute_router_options options;
    check_context(strategy, 0);
    memset(workers, 0, sizeof workers);
    memset(&arena.targets, 0, sizeof arena.targets);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    CHECK_I(lbroute_router_create(&options, &arena.router), LBROUTE_OK);
    arena.pool = api_pool(arena.router, "pool", strategy);
    api_targets(arena.router, arena.pool, SHARED, arena.targets);
    atomic_store(&arena.clock, 0);
    arena.steps = scaled(30000);
    run_threads(workers);
    check_ledger(workers);
    lbroute_router_destroy(arena.router);
}

static void threads_share_a_router(void **state)
{
    (void)state;
    const char *strategy;
    for (size_t i = 0; (strategy = lbroute_strategy_name(i)) != NULL; i++)
        run_strategy(strategy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_a_router),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
