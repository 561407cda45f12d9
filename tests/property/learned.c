/* SPDX-License-Identifier: MIT */
#include "learned.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "api.h"
#include "check.h"

enum { OPEN = 40, TOKENS = API_KV_BLOCKS * API_KV_SIZE };

/* ---- starting ---- */

static void create(struct gateway *gateway,
                   const struct gateway_options *options)
{
    lbroute_router_options router;

    lbroute_router_options_init(&router, sizeof router);
    router.seed = options->seed;
    router.max_sessions = options->tight & TIGHT_BOUNDS ? 12 : 1000;
    router.max_kv_blocks = options->tight & TIGHT_BOUNDS ? 60 : 5000;
    router.max_prices = options->tight & TIGHT_BOUNDS ? 3 : 100;
    router.single_threaded = 1;
    memset(router.digest_key, options->key, sizeof router.digest_key);
    heap_attach(&gateway->heap, &router);
    CHECK_I(lbroute_router_create(&router, &gateway->router), LBROUTE_OK);
}

static void add_pool(struct gateway *gateway, size_t i, int tight)
{
    lbroute_router *router = gateway->router;
    const char *strategy = lbroute_strategy_name(i % (gateway->pools - 1));
    lbroute_pool pool;
    char name[32];

    snprintf(name, sizeof name, "pool %zu", i);
    pool = api_pool(router, name, strategy);
    gateway->pool[i] = pool;
    api_set(router, pool, "health.bench_after", 2);
    api_set(router, pool, "health.slow_start", 30);
    api_set(router, pool, "cache_aware.budget", tight ? 3000 : 40000);
    api_set(router, pool, "kv_aware.capacity", tight ? 30 : 400);
    api_set(router, pool, "kv_aware.clients", 3);
    api_set(router, pool, "kv_aware.client_idle", 60);
    api_set(router, pool, "prefix.block_bytes", 8);
    api_set(router, pool, "prefix.block_tokens", API_KV_SIZE);
    api_set(router, pool, "precise_cache_aware.ttl", 3600);
    if (i == gateway->pools - 1)
        api_set(router, pool, "cache_aware.mode", 1);
}

static void add_target(struct gateway *gateway, size_t i, size_t j)
{
    static const double weights[LEARNED_TARGETS] = {1, 2, 0.7, 3};
    lbroute_target_options options;
    char model[16];
    char name[32];

    snprintf(name, sizeof name, "target %zu of %zu", j, i);
    snprintf(model, sizeof model, "model %zu", i % 3);
    api_target_options(&options, gateway->pool[i], name, weights[j]);
    options.model = model;
    options.model_len = strlen(model);
    options.tier = "gold";
    options.tier_len = i % 5 == 2 && j >= 2 ? 4 : 0;
    CHECK_I(lbroute_target_add(gateway->router, &options, gateway->now,
                               &gateway->target[i][j]),
            LBROUTE_OK);
}

static size_t count_strategies(void)
{
    size_t count = 0;

    while (lbroute_strategy_name(count))
        count++;
    return count;
}

/* One pool more than there are strategies: cache_aware by blocks. */
void gateway_start(struct gateway *gateway,
                   const struct gateway_options *options, uint64_t now)
{
    size_t places = 0;

    memset(gateway, 0, sizeof *gateway);
    gateway->now = now;
    gateway->pools = count_strategies() + 1;
    CHECK(gateway->pools <= LEARNED_POOLS);
    create(gateway, options);
    for (size_t i = 0; i < gateway->pools; i++)
        add_pool(gateway, i, (options->tight & TIGHT_PROMPTS) != 0);
    places = gateway->pools * LEARNED_TARGETS;
    for (size_t k = 0; k < places; k++) {
        size_t place = (k * (1 + 2 * (size_t)options->shuffle)) % places;
        add_target(gateway, place / LEARNED_TARGETS, place % LEARNED_TARGETS);
    }
}

