/* SPDX-License-Identifier: MIT */
/*
 * Memory of requests that wait: every allocation may fail, a request that waits
 * costs one once warm and everything else none, churn leaves nothing behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "heap.h"
#include "prng.h"

enum { SLOTS = 3, REQUESTS = 30 };

struct life {
    struct heap heap;
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target target;
    lbroute_ticket tickets[REQUESTS];
    size_t ticket_count, ticket_first;
    lbroute_place place; /* the latest */
    uint64_t tags;
    int results[4 * REQUESTS]; /* what the calls returned, in the end */
    size_t result_count;
};

static int score(void *user, const lbroute_score_request *request,
                 const lbroute_candidate *candidates, size_t count,
                 double *scores)
{
    (void)user;
    (void)request;
    (void)candidates;
    for (size_t i = 0; i < count; i++)
        scores[i] = 0.5;
    return 0;
}

static void start(struct life *life, const char *strategy)
{
    lbroute_router_options options;
    lbroute_target_options target;
    lbroute_scorer_options scorer;
    lbroute_scorer handle;

    memset(life, 0, sizeof *life);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    heap_attach(&life->heap, &options);
    CHECK_I(lbroute_router_create(&options, &life->router), LBROUTE_OK);
    life->pool = api_pool(life->router, "pool", strategy);
    api_set(life->router, life->pool, "queue.enabled", 1);
    api_set(life->router, life->pool, "queue.depth", 1000);
    api_target_options(&target, life->pool, "t", 1);
    target.max_concurrency = SLOTS;
    CHECK_I(lbroute_target_add(life->router, &target, 0, &life->target), 0);
    lbroute_scorer_options_init(&scorer, sizeof scorer);
    scorer.name = "s";
    scorer.name_len = 1;
    scorer.score = score;
    CHECK_I(lbroute_scorer_register(life->router, life->pool, &scorer, &handle),
            0);
}

static void fill_request(const struct life *life, lbroute_request *request)
{
    static const char *const clients[] = {"a", "b", "c", "d", "e"};
    static char prompt[4000];

    memset(prompt, 'p', sizeof prompt);
    api_request(request, life->pool);
    request->client = clients[life->tags % 5];
    request->client_len = 1;
    request->prompt = prompt;
    request->prompt_len = sizeof prompt;
    request->priority = (int32_t)(life->tags % 3);
    request->tag = life->tags;
}

static void keep_ticket(struct life *life, const lbroute_decision *decision)
{
    life->tickets[(life->ticket_first + life->ticket_count++) % REQUESTS] =
        decision->ticket;
}

static int do_pick(struct life *life)
{
    lbroute_request request;
    lbroute_decision decision;
    int result;

    fill_request(life, &request);
    lbroute_decision_init(&decision, sizeof decision);
    result = lbroute_pick(life->router, &request, 0, &decision);
    if (result == LBROUTE_OK)
        keep_ticket(life, &decision);
    if (result == LBROUTE_ERR_QUEUED)
        life->place = decision.place;
    if (result != LBROUTE_ERR_NO_MEMORY)
        life->tags++;
    return result;
}

static int do_settle(struct life *life)
{
    int result;

    if (!life->ticket_count)
        return 1;
    result =
        api_observe(life->router, life->tickets[life->ticket_first % REQUESTS],
                    LBROUTE_EVENT_SUCCESS, 0);
    life->ticket_first++;
    life->ticket_count--;
    return result;
}

static int do_next(struct life *life)
{
    lbroute_decision decision;
    int result;

    lbroute_decision_init(&decision, sizeof decision);
    result = lbroute_next_ready(life->router, 0, &decision);
    if (result == LBROUTE_OK)
        keep_ticket(life, &decision);
    return result;
}

static int do_cancel(struct life *life)
{
    return lbroute_place_cancel(life->router, life->place, 0);
}

/* All but what memory was set aside or asked for. */
static void check_unchanged(struct life *life, const lbroute_stats *before)
{
    lbroute_stats after = api_stats(life->router);

    after.allocations = before->allocations;
    after.memory_bytes = before->memory_bytes;
    CHECK_I(memcmp(&after, before, sizeof after), 0);
}

/* Calls until there is memory. */
static void perform(struct life *life, int (*call)(struct life *life))
{
    lbroute_stats before = api_stats(life->router);
    int result = call(life);

    while (result == LBROUTE_ERR_NO_MEMORY) {
        CHECK(life->heap.failures > 0);
        check_unchanged(life, &before);
        result = call(life);
    }
    CHECK_U(api_stats(life->router).memory_bytes, life->heap.bytes);
    life->results[life->result_count++] = result;
}

static void live(struct life *life, const char *strategy, uint64_t fail_at)
{
    start(life, strategy);
    life->heap.fail_at = fail_at ? life->heap.calls + fail_at : 0;
    for (int i = 0; i < REQUESTS; i++)
        perform(life, do_pick);
    perform(life, do_cancel);
    for (int i = 0; i < REQUESTS; i++) {
        perform(life, do_settle);
        perform(life, do_next);
    }
    perform(life, do_pick);
    perform(life, do_pick);
}

static void finish(struct life *life)
{
    lbroute_router_destroy(life->router);
    CHECK_U(life->heap.live, 0);
    CHECK_U(life->heap.bytes, 0);
}

/* Whichever allocation fails, the call that needed it changed nothing, and the
 * life goes on as if it had never been. */
