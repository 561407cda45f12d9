/* SPDX-License-Identifier: MIT */
/*
 * Memory: every allocation may fail, none happens in a warm pick or observe,
 * churn leaves nothing behind, the estimate holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "heap.h"
#include "prng.h"
#include "script.h"

static struct script script;

/* --- Failing allocations ------------------------------------------------- */

/* All that a failed call must leave alone: everything but the memory that it
 * may have set aside, and the number of its attempts. */
static void check_unchanged(const lbroute_stats *before,
                            const lbroute_stats *after)
{
    lbroute_stats copy = *after;
    copy.allocations = before->allocations;
    copy.memory_bytes = before->memory_bytes;
    CHECK_I(memcmp(&copy, before, sizeof copy), 0);
}

/* Performs an operation until it finds memory; `tries` at most. Returns
 * whether a failure was swallowed. */
static int perform(struct script_life *life, size_t number, int tries)
{
    lbroute_stats before = api_stats(life->router);
    uint64_t failures = life->heap.failures;
    int result = script_perform(life, &script, number);
    while (result == LBROUTE_ERR_NO_MEMORY) {
        lbroute_stats after = api_stats(life->router);
        CHECK(life->heap.failures > failures);
        CHECK(tries-- > 0);
        check_unchanged(&before, &after);
        CHECK_U(after.memory_bytes, life->heap.bytes);
        failures = life->heap.failures;
        result = script_perform(life, &script, number);
    }
    if (life->heap.failures == failures)
        return 0;
    CHECK(script_may_forget(life, &script, number));
    return 1;
}

static void finish(struct script_life *life)
{
    lbroute_stats stats = api_stats(life->router);
    CHECK_U(stats.targets, 0);
    CHECK_U(stats.pools, 0);
    CHECK_U(stats.orphan_tickets, life->open_count);
    CHECK_U(stats.memory_bytes, life->heap.bytes);
    lbroute_router_destroy(life->router);
    CHECK_U(life->destroyed, life->created);
    CHECK_U(life->heap.live, 0);
    CHECK_U(life->heap.bytes, 0);
}

/* A life in which allocation `fail_at` fails. Returns how many were tried. */
static uint64_t live_once(struct script_life *life, uint64_t fail_at,
                          const struct script_life *model)
{
    check_context("allocation failures", fail_at);
    memset(life, 0, sizeof *life);
    life->heap.fail_at = fail_at;
    int result = script_begin(life);
    if (result != LBROUTE_OK) {
        CHECK_I(result, LBROUTE_ERR_NO_MEMORY);
        CHECK(life->router == NULL);
        CHECK_U(life->heap.live, 0);
        return life->heap.calls;
    }
    int forgot = 0;
    for (size_t i = 0; i < SCRIPT_OPERATIONS; i++) {
        check_step(i);
        int forgets = perform(life, i, 1);
        if (model && !forgot)
            CHECK_I(life->trace[i], model->trace[i]);
        forgot |= forgets;
    }
    uint64_t calls = life->heap.calls;
    finish(life);
    return calls;
}

/* After each failure and a second try everything goes on as if nothing had
 * happened. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    static struct script_life model;
    static struct script_life life;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        script_draw(&script, seed, seed > 2);
        uint64_t allocations = live_once(&model, 0, NULL);
        CHECK(allocations > 100);
        for (uint64_t i = 1; i <= allocations; i++)
            (void)live_once(&life, i, &model);
    }
}

/* Nearly every operation meets a failure, some several. */
static void many_allocations_may_fail(void **state)
{
    (void)state;
    static struct script_life model;
    static struct script_life life;
    for (uint64_t seed = 1; seed <= scaled(100); seed++) {
        struct rng rng;
        rng_seed(&rng, seed);
        script_draw(&script, 1 + seed % 4, seed % 8 > 3);
        (void)live_once(&model, 0, NULL);
        check_context("many allocation failures", seed);
        memset(&life, 0, sizeof life);
        CHECK_I(script_begin(&life), LBROUTE_OK);
        int forgot = 0;
        for (size_t i = 0; i < SCRIPT_OPERATIONS; i++) {
            check_step(i);
            life.heap.fail_at = life.heap.calls + rng_between(&rng, 1, 6);
            int forgets = perform(&life, i, 1);
            if (!forgot)
                CHECK_I(life.trace[i], model.trace[i]);
            forgot |= forgets;
        }
        finish(&life);
    }
}

enum { HEAD_BYTES = 150000, HEAD_PROMPTS = 3 };