void gateway_end(struct gateway *gateway)
{
    lbroute_router_destroy(gateway->router);
    CHECK_U(gateway->heap.live, 0);
}

/* ---- living ---- */

struct life {
    struct gateway *gateway;
    lbroute_ticket open[OPEN];
    size_t count;
    uint32_t tokens[TOKENS];
    char prompt[600];
    char names[3][8];
    lbroute_target others[LEARNED_TARGETS - 1];
    int forced;
};

static struct rng *dice(struct life *life)
{
    return &life->gateway->rng;
}

/* Prompts of a few applications, which go on in many ways. */
static void draw_prompt(struct life *life, lbroute_request *request)
{
    uint32_t kind = rng_below(dice(life), 4);
    size_t i;

    for (i = 0; i < sizeof life->prompt; i++)
        life->prompt[i] = (char)('a' + (i / 40 + kind) % 26);
    for (i = 100; i < sizeof life->prompt; i += 80)
        if (rng_chance(dice(life), 30))
            life->prompt[i] = (char)('0' + rng_below(dice(life), 10));
    request->prompt = life->prompt;
    request->prompt_len = rng_below(dice(life), sizeof life->prompt);
}

static void draw_tokens(struct life *life, lbroute_request *request)
{
    size_t i;

    for (i = 0; i < TOKENS; i++)
        life->tokens[i] = rng_below(dice(life), i < TOKENS / 2 ? 1 : 3);
    request->tokens = life->tokens;
    request->tokens_len = rng_below(dice(life), TOKENS + 1);
}

static size_t name(struct life *life, int which, uint32_t bound)
{
    return (size_t)snprintf(life->names[which], sizeof life->names[which],
                            "%c%u", 'p' + which, rng_below(dice(life), bound));
}

/* Leaves one target of a pool. */
static void exclude_others(struct life *life, lbroute_request *request,
                           size_t pool)
{
    size_t only = rng_below(dice(life), LEARNED_TARGETS);

    for (size_t j = 0, k = 0; j < LEARNED_TARGETS; j++)
        if (j != only)
            life->others[k++] = life->gateway->target[pool][j];
    request->exclude = life->others;
    request->exclude_len = LEARNED_TARGETS - 1;
}

static void draw_request(struct life *life, lbroute_request *request)
{
    const struct gateway *gateway = life->gateway;
    size_t i = rng_below(dice(life), (uint32_t)gateway->pools);

    api_request(request, gateway->pool[i]);
    if (rng_chance(dice(life), 70))
        draw_prompt(life, request);
    else
        draw_tokens(life, request);
    if (rng_chance(dice(life), 60)) {
        request->session_len = name(life, 0, 60);
        request->session = life->names[0];
    }
    if (rng_chance(dice(life), 80)) {
        request->client_len = name(life, 1, 5);
        request->client = life->names[1];
    }
    if (rng_chance(dice(life), 30)) {
        request->adapter_len = name(life, 2, 4);
        request->adapter = life->names[2];
    }
    if (life->forced)
        exclude_others(life, request, i);
    request->tier = "gold";
    request->tier_len = i % 5 == 2 && rng_chance(dice(life), 50) ? 4 : 0;
}

static void settle(struct life *life, size_t at)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = life->open[at];
    event.kind = LBROUTE_EVENT_FIRST_TOKEN;
    event.latency_ns = (int64_t)((1 + rng_below(dice(life), 50)) * MILLISECOND);
    (void)lbroute_observe(life->gateway->router, &event, life->gateway->now);
    event.kind = rng_chance(dice(life), 85)
                     ? LBROUTE_EVENT_SUCCESS
                     : (int)rng_between(dice(life), 2, LBROUTE_EVENT_COUNT - 1);
    event.latency_ns =
        (int64_t)((50 + rng_below(dice(life), 900)) * MILLISECOND);
    event.input_tokens = (int64_t)rng_below(dice(life), 3000);
    if (event.kind == LBROUTE_EVENT_OVERLOAD)
        event.retry_after_ns = (int64_t)(400 * SECOND);
    (void)lbroute_observe(life->gateway->router, &event, life->gateway->now);
    life->open[at] = life->open[--life->count];
}

