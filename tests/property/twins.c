/* SPDX-License-Identifier: MIT */
#include "twins.h"

#include <stdio.h>
#include <string.h>

#include "api.h"
#include "check.h"
#include "heap.h"
#include "prng.h"

enum { TARGETS = 12, POOLS = 2, OPEN = 64 };

struct twin {
    lbroute_router *router;
    lbroute_pool pools[POOLS];
    lbroute_target targets[TARGETS]; /* in both pools; all serve one model */
    lbroute_ticket open[OPEN];
};

static struct life {
    struct twin twins[2];
    struct heap heap;
    struct rng rng;
    size_t open;
    uint64_t told[TARGETS]; /* batches of KV events */
    uint64_t now;
    size_t picks;
    size_t same;
    int must_agree;
} life;

static void create(struct twin *twin, uint64_t seed, int plain,
                   const char *strategy)
{
    lbroute_router_options options;
    lbroute_router_options_init(&options, sizeof options);
    options.seed = seed;
    options.ticket_ttl = 20 * SECOND;
    options.max_sessions = 6;
    if (!plain) {
        options.single_threaded = 1;
        heap_attach(&life.heap, &options);
    }
    memset(options.digest_key, 7, sizeof options.digest_key);
    CHECK_I(lbroute_router_create(&options, &twin->router), LBROUTE_OK);
    for (int i = 0; i < POOLS; i++) {
        lbroute_pool pool = api_pool(twin->router, i ? "b" : "a", strategy);
        api_set(twin->router, pool, "health.slow_start", 5);
        api_set(twin->router, pool, "session.ttl", 8);
        api_set(twin->router, pool, "load.signal_ttl", 2);
        api_set(twin->router, pool, "cache_aware.budget", 10000);
        twin->pools[i] = pool;
    }
}

static void add(struct twin *twin, size_t place, double weight, uint32_t limit,
                uint32_t name)
{
    char text[32];
    snprintf(text, sizeof text, "target %u", name);
    lbroute_target_options options;
    api_target_options(&options, twin->pools[place % 3 == 0], text, weight);
    options.max_concurrency = limit;
    options.model = "m";
    options.model_len = 1;
    CHECK_I(lbroute_target_add(twin->router, &options, life.now,
                               &twin->targets[place]),
            LBROUTE_OK);
}

static void replace(size_t place, int remove)
{
    static const double weights[] = {1, 1, 2, 0.5, 0.1};
    double weight = weights[rng_below(&life.rng, 5)];
    uint32_t limit = rng_chance(&life.rng, 60) ? 0 : 2;
    uint32_t name = rng_below(&life.rng, 1000000) + (uint32_t)place * 1000000;
    for (int i = 0; i < 2; i++) {
        struct twin *twin = &life.twins[i];
        if (remove)
            CHECK_I(lbroute_target_remove(twin->router, twin->targets[place]),
                    LBROUTE_OK);
        add(twin, place, weight, limit, name);
    }
}

/* 0: none. */
static size_t place_of(const struct twin *twin, lbroute_target target)
{
    for (size_t i = 0; i < TARGETS; i++) {
        if (twin->targets[i] == target)
            return i + 1;
    }
    return 0;
}

static void compare(const lbroute_decision *a, const lbroute_decision *b)
{
    size_t place_a = place_of(&life.twins[0], a->target);
    size_t place_b = place_of(&life.twins[1], b->target);
    life.picks++;
    life.same += place_a == place_b;
    if (!life.must_agree)
        return;
    CHECK_U(place_a, place_b);
    CHECK_U(a->ticket, b->ticket);
    api_check_same_decision(a, b);
}

/* What three applications have all their prompts begin with, and how each goes
 * on: a part that many share, or one that nobody does. */
static void draw_prompt(lbroute_request *request)
{
    static char text[400];
    char letter = (char)('a' + rng_below(&life.rng, 3));
    memset(text, letter, sizeof text);
    request->prompt = text;
    request->prompt_len = rng_below(&life.rng, sizeof text);
    if (rng_chance(&life.rng, 50)) {
        size_t at = rng_below(&life.rng, sizeof text / 4) * 4;
        uint32_t number = rng_below(&life.rng, 500);
        memcpy(text + at, &number, sizeof number);
    }
}

enum { TOKENS = API_KV_BLOCKS * API_KV_SIZE };

/* A prompt as token ids; the first ones are the same more often. */
static size_t draw_tokens(uint32_t tokens[TOKENS])
{
    uint32_t bound = rng_between(&life.rng, 1, 3);
    for (size_t i = 0; i < TOKENS; i++)
        tokens[i] = rng_below(&life.rng, i < TOKENS / 2 ? 1 : bound);
    return rng_below(&life.rng, TOKENS + 1);
}

/* An engine of both tells the same. */
static void tell(void)
{
    uint32_t tokens[TOKENS];
    size_t place = rng_below(&life.rng, TARGETS);
    size_t count = draw_tokens(tokens);
    int kind =
        rng_chance(&life.rng, 70) ? LBROUTE_KV_STORED : LBROUTE_KV_REMOVED;
    uint64_t label = rng_below(&life.rng, 20);
    uint64_t seq = life.told[place] + (rng_below(&life.rng, 10) == 0);
    life.told[place] = seq + 1;
    if (rng_chance(&life.rng, 5))
        life.told[place] = 0;
    for (int i = 0; i < 2; i++) {
        struct twin *twin = &life.twins[i];
        CHECK_I(api_tell(twin->router, twin->targets[place], 0, seq, kind,
                         label, tokens, count, life.now),
                LBROUTE_OK);
    }
}