/* Prompts that part in the middle, after one symbol, and at the end. */
static void head_prompt(int number, lbroute_request *request)
{
    static char text[HEAD_BYTES];
    memset(text, 'a', sizeof text);
    if (number == 1)
        memset(text + sizeof text / 2, 'b', sizeof text / 2);
    if (number == 2)
        memset(text + 1, 'c', sizeof text - 1);
    request->prompt = text;
    request->prompt_len = sizeof text;
}

/* How much of a prompt one of two targets knows. */
static int64_t head_known(lbroute_router *router, lbroute_request *request,
                          const lbroute_target targets[2], int target)
{
    lbroute_decision decision;
    size_t count = 0;
    request->exclude = &targets[1 - target];
    request->exclude_len = 1;
    CHECK_I(api_explain(router, request, 0, &decision, NULL, 0, &count),
            LBROUTE_OK);
    request->exclude_len = 0;
    return decision.prefix_matched;
}

/* Sends each prompt to both targets; allocation `fail_at` of that fails, 0:
 * none. Gives how many were asked for. */
static uint64_t record_heads(lbroute_router *router, lbroute_pool pool,
                             const lbroute_target targets[2], struct heap *heap,
                             uint64_t fail_at)
{
    uint64_t before = heap->calls;
    heap->fail_at = fail_at ? before + fail_at : 0;
    for (int i = 0; i < 2 * HEAD_PROMPTS; i++) {
        lbroute_request request;
        lbroute_decision decision;
        check_step((uint64_t)i);
        api_request(&request, pool);
        head_prompt(i % HEAD_PROMPTS, &request);
        request.exclude = &targets[i / HEAD_PROMPTS];
        request.exclude_len = 1;
        api_pick(router, &request, 0, &decision);
        api_settle(router, decision.ticket, LBROUTE_EVENT_CANCEL, 0);
        CHECK(head_known(router, &request, targets, 1 - i / HEAD_PROMPTS) <=
              HEAD_BYTES);
        CHECK_U(api_stats(router).memory_bytes, heap->bytes);
    }
    heap->fail_at = 0;
    return heap->calls - before;
}

/* An allocation that fails while a prompt is remembered costs a part of that
 * prompt's tail at most, and not the pick; the next time all of it is kept. */
static void a_failed_prompt_keeps_its_head(void **state)
{
    (void)state;
    uint64_t calls = UINT64_MAX;
    for (uint64_t fail_at = 0; fail_at <= calls || !fail_at; fail_at++) {
        struct heap heap;
        lbroute_router_options options;
        lbroute_router *router = NULL;
        lbroute_target targets[2];
        check_context("failed prompts", fail_at);
        lbroute_router_options_init(&options, sizeof options);
        options.seed = 1;
        heap_attach(&heap, &options);
        CHECK_I(lbroute_router_create(&options, &router), LBROUTE_OK);
        lbroute_pool pool = api_pool(router, "pool", "cache_aware");
        lbroute_request request;
        api_targets(router, pool, 2, targets);
        api_request(&request, pool);
        (void)api_serve(router, &request, 0, LBROUTE_EVENT_CANCEL);
        uint64_t asked = record_heads(router, pool, targets, &heap, fail_at);
        if (!fail_at)
            calls = asked;
        else
            CHECK_U(heap.failures, 1);
        (void)record_heads(router, pool, targets, &heap, 0);
        for (int i = 0; i < 2 * HEAD_PROMPTS; i++) {
            head_prompt(i / 2, &request);
            CHECK_I(head_known(router, &request, targets, i % 2), HEAD_BYTES);
        }
        lbroute_router_destroy(router);
        CHECK_U(heap.live, 0);
    }
    CHECK(calls > 5);
}

/* A router with a heavy target and light ones that have gained much credit. */
static lbroute_router *start_credit(struct heap *heap, lbroute_pool *pool,
                                    lbroute_target *heavy)
{
    lbroute_router_options options;
    lbroute_router *router = NULL;
    lbroute_request request;
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    heap_attach(heap, &options);
    CHECK_I(lbroute_router_create(&options, &router), LBROUTE_OK);
    *pool = api_pool(router, "pool", "weighted");
    *heavy = api_target(router, *pool, "heavy", 1000);
    for (char name[] = "a"; name[0] < 'f'; name[0]++)
        (void)api_target(router, *pool, name, 1);
    api_request(&request, *pool);
    for (int i = 0; i < 400; i++)
        (void)api_serve(router, &request, 0, LBROUTE_EVENT_SUCCESS);
    return router;
}