static void pick(struct life *life)
{
    lbroute_decision decision;
    lbroute_request request;

    if (life->count == OPEN)
        settle(life, rng_below(dice(life), OPEN));
    draw_request(life, &request);
    lbroute_decision_init(&decision, sizeof decision);
    if (lbroute_pick(life->gateway->router, &request, life->gateway->now,
                     &decision) == LBROUTE_OK)
        life->open[life->count++] = decision.ticket;
}

static void tell(struct life *life)
{
    struct gateway *gateway = life->gateway;
    size_t i = rng_below(dice(life), (uint32_t)gateway->pools);
    size_t j = rng_below(dice(life), LEARNED_TARGETS);
    lbroute_request request;
    uint64_t seq = gateway->told[i][j];

    draw_tokens(life, &request);
    seq += rng_chance(dice(life), 3) ? 1 : 0;
    gateway->told[i][j] = rng_chance(dice(life), 1) ? 0 : seq + 1;
    CHECK_I(api_tell(gateway->router, gateway->target[i][j],
                     rng_below(dice(life), 2), seq,
                     rng_chance(dice(life), 75) ? LBROUTE_KV_STORED
                                                : LBROUTE_KV_REMOVED,
                     rng_below(dice(life), 30), request.tokens,
                     request.tokens_len, gateway->now),
            LBROUTE_OK);
}

static void set_price(struct life *life)
{
    lbroute_price price;
    char key[16];

    lbroute_price_init(&price, sizeof price);
    price.input = rng_below(dice(life), 1000);
    price.output = (int64_t)rng_below(dice(life), 1000) - 1;
    price.tier_count = 1;
    price.tiers[0].above_tokens = 10;
    price.tiers[0].input = 7;
    snprintf(key, sizeof key, "model %u", rng_below(dice(life), 5));
    (void)lbroute_set_price(life->gateway->router, key, strlen(key), &price);
}

static void say_something(struct life *life)
{
    struct gateway *gateway = life->gateway;
    size_t i = rng_below(dice(life), (uint32_t)gateway->pools);
    size_t j = rng_below(dice(life), LEARNED_TARGETS);

    if (rng_chance(dice(life), 50))
        set_price(life);
    else if (rng_chance(dice(life), 30))
        (void)lbroute_target_bench(gateway->router, gateway->target[i][j],
                                   rng_below(dice(life), 3) * 20 * SECOND,
                                   gateway->now);
    else
        api_gauges(gateway->router, gateway->target[i][j],
                   rng_below(dice(life), 5), rng_below(dice(life), 5),
                   gateway->now);
}

void gateway_live(struct gateway *gateway, uint64_t seed, size_t steps,
                  int forced)
{
    struct life life = {0};

    life.gateway = gateway;
    life.forced = forced;
    rng_seed(&gateway->rng, seed);
    for (size_t i = 0; i < steps; i++) {
        check_step(i);
        gateway->now += rng_below(&gateway->rng, 300) * MILLISECOND;
        if (!forced && rng_chance(&gateway->rng, 15))
            tell(&life);
        else if (!forced && rng_chance(&gateway->rng, 3))
            say_something(&life);
        else if (rng_chance(&gateway->rng, 50))
            pick(&life);
        else if (life.count)
            settle(&life, rng_below(&gateway->rng, (uint32_t)life.count));
    }
    while (life.count)
        settle(&life, 0);
}

/* ---- comparing ---- */

/* Sums over the members are rounded in their order, which is another one. */
static void check_score(double a, double b)
{
    CHECK(isnan(a) == isnan(b));
    if (!isnan(a))
        CHECK_NEAR(a, b, 1e-9 * (1 + fabs(b)));
}