static void every_allocation_may_fail(void **state)
{
    static const char *const strategies[] = {
        "weighted", "cache_aware", "pipeline", "kv_aware", "least_work"};
    static struct life model;
    static struct life life;
    (void)state;

    for (size_t s = 0; s < sizeof strategies / sizeof strategies[0]; s++) {
        uint64_t calls;
        live(&model, strategies[s], 0);
        calls = model.heap.calls;
        CHECK(calls > REQUESTS);
        finish(&model);
        for (uint64_t fail_at = 1; fail_at <= calls; fail_at++) {
            check_context(strategies[s], fail_at);
            live(&life, strategies[s], fail_at);
            CHECK_U(life.result_count, model.result_count);
            for (size_t i = 0; i < model.result_count; i++)
                CHECK_I(life.results[i], model.results[i]);
            finish(&life);
        }
    }
}

/* With requests waiting at the destruction of their router. */
static void destroyed_while_waiting(void **state)
{
    static struct life life;
    (void)state;

    start(&life, "cache_aware");
    for (int i = 0; i < REQUESTS; i++)
        (void)do_pick(&life);
    CHECK(api_stats(life.router).waiting > 0);
    CHECK_U(api_stats(life.router).memory_bytes, life.heap.bytes);
    finish(&life);
}

static void churn(struct life *life, size_t rounds, int counted)
{
    for (size_t i = 0; i < rounds; i++) {
        uint64_t calls = life->heap.calls;
        int result = do_pick(life);
        if (counted)
            CHECK_U(life->heap.calls - calls, result == LBROUTE_ERR_QUEUED);
        calls = life->heap.calls;
        if (i % 4 == 3 && result == LBROUTE_ERR_QUEUED)
            CHECK_I(do_cancel(life), LBROUTE_OK);
        if (i % 8 < 6) {
            CHECK_I(do_settle(life), LBROUTE_OK);
            while (do_next(life) == LBROUTE_OK)
                continue;
        }
        if (counted)
            CHECK_U(life->heap.calls, calls);
    }
    while (life->ticket_count) {
        (void)do_settle(life);
        while (do_next(life) == LBROUTE_OK)
            continue;
    }
    CHECK_U(api_stats(life->router).waiting, 0);
}

/* Once warm, a request that waits costs the allocation of its copy, and no call
 * any other. */
static void one_allocation_for_a_copy(void **state)
{
    static const char *const strategies[] = {
        "weighted", "cache_aware", "pipeline", "kv_aware", "least_work"};
    static struct life life;
    (void)state;

    for (size_t s = 0; s < sizeof strategies / sizeof strategies[0]; s++) {
        uint64_t bytes;
        check_context(strategies[s], 0);
        start(&life, strategies[s]);
        churn(&life, 24, 0);
        churn(&life, 24, 0);
        bytes = life.heap.bytes;
        churn(&life, 24, 1);
        CHECK_U(life.heap.bytes, bytes);
        for (size_t i = 0; i < scaled(400); i++)
            churn(&life, 24, 1);
        CHECK_U(life.heap.bytes, bytes);
        finish(&life);
    }
}

/* The estimate holds with as many waiting as may, each another client. */
static void estimate(void **state)
{
    struct heap heap;
    lbroute_router_options options;
    lbroute_target_options target;
    lbroute_target handle;
    lbroute_router *router = NULL;
    lbroute_request request;
    lbroute_decision decision;
    uint32_t client = 0;
    size_t bound;
    (void)state;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.max_pools = options.max_targets = 1;
    options.max_tickets = options.max_sessions = options.max_prices = 1;
    options.max_kv_blocks = options.max_kv_sources = options.max_scorers = 1;
    options.max_waiting = 5000;
    /* Copies fill most of what they may take: half of one are pointers. */
    options.max_waiting_bytes = 5000 * (300 + 300 * sizeof(void *) / 8);
    CHECK_I(lbroute_router_estimate(&options, &bound), LBROUTE_OK);
    heap_attach(&heap, &options);
    CHECK_I(lbroute_router_create(&options, &router), LBROUTE_OK);
    lbroute_pool pool = api_pool(router, "pool", "weighted");
    api_set(router, pool, "admission.mode", LBROUTE_ADMISSION_QUEUE_ALL);
    api_target_options(&target, pool, "t", 1);
    target.max_concurrency = 1;
    CHECK_I(lbroute_target_add(router, &target, 0, &handle), 0);
    api_request(&request, pool);
    lbroute_decision_init(&decision, sizeof decision);
    api_pick(router, &request, 0, &decision);
    request.client = &client;
    request.client_len = sizeof client;
    for (; client < 5000; client++) {
        request.prompt = "some prompt";
        request.prompt_len = 11;
        CHECK_I(lbroute_pick(router, &request, 0, &decision),
                LBROUTE_ERR_QUEUED);
    }
    CHECK_I(lbroute_pick(router, &request, 0, &decision),
            LBROUTE_ERR_SATURATED);
    CHECK(heap.bytes <= bound);
    CHECK(heap.bytes > bound / 5);
    lbroute_router_destroy(router);
    CHECK_U(heap.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(destroyed_while_waiting),
        cmocka_unit_test(one_allocation_for_a_copy),
        cmocka_unit_test(estimate),
    };
    return cmocka_run_group_tests_name("waiting memory", tests,
                                       check_use_cmocka, NULL);
}