static int move_away(struct heap *heap, lbroute_router *router,
                     lbroute_pool pool, lbroute_target target, uint64_t fail_in)
{
    lbroute_target_options options;
    api_target_options(&options, pool, "ignored", 1);
    options.tier = "another tier";
    options.tier_len = strlen(options.tier);
    options.model = "another model";
    options.model_len = strlen(options.model);
    heap->fail_at = heap->calls + fail_in;
    return lbroute_target_update(router, target, &options, 0);
}

/* --- KV events ----------------------------------------------------------- */

struct told {
    int kind;
    uint64_t label, parent; /* parent 0: none */
};

/* Blocks in a row, some before the one that they follow; one that has some
 * after it goes, one is in another medium, too. */
static const struct told told[] = {
    {LBROUTE_KV_STORED, 1, 0},  {LBROUTE_KV_STORED, 2, 1},
    {LBROUTE_KV_STORED, 5, 4},  {LBROUTE_KV_STORED, 4, 3},
    {LBROUTE_KV_STORED, 3, 2},  {LBROUTE_KV_REMOVED, 2, 0},
    {LBROUTE_KV_STORED, 6, 1},  {LBROUTE_KV_STORED, 7, 6},
    {LBROUTE_KV_REMOVED, 7, 0}, {LBROUTE_KV_STORED, 8, 2},
};

enum { TOLD = sizeof told / sizeof told[0] };

static int tell(lbroute_router *router, lbroute_target target, uint64_t seq,
                const struct told *what)
{
    uint32_t tokens[API_KV_SIZE] = {(uint32_t)what->label, 2, 3, 4};
    lbroute_kv_event event;
    lbroute_kv_batch batch;

    lbroute_kv_event_init(&event, sizeof event);
    event.kind = what->kind;
    event.hashes = &what->label;
    event.hash_count = what->kind != LBROUTE_KV_CLEARED;
    event.block_size = API_KV_SIZE;
    if (what->kind == LBROUTE_KV_STORED) {
        event.has_parent = what->parent != 0;
        event.parent = what->parent;
        event.tokens = tokens;
        event.token_count = API_KV_SIZE;
    }
    lbroute_kv_batch_init(&batch, sizeof batch);
    batch.seq = seq;
    batch.events = &event;
    batch.event_count = 1;
    return lbroute_kv_apply(router, target, 0, &batch, seq, NULL);
}

static uint64_t resident(lbroute_router *router, lbroute_target target)
{
    lbroute_kv_source_stats stats;

    lbroute_kv_source_stats_init(&stats, sizeof stats);
    CHECK_I(lbroute_get_kv_source_stats(router, target, 0, 0, &stats),
            LBROUTE_OK);
    return stats.blocks[LBROUTE_MEDIUM_GPU];
}

/* Tells it all while the allocation |fail_at| fails, and once more after that.
 * Gives how many allocations were asked for. */
static uint64_t tell_with_failure(uint64_t fail_at, uint64_t wanted[TOLD],
                                  int is_model)
{
    static const struct told empty = {LBROUTE_KV_CLEARED, 0, 0};
    struct heap heap;
    lbroute_router_options options;
    lbroute_router *router = NULL;
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.max_kv_blocks = 50;
    heap_attach(&heap, &options);
    CHECK_I(lbroute_router_create(&options, &router), LBROUTE_OK);
    lbroute_pool pool = api_pool(router, "p", "precise_cache_aware");
    lbroute_target target = api_target(router, pool, "t", 1);
    uint64_t before = heap.calls;
    uint64_t seq = 0;
    heap.fail_at = fail_at ? before + fail_at : 0;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < TOLD; i++, seq++) {
            int code = tell(router, target, seq, &told[i]);
            if (code == LBROUTE_ERR_NO_MEMORY)
                code = tell(router, target, seq, &told[i]);
            CHECK_I(code, LBROUTE_OK);
            if (is_model)
                wanted[i] = resident(router, target);
            CHECK(resident(router, target) <= wanted[i]);
            CHECK(round == 0 || resident(router, target) == wanted[i]);
        }
        CHECK_I(tell(router, target, seq++, &empty), LBROUTE_OK);
        CHECK_U(resident(router, target), 0);
        heap.fail_at = 0;
    }
    before = heap.calls - before;
    lbroute_router_destroy(router);
    CHECK_U(heap.live, 0);
    return before;
}