/* Draws a request for the first pool, the second or, across both, the model;
 * returns which. */
static uint32_t draw_request(lbroute_request *request, char key[2])
{
    static uint32_t tokens[TOKENS];
    api_request(request, 0);
    key[0] = (char)('a' + rng_below(&life.rng, 12));
    key[1] = 0;
    if (rng_chance(&life.rng, 70))
        api_set_session(request, key);
    if (rng_chance(&life.rng, 80))
        draw_prompt(request);
    if (rng_chance(&life.rng, 30)) {
        request->tokens = tokens;
        request->tokens_len = draw_tokens(tokens);
    }
    return rng_below(&life.rng, POOLS + 1);
}

static void pick(void)
{
    char key[2];
    lbroute_request request;
    lbroute_decision decisions[2];
    int results[2];
    if (life.open == OPEN)
        return;
    uint32_t where = draw_request(&request, key);
    if (where == POOLS) {
        request.model = "m";
        request.model_len = 1;
    }
    for (int i = 0; i < 2; i++) {
        struct twin *twin = &life.twins[i];
        if (where < POOLS)
            request.pool = twin->pools[where];
        lbroute_decision_init(&decisions[i], sizeof decisions[i]);
        results[i] =
            lbroute_pick(twin->router, &request, life.now, &decisions[i]);
        twin->open[life.open] = decisions[i].ticket;
    }
    compare(&decisions[0], &decisions[1]);
    CHECK(!life.must_agree || results[0] == results[1]);
    if (results[0] == LBROUTE_OK && results[1] == LBROUTE_OK)
        life.open++;
}

static void settle(void)
{
    if (life.open == 0)
        return;
    size_t at = rng_below(&life.rng, (uint32_t)life.open);
    int kind = LBROUTE_EVENT_SUCCESS;
    if (rng_chance(&life.rng, 40))
        kind = (int)rng_between(&life.rng, 1, LBROUTE_EVENT_COUNT - 1);
    int results[2];
    life.open -= kind != LBROUTE_EVENT_FIRST_TOKEN;
    for (int i = 0; i < 2; i++) {
        struct twin *twin = &life.twins[i];
        results[i] = api_observe(twin->router, twin->open[at], kind, life.now);
        if (kind != LBROUTE_EVENT_FIRST_TOKEN)
            twin->open[at] = twin->open[life.open];
    }
    CHECK(!life.must_agree || results[0] == results[1]);
}

static void change(void)
{
    size_t place = rng_below(&life.rng, TARGETS);
    uint32_t action = rng_below(&life.rng, 5);
    uint32_t amount = rng_below(&life.rng, 8);
    if (action == 4) {
        replace(place, 1);
        return;
    }
    for (int i = 0; i < 2; i++) {
        struct twin *twin = &life.twins[i];
        lbroute_target target = twin->targets[place];
        if (action == 0)
            CHECK_I(lbroute_target_drain(twin->router, target, amount == 0,
                                         life.now),
                    LBROUTE_OK);
        else if (action == 1)
            CHECK_I(lbroute_target_set_weight(twin->router, target,
                                              amount / 2.0, life.now),
                    LBROUTE_OK);
        else if (action == 2)
            CHECK_I(lbroute_target_bench(twin->router, target, amount * SECOND,
                                         life.now),
                    LBROUTE_OK);
        else
            api_gauges(twin->router, target, amount, 1, life.now);
    }
}

static void step(twins_question *question)
{
    if (question && rng_chance(&life.rng, 50)) {
        const struct twin *twin = &life.twins[1];
        uint64_t choice = life.rng.state;
        question(twin->router, twin->pools[choice >> 60 & 1], twin->targets,
                 TARGETS, life.now, choice);
    }
    if (rng_chance(&life.rng, 20))
        life.now += rng_below(&life.rng, 700) * MILLISECOND;
    if (rng_chance(&life.rng, 10))
        change();
    if (rng_chance(&life.rng, 10))
        tell();
    if (rng_chance(&life.rng, 55))
        pick();
    else
        settle();
}

size_t twins_run(const char *strategy, const uint64_t seeds[2],
                 uint64_t program, size_t steps, twins_question *question,
                 size_t *picks)
{
    check_context(strategy, program);
    memset(&life, 0, sizeof life);
    rng_seed(&life.rng, program);
    life.must_agree = seeds[0] == seeds[1];
    create(&life.twins[0], seeds[0], 0, strategy);
    create(&life.twins[1], seeds[1], 1, strategy);
    for (size_t i = 0; i < TARGETS; i++)
        replace(i, 0);
    for (size_t i = 0; i < steps; i++) {
        check_step(i);
        step(question);
    }
    lbroute_router_destroy(life.twins[0].router);
    lbroute_router_destroy(life.twins[1].router);
    CHECK_U(life.heap.live, 0);
    *picks = life.picks;
    return life.same;
}