static void compare(const lbroute_candidate *a, const lbroute_candidate *b)
{
    CHECK_I(a->verdict, b->verdict);
    CHECK_SAME(a->weight, b->weight);
    CHECK_SAME(a->relative_load, b->relative_load);
    check_score(a->score, b->score);
    CHECK_I(a->expected_cost_pusd, b->expected_cost_pusd);
    CHECK_I(a->expected_ttft_ns, b->expected_ttft_ns);
    CHECK_I(a->expected_total_ns, b->expected_total_ns);
    CHECK(memcmp(a->kv_blocks, b->kv_blocks, sizeof a->kv_blocks) == 0);
    CHECK_I(a->kv_state, b->kv_state);
}

/* What a gateway says of the targets of a pool, in their order. */
static void ask(const struct gateway *gateway, size_t pool,
                const lbroute_request *request,
                lbroute_candidate said[LEARNED_TARGETS])
{
    lbroute_candidate candidates[LEARNED_TARGETS];
    lbroute_request own = *request;
    lbroute_decision decision;
    size_t count = 0;

    own.pool = gateway->pool[pool];
    (void)api_explain(gateway->router, &own, gateway->now, &decision,
                      candidates, LEARNED_TARGETS, &count);
    CHECK(count <= LEARNED_TARGETS);
    memset(said, 0, LEARNED_TARGETS * sizeof *said);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < LEARNED_TARGETS; j++)
            if (gateway->target[pool][j] == candidates[i].target)
                said[j] = candidates[i];
}

void gateways_compare(const struct gateway *a, const struct gateway *b,
                      uint64_t seed, size_t questions)
{
    struct gateway asking = *a;
    struct life life = {0};

    life.gateway = &asking;
    rng_seed(&asking.rng, seed);
    for (size_t i = 0; i < questions; i++) {
        lbroute_candidate said[2][LEARNED_TARGETS];
        lbroute_request request;
        size_t pool = 0;

        check_step(i);
        draw_request(&life, &request);
        while (a->pool[pool] != request.pool)
            pool++;
        ask(a, pool, &request, said[0]);
        ask(b, pool, &request, said[1]);
        for (size_t j = 0; j < LEARNED_TARGETS; j++)
            compare(&said[0][j], &said[1][j]);
    }
}

/* ---- snapshots ---- */

uint8_t *gateway_snapshot(const struct gateway *gateway, size_t *length)
{
    uint8_t *bytes;
    size_t again = 0;

    CHECK_I(lbroute_snapshot(gateway->router, gateway->now, NULL, 0, length),
            LBROUTE_ERR_BUFFER);
    bytes = malloc(*length);
    CHECK(bytes != NULL);
    CHECK_I(
        lbroute_snapshot(gateway->router, gateway->now, bytes, *length, &again),
        LBROUTE_OK);
    CHECK_U(again, *length);
    return bytes;
}

int same_bytes(const uint8_t *a, size_t a_length, const uint8_t *b,
               size_t b_length)
{
    return a_length == b_length && memcmp(a, b, a_length) == 0;
}

lbroute_restore_result gateway_restore(struct gateway *gateway,
                                       const uint8_t *bytes, size_t length,
                                       uint64_t elapsed)
{
    lbroute_restore_result result;

    lbroute_restore_result_init(&result, sizeof result);
    CHECK_I(lbroute_restore(gateway->router, bytes, length, gateway->now,
                            elapsed, &result),
            LBROUTE_OK);
    return result;
}

static void put_word(uint8_t *to, uint64_t word)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(word >> 8 * i);
}

void mend_snapshot(uint8_t *bytes, size_t length)
{
    if (length < 32)
        return;
    put_word(bytes + 24, length);
    put_word(bytes + 8, XXH3_64bits(bytes + 16, length - 16));
}