/* Better cold than wrong: what there is no memory for is not known, what is
 * known is there, and later all is as if nothing had been. */
static void events_without_memory_claim_nothing(void **state)
{
    uint64_t wanted[TOLD];
    (void)state;
    check_context("KV events", 0);
    uint64_t calls = tell_with_failure(0, wanted, 1);
    CHECK(calls > 0);
    /* Removed 2 and 7; 8 follows the place that 2 has kept. */
    CHECK_U(wanted[TOLD - 1], 6);
    for (uint64_t i = 1; i <= calls; i++) {
        check_step(i);
        (void)tell_with_failure(i, wanted, 0);
    }
}

/* A move with a new weight that fails half-way takes nobody's credit. */
static void a_failed_move_changes_no_sequence(void **state)
{
    (void)state;
    struct heap heaps[2];
    lbroute_router *routers[2];
    lbroute_pool pools[2];
    lbroute_target heavy[2];
    for (uint64_t fail_in = 1;; fail_in++) {
        check_context("a failed move", fail_in);
        for (int i = 0; i < 2; i++)
            routers[i] = start_credit(&heaps[i], &pools[i], &heavy[i]);
        int result =
            move_away(&heaps[1], routers[1], pools[1], heavy[1], fail_in);
        for (size_t i = 0; result != LBROUTE_OK && i < 2000; i++) {
            lbroute_request request;
            lbroute_decision decisions[2];
            check_step(i);
            CHECK_I(result, LBROUTE_ERR_NO_MEMORY);
            for (int j = 0; j < 2; j++) {
                api_request(&request, pools[j]);
                api_pick(routers[j], &request, 0, &decisions[j]);
            }
            api_check_same_decision(&decisions[0], &decisions[1]);
        }
        lbroute_router_destroy(routers[0]);
        lbroute_router_destroy(routers[1]);
        if (result == LBROUTE_OK)
            break;
        CHECK(fail_in < 100);
    }
}

/* --- Warm picks ---------------------------------------------------------- */

enum {
    WARM_TARGETS = 20,
    WARM_OPEN = 50,
    WARM_SESSIONS = 200,
    WARM_PROMPTS = 40,
    WARM_BYTES = 3000
};

struct traffic {
    struct heap heap;
    struct rng rng;
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target targets[WARM_TARGETS];
    lbroute_ticket open[WARM_OPEN];
    size_t next;
    uint64_t now;
};

/* Prompts of all lengths that share heads with each other. */
static void set_prompt(lbroute_request *request, uint32_t number)
{
    static char texts[WARM_PROMPTS][WARM_BYTES];
    char *text = texts[number];
    memset(text, (char)('a' + number % 3), WARM_BYTES);
    memset(text + WARM_BYTES / 2, (char)('a' + number), WARM_BYTES / 2);
    request->prompt = text;
    request->prompt_len = WARM_BYTES - 60 * (number % 30);
}

/* Lets every target see every prompt once. */
static void traffic_warm(struct traffic *traffic)
{
    lbroute_target others[WARM_TARGETS];
    lbroute_request request;
    api_request(&request, traffic->pool);
    for (uint32_t i = 0; i < WARM_TARGETS * WARM_PROMPTS; i++) {
        memcpy(others, traffic->targets, sizeof others);
        others[i % WARM_TARGETS] = 0;
        request.exclude = others;
        request.exclude_len = WARM_TARGETS;
        set_prompt(&request, i / WARM_TARGETS);
        (void)api_serve(traffic->router, &request, 0, LBROUTE_EVENT_SUCCESS);
    }
}

/* A price key for each target, the first half of which have a price. */
static void traffic_price(struct traffic *traffic)
{
    for (uint32_t i = 0; i < WARM_TARGETS; i++) {
        char name[] = {(char)('a' + i), 0};
        lbroute_target_options options;
        lbroute_price price;
        api_target_options(&options, traffic->pool, "ignored", 1);
        options.price_key = name;
        options.price_key_len = 1;
        CHECK_I(lbroute_target_update(traffic->router, traffic->targets[i],
                                      &options, 0),
                LBROUTE_OK);
        lbroute_price_init(&price, sizeof price);
        price.input = price.output = i / 3;
        if (i < WARM_TARGETS / 2)
            CHECK_I(lbroute_set_price(traffic->router, name, 1, &price),
                    LBROUTE_OK);
    }
}

/* What hosts do all the time, and what must not take memory either. */
static void traffic_reprice(struct traffic *traffic)
{
    lbroute_price price;
    lbroute_price_init(&price, sizeof price);
    price.input = rng_below(&traffic->rng, 100);
    price.output = 3;
    CHECK_I(lbroute_set_price(traffic->router, "b", 1, &price), LBROUTE_OK);
    CHECK_I(
        lbroute_set_adaptive(traffic->router, (int)rng_below(&traffic->rng, 2)),
        LBROUTE_OK);
}

static void traffic_start(struct traffic *traffic, const char *strategy)
{
    lbroute_router_options options;
    check_context(strategy, 0);
    memset(traffic, 0, sizeof *traffic);
    rng_seed(&traffic->rng, 1);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    heap_attach(&traffic->heap, &options);
    CHECK_I(lbroute_router_create(&options, &traffic->router), LBROUTE_OK);
    traffic->pool = api_pool(traffic->router, "pool", strategy);
    api_targets(traffic->router, traffic->pool, WARM_TARGETS, traffic->targets);
    traffic_price(traffic);
    traffic_warm(traffic);
}

static int score_evenly(void *user, const lbroute_score_request *request,
                        const lbroute_candidate *candidates, size_t count,
                        double *scores)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        scores[i] = candidates[i].load > 1;
    return request->now / MILLISECOND % 50 == 0;
}

/* A filter and a scorer of the host's own, which fail at times. */
static void traffic_score(struct traffic *traffic)
{
    for (char name[] = "a"; name[0] < 'c'; name[0]++) {
        lbroute_scorer scorer = 0;
        lbroute_scorer_options options;
        lbroute_scorer_options_init(&options, sizeof options);
        options.name = name;
        options.name_len = 1;
        options.kind = name[0] == 'a';
        options.score = score_evenly;
        CHECK_I(lbroute_scorer_register(traffic->router, traffic->pool,
                                        &options, &scorer),
                LBROUTE_OK);
    }
}

/* Settles the oldest request and sends another: some are refused, some avoid a
 * target, some have no session. */
static void traffic_step(struct traffic *traffic)
{
    char session[32];
    lbroute_request request;
    lbroute_decision decision;
    lbroute_ticket *ticket = &traffic->open[traffic->next++ % WARM_OPEN];
    traffic->now += rng_below(&traffic->rng, 20) * MILLISECOND;
    if (*ticket)
        api_settle(traffic->router, *ticket,
                   rng_chance(&traffic->rng, 90)
                       ? LBROUTE_EVENT_SUCCESS
                       : (int)rng_between(&traffic->rng, 3, 7),
                   traffic->now);
    *ticket = 0;
    snprintf(session, sizeof session, "s%u",
             rng_below(&traffic->rng, WARM_SESSIONS));
    api_request(&request, traffic->pool);
    if (rng_chance(&traffic->rng, 90))
        api_set_session(&request, session);
    if (rng_chance(&traffic->rng, 95))
        set_prompt(&request, rng_below(&traffic->rng, WARM_PROMPTS));
    if (rng_chance(&traffic->rng, 10)) {
        request.exclude = traffic->targets;
        request.exclude_len = rng_below(&traffic->rng, WARM_TARGETS + 1);
    }
    if (rng_chance(&traffic->rng, 5))
        traffic_reprice(traffic);
    lbroute_decision_init(&decision, sizeof decision);
    if (lbroute_pick(traffic->router, &request, traffic->now, &decision) ==
        LBROUTE_OK)
        *ticket = decision.ticket;
    if (rng_chance(&traffic->rng, 10))
        api_gauges(traffic->router,
                   traffic->targets[rng_below(&traffic->rng, WARM_TARGETS)], 3,
                   1, traffic->now);
}

static void check_warm(struct traffic *traffic)
{
    for (size_t i = 0; i < 5000; i++)
        traffic_step(traffic);
    uint64_t calls = traffic->heap.calls;
    for (size_t i = 0; i < scaled(100000); i++) {
        check_step(i);
        traffic_step(traffic);
        CHECK_U(traffic->heap.calls, calls);
    }
    CHECK_U(api_stats(traffic->router).allocations, calls);
    lbroute_router_destroy(traffic->router);
    CHECK_U(traffic->heap.live, 0);
}

static void warm_picks_allocate_nothing(void **state)
{
    (void)state;
    static struct traffic traffic;
    const char *strategy;
    for (size_t i = 0; (strategy = lbroute_strategy_name(i)) != NULL; i++) {
        traffic_start(&traffic, strategy);
        check_warm(&traffic);
    }
    traffic_start(&traffic, "pipeline");
    traffic_score(&traffic);
    check_warm(&traffic);
}

/* --- Churn --------------------------------------------------------------- */

enum {
    CHURN_TARGETS = 60,
    CHURN_POOLS = 5,
    CHURN_OPEN = 128,
    CHURN_SESSIONS = 100
};

struct churn {
    struct heap heap;
    struct rng rng;
    lbroute_router *router;
    lbroute_pool pools[CHURN_POOLS];
    lbroute_target targets[CHURN_TARGETS];
    lbroute_ticket open[CHURN_OPEN];
    size_t next;
    uint64_t now;
    uint32_t names;
};

static void churn_add_target(struct churn *churn, size_t place)
{
    char name[32];
    char label[8];
    lbroute_target_options options;
    snprintf(name, sizeof name, "target %010u", churn->names++);
    snprintf(label, sizeof label, "x%u", rng_below(&churn->rng, 4));
    api_target_options(&options,
                       churn->pools[rng_below(&churn->rng, CHURN_POOLS)], name,
                       rng_between(&churn->rng, 1, 40) / 10.0);
    options.tier = label;
    options.tier_len = rng_chance(&churn->rng, 50) ? strlen(label) : 0;
    options.model = label;
    options.model_len = strlen(label);
    CHECK_I(lbroute_target_add(churn->router, &options, churn->now,
                               &churn->targets[place]),
            LBROUTE_OK);
}

static void churn_fill(struct churn *churn)
{
    for (size_t i = 0; i < CHURN_POOLS; i++) {
        char name[] = {(char)('a' + i), 0};
        churn->pools[i] = api_pool(churn->router, name, "weighted");
    }
    for (size_t i = 0; i < CHURN_TARGETS; i++)
        churn_add_target(churn, i);
}

static void churn_empty(struct churn *churn)
{
    for (size_t i = 0; i < CHURN_TARGETS; i++)
        CHECK_I(lbroute_target_remove(churn->router, churn->targets[i]),
                LBROUTE_OK);
    for (size_t i = 0; i < CHURN_POOLS; i++)
        CHECK_I(lbroute_pool_remove(churn->router, churn->pools[i]),
                LBROUTE_OK);
    churn->now += 5 * SECOND;
    CHECK_I(lbroute_tick(churn->router, churn->now), LBROUTE_OK);
    lbroute_stats stats = api_stats(churn->router);
    CHECK_U(stats.open_tickets, 0);
    CHECK_U(stats.sessions, 0);
}

static void churn_start(struct churn *churn)
{
    lbroute_router_options options;
    memset(churn, 0, sizeof *churn);
    rng_seed(&churn->rng, 1);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.max_targets = CHURN_TARGETS;
    options.max_tickets = CHURN_OPEN;
    options.max_sessions = CHURN_SESSIONS;
    options.ticket_ttl = 5 * SECOND;
    heap_attach(&churn->heap, &options);
    CHECK_I(lbroute_router_create(&options, &churn->router), LBROUTE_OK);
}

/* Some tickets are settled, some forgotten. */
static void churn_pick(struct churn *churn)
{
    char session[32];
    char prompt[200];
    lbroute_request request;
    lbroute_decision decision;
    lbroute_ticket *ticket = &churn->open[churn->next++ % CHURN_OPEN];
    if (*ticket && rng_chance(&churn->rng, 90))
        (void)api_observe(churn->router, *ticket, LBROUTE_EVENT_SUCCESS,
                          churn->now);
    *ticket = 0;
    snprintf(session, sizeof session, "session %u", churn->names);
    api_request(&request, churn->pools[rng_below(&churn->rng, CHURN_POOLS)]);
    api_set_session(&request, session);
    memset(prompt, (char)rng_below(&churn->rng, 4), sizeof prompt);
    request.prompt = prompt;
    request.prompt_len = rng_below(&churn->rng, sizeof prompt);
    lbroute_decision_init(&decision, sizeof decision);
    if (lbroute_pick(churn->router, &request, churn->now, &decision) ==
        LBROUTE_OK)
        *ticket = decision.ticket;
}

static void churn_pool(struct churn *churn)
{
    lbroute_pool pool = churn->pools[rng_below(&churn->rng, CHURN_POOLS)];
    uint32_t strategies = 0;
    while (lbroute_strategy_name(strategies))
        strategies++;
    const char *strategy =
        lbroute_strategy_name(rng_below(&churn->rng, strategies));
    CHECK_I(
        lbroute_pool_update(churn->router, pool, strategy, strlen(strategy)),
        LBROUTE_OK);
    pool = api_pool(churn->router, "fleeting", strategy);
    CHECK_I(lbroute_pool_remove(churn->router, pool), LBROUTE_OK);
}

static void churn_step(struct churn *churn)
{
    churn->now += 5 * MILLISECOND;
    for (int i = 0; i < 4; i++)
        churn_pick(churn);
    if (rng_chance(&churn->rng, 50)) {
        size_t place = rng_below(&churn->rng, CHURN_TARGETS);
        CHECK_I(lbroute_target_remove(churn->router, churn->targets[place]),
                LBROUTE_OK);
        churn_add_target(churn, place);
    }
    if (rng_chance(&churn->rng, 2))
        churn_pool(churn);
}

/* A life from an empty router to an empty router; gives the bytes left. */
static uint64_t churn_epoch(struct churn *churn, size_t steps)
{
    churn_fill(churn);
    for (size_t i = 0; i < steps; i++) {
        check_step(i);
        churn_step(churn);
    }
    churn_empty(churn);
    return churn->heap.bytes;
}

/* Brings the tables of tickets and sessions to their bounds. */
static void churn_warm(struct churn *churn)
{
    lbroute_request request;
    lbroute_decision decision;
    lbroute_ticket held[CHURN_OPEN];
    char session[32];
    lbroute_pool pool = api_pool(churn->router, "pool", "sticky_session");
    lbroute_target target = api_target(churn->router, pool, "target", 1);
    api_request(&request, pool);
    for (uint32_t i = 0; i < 2 * CHURN_SESSIONS; i++) {
        snprintf(session, sizeof session, "session %u", i);
        api_set_session(&request, session);
        (void)api_serve(churn->router, &request, 0, LBROUTE_EVENT_SUCCESS);
    }
    for (size_t i = 0; i < CHURN_OPEN; i++) {
        api_pick(churn->router, &request, 0, &decision);
        held[i] = decision.ticket;
    }
    for (size_t i = 0; i < CHURN_OPEN; i++)
        api_settle(churn->router, held[i], LBROUTE_EVENT_CANCEL, 0);
    CHECK_I(lbroute_target_remove(churn->router, target), LBROUTE_OK);
    CHECK_I(lbroute_pool_remove(churn->router, pool), LBROUTE_OK);
}

/* Once every table has been at its bound, an emptied router never holds more
 * than before. With LBROUTE_SOAK=1 in the environment this takes long. */
static void churn_leaves_memory_flat(void **state)
{
    (void)state;
    static struct churn churn;
    const char *soak = getenv("LBROUTE_SOAK");
    size_t epochs = 60;
    if (soak && strcmp(soak, "0") != 0)
        epochs = 60000;
    check_context("churn", 0);
    churn_start(&churn);
    churn_warm(&churn);
    uint64_t bytes = churn_epoch(&churn, scaled(1000));
    for (size_t i = 1; i < epochs; i++) {
        check_context("churn", i);
        CHECK_U(churn_epoch(&churn, scaled(1000)), bytes);
    }
    lbroute_router_destroy(churn.router);
    CHECK_U(churn.heap.live, 0);
}

/* --- The estimate -------------------------------------------------------- */

struct bounds {
    uint32_t pools, targets, tickets, sessions;
};

static void long_name(char name[LBROUTE_NAME_MAX + 1], char first,
                      uint32_t number)
{
    memset(name, first, LBROUTE_NAME_MAX);
    name[LBROUTE_NAME_MAX] = 0;
    int digits = snprintf(name, LBROUTE_NAME_MAX, "%u", number);
    name[digits] = first;
}

static void fill_adapters(lbroute_router *router, lbroute_target target)
{
    char name[16];
    const char *pointer = name;
    for (int i = 0; i < LBROUTE_ADAPTERS_MAX; i++) {
        size_t length = (size_t)snprintf(name, sizeof name, "adapter %d", i);
        CHECK_I(
            lbroute_note_adapters(router, target, &pointer, &length, 1, -1, 0),
            LBROUTE_OK);
    }
}

/* Everything at its bound and at its longest; each target is alone in its tier
 * and model, or all share them. */
static void fill_router(lbroute_router *router, const struct bounds *bounds,
                        int apart, const char *strategy)
{
    static lbroute_pool pools[64];
    char name[LBROUTE_NAME_MAX + 1];
    char tier[LBROUTE_NAME_MAX + 1];
    char model[LBROUTE_NAME_MAX + 1];
    char key[LBROUTE_NAME_MAX + 1];
    lbroute_price price;
    for (uint32_t i = 0; i < bounds->pools; i++) {
        long_name(name, 'p', i);
        pools[i] = api_pool(router, name, strategy);
    }
    for (uint32_t i = 0; i < bounds->targets; i++) {
        lbroute_target_options options;
        lbroute_target target = 0;
        long_name(name, 't', i);
        long_name(tier, 'r', apart ? i : 0);
        long_name(model, 'm', apart ? i : 0);
        api_target_options(&options, pools[i % bounds->pools], name,
                           1 + i / 10.0);
        options.tier = tier;
        options.model = model;
        options.tier_len = options.model_len = LBROUTE_NAME_MAX;
        long_name(key, 'k', i);
        options.price_key = key;
        options.price_key_len = LBROUTE_NAME_MAX;
        CHECK_I(lbroute_target_add(router, &options, 0, &target), LBROUTE_OK);
        lbroute_price_init(&price, sizeof price);
        CHECK_I(lbroute_set_price(router, key, LBROUTE_NAME_MAX, &price),
                LBROUTE_OK);
        key[2] = 'x'; /* one too many */
        if (i + 1 == bounds->targets)
            CHECK_I(lbroute_set_price(router, key, LBROUTE_NAME_MAX, &price),
                    LBROUTE_ERR_LIMIT);
        key[1] = 'l'; /* another, for a moment beside the old one */
        CHECK_I(lbroute_target_update(router, target, &options, 0), LBROUTE_OK);
        fill_adapters(router, target);
    }
}

static void send_all(lbroute_router *router, const struct bounds *bounds,
                     int apart)
{
    char tier[LBROUTE_NAME_MAX + 1];
    char model[LBROUTE_NAME_MAX + 1];
    char session[32];
    for (uint32_t i = 0; i < bounds->tickets + bounds->sessions; i++) {
        lbroute_request request;
        lbroute_decision decision;
        uint32_t label = apart ? i % bounds->targets : 0;
        long_name(tier, 'r', label);
        long_name(model, 'm', label);
        snprintf(session, sizeof session, "session %u", i);
        api_request(&request, 0);
        api_set_session(&request, session);
        request.tier = tier;
        request.model = model;
        request.tier_len = request.model_len = LBROUTE_NAME_MAX;
        api_pick(router, &request, 0, &decision);
        if (i >= bounds->tickets - 1)
            api_settle(router, decision.ticket, LBROUTE_EVENT_SUCCESS, 0);
    }
}

static void check_estimate(const struct bounds *bounds, int apart,
                           const char *strategy)
{
    struct heap heap;
    size_t estimate = 0;
    lbroute_router *router = NULL;
    lbroute_router_options options;
    check_context(strategy, bounds->targets);
    lbroute_router_options_init(&options, sizeof options);
    options.max_pools = bounds->pools;
    options.max_targets = bounds->targets;
    options.max_prices = bounds->targets;
    options.max_tickets = bounds->tickets;
    options.max_sessions = bounds->sessions;
    CHECK_I(lbroute_router_estimate(&options, &estimate), LBROUTE_OK);
    options.seed = 1;
    heap_attach(&heap, &options);
    CHECK_I(lbroute_router_create(&options, &router), LBROUTE_OK);
    fill_router(router, bounds, apart, strategy);
    send_all(router, bounds, apart);
    CHECK(heap.peak <= estimate);
    lbroute_router_destroy(router);
    CHECK_U(heap.live, 0);
}

static void the_estimate_is_never_exceeded(void **state)
{
    (void)state;
    static const struct bounds all[] = {
        {1, 1, 1, 1},      {1, 9, 9, 9},        {1, 65, 33, 17},
        {3, 130, 260, 70}, {64, 64, 1025, 513}, {2, 1030, 2049, 1025},
    };
    const char *strategy;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (size_t j = 0; (strategy = lbroute_strategy_name(j)) != NULL; j++) {
            check_estimate(&all[i], 0, strategy);
            check_estimate(&all[i], 1, strategy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(many_allocations_may_fail),
        cmocka_unit_test(a_failed_prompt_keeps_its_head),
        cmocka_unit_test(a_failed_move_changes_no_sequence),
        cmocka_unit_test(events_without_memory_claim_nothing),
        cmocka_unit_test(warm_picks_allocate_nothing),
        cmocka_unit_test(churn_leaves_memory_flat),
        cmocka_unit_test(the_estimate_is_never_exceeded),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
