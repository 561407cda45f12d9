/* SPDX-License-Identifier: MIT */
/*
 * Routers that share: what each must know of the others' requests, by a naive
 * account of all that happened, however the deltas come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "heap.h"
#include "prng.h"

#define BEGIN (UINT64_C(1000) * SECOND)

enum { TARGETS = 5, MOST_BYTES = 1 << 20 };

struct gateway {
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target targets[TARGETS];
};

static void default_options(lbroute_router_options *options, uint64_t seed)
{
    lbroute_router_options_init(options, sizeof *options);
    options->seed = seed;
    options->max_delta_bytes = MOST_BYTES;
    memset(options->digest_key, 9, sizeof options->digest_key);
}

/* Targets are added in another order everywhere: only names count. */
static void start_with(struct gateway *gateway, const char *strategy,
                       const lbroute_router_options *options)
{
    CHECK_I(lbroute_router_create(options, &gateway->router), LBROUTE_OK);
    gateway->pool = api_pool(gateway->router, "pool", strategy);
    for (size_t i = 0; i < TARGETS; i++) {
        size_t number = (size_t)((i + options->seed) % TARGETS);
        char name[3] = {'t', (char)('0' + number), 0};
        gateway->targets[number] =
            api_target(gateway->router, gateway->pool, name, 1);
    }
}

static void start(struct gateway *gateway, const char *strategy, uint64_t seed)
{
    lbroute_router_options options;

    default_options(&options, seed);
    start_with(gateway, strategy, &options);
}

static void end(struct gateway *gateway)
{
    lbroute_router_destroy(gateway->router);
}

struct delta {
    uint8_t *bytes;
    size_t length;
};

static struct delta export_delta(struct gateway *gateway, uint64_t now)
{
    static uint8_t bytes[MOST_BYTES];
    struct delta delta;

    CHECK_I(lbroute_delta_export(gateway->router, now, bytes, sizeof bytes,
                                 &delta.length),
            LBROUTE_OK);
    delta.bytes = malloc(delta.length);
    CHECK(delta.bytes != NULL);
    memcpy(delta.bytes, bytes, delta.length);
    return delta;
}

static lbroute_delta_result apply(struct gateway *gateway,
                                  const struct delta *delta, uint64_t now,
                                  uint64_t elapsed)
{
    lbroute_delta_result result;

    lbroute_delta_result_init(&result, sizeof result);
    CHECK_I(lbroute_delta_apply(gateway->router, delta->bytes, delta->length,
                                now, elapsed, &result),
            LBROUTE_OK);
    return result;
}

/* From one to the other at once. */
static lbroute_delta_result carry(struct gateway *from, struct gateway *to,
                                  uint64_t now)
{
    struct delta delta = export_delta(from, now);
    lbroute_delta_result result = apply(to, &delta, now, 0);

    free(delta.bytes);
    return result;
}

static size_t index_of(const struct gateway *gateway, lbroute_target target)
{
    size_t i = 0;

    while (gateway->targets[i] != target)
        i++;
    return i;
}

static size_t pick(struct gateway *gateway, const char *prompt,
                   const char *session, uint64_t now,
                   lbroute_decision *decision)
{
    lbroute_request request;

    api_request(&request, gateway->pool);
    if (prompt) {
        request.prompt = prompt;
        request.prompt_len = strlen(prompt);
    }
    if (session)
        api_set_session(&request, session);
    api_pick(gateway->router, &request, now, decision);
    return index_of(gateway, decision->target);
}

static double others_of(struct gateway *gateway, size_t target, uint64_t now)
{
    return api_target_stats(gateway->router, gateway->targets[target], now)
        .others;
}

/* ---- what is told ---- */

static const char long_prompt[] =
    "You are the assistant of a library of rare books. Answer briefly. A "
    "visitor asks where the oldest map of the harbour is kept, and whether it "
    "may be photographed without flash in the reading room on the third floor, "
    "or only seen behind glass. Say what the rules of the house are, name the "
    "shelf, and tell how to hand in a request for a copy on paper, which costs "
    "two coins a sheet, to be paid at the desk next to the main entrance.";

static const char *const keepers[] = {"cache_aware", "kv_aware", "least_work",
                                      "pipeline", "adaptive"};

static void prompts_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof keepers / sizeof keepers[0]; i++) {
        for (int mode = 0; mode < 2; mode++) {
            struct gateway a, b;
            lbroute_decision here, there;

            start(&a, keepers[i], 3);
            start(&b, keepers[i], 5);
            api_set(a.router, a.pool, "cache_aware.mode", mode);
            api_set(b.router, b.pool, "cache_aware.mode", mode);
            size_t chosen = pick(&a, long_prompt, NULL, BEGIN, &here);
            api_settle(a.router, here.ticket, LBROUTE_EVENT_SUCCESS, BEGIN);
            lbroute_delta_result result = carry(&a, &b, BEGIN);
            CHECK_U(result.prompts, 1);
            CHECK_U(result.prompts_skipped, 0);
            CHECK_U(result.targets, 1);
            CHECK_U(result.targets_unknown, 0);
            CHECK_U(pick(&b, long_prompt, NULL, BEGIN, &there), chosen);
            CHECK_I(there.prefix_matched, there.prefix_total);
            CHECK(there.prefix_total > 0);
            end(&a);
            end(&b);
        }
    }
}

/* A prompt that is compared otherwise there means nothing. */
static void comparisons_must_agree(void **state)
{
    (void)state;
    struct gateway a, b;
    lbroute_decision decision;

    start(&a, "cache_aware", 3);
    start(&b, "cache_aware", 5);
    api_set(b.router, b.pool, "cache_aware.mode", 1);
    pick(&a, long_prompt, NULL, BEGIN, &decision);
    lbroute_delta_result result = carry(&a, &b, BEGIN);
    CHECK_U(result.prompts, 0);
    CHECK_U(result.prompts_skipped, 1);
    api_set(a.router, a.pool, "cache_aware.mode", 1);
    api_set(b.router, b.pool, "prefix.block_bytes", 128);
    pick(&a, long_prompt, NULL, BEGIN, &decision);
    CHECK_U(carry(&a, &b, BEGIN).prompts_skipped, 1);
    end(&a);
    end(&b);
}

static void sessions_are_told(void **state)
{
    (void)state;
    struct gateway a, b;
    lbroute_decision decision;

    for (int i = 0; i < 20; i++) {
        start(&a, "sticky_session", 3);
        start(&b, "sticky_session", 5);
        char session[2] = {(char)('a' + i), 0};
        size_t chosen = pick(&a, NULL, session, BEGIN, &decision);
        api_settle(a.router, decision.ticket, LBROUTE_EVENT_SUCCESS, BEGIN);
        CHECK_U(carry(&a, &b, BEGIN + 1).sessions, 1);
        CHECK_U(pick(&b, NULL, session, BEGIN + 2, &decision), chosen);
        end(&a);
        end(&b);
    }
}

/* Whoever pinned it last is right, whatever comes first. */
static void later_pin_holds(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        struct gateway gateways[3];
        struct delta deltas[2];
        size_t chosen[2];
        lbroute_decision decision;

        for (uint64_t i = 0; i < 3; i++)
            start(&gateways[i], "sticky_session", 7 + i);
        /* The second one must not go where the first one did. */
        lbroute_target_drain(gateways[0].router, gateways[0].targets[0], 1,
                             BEGIN);
        for (size_t i = 0; i < 2; i++) {
            struct gateway *gateway = &gateways[i];
            for (size_t j = 0; j < TARGETS; j++)
                lbroute_target_drain(gateway->router, gateway->targets[j],
                                     j != i + 1, BEGIN);
            chosen[i] = pick(gateway, NULL, "s", BEGIN + i, &decision);
            CHECK_U(chosen[i], i + 1);
            api_settle(gateway->router, decision.ticket, LBROUTE_EVENT_SUCCESS,
                       BEGIN + i);
            deltas[i] = export_delta(gateway, BEGIN + 10);
        }
        apply(&gateways[2], &deltas[turned], BEGIN + 10, 0);
        apply(&gateways[2], &deltas[!turned], BEGIN + 10, 0);
        CHECK_U(pick(&gateways[2], NULL, "s", BEGIN + 11, &decision),
                chosen[1]);
        for (size_t i = 0; i < 2; i++)
            free(deltas[i].bytes);
        for (size_t i = 0; i < 3; i++)
            end(&gateways[i]);
    }
}

static void another_key(void **state)
{
    (void)state;
    struct gateway a, b;
    lbroute_router_options options;
    lbroute_decision decision;

    start(&a, "sticky_session", 3);
    default_options(&options, 4);
    options.digest_key[0] = 1;
    start_with(&b, "sticky_session", &options);
    pick(&a, NULL, "s", BEGIN, &decision);
    api_settle(a.router, decision.ticket, LBROUTE_EVENT_SUCCESS, BEGIN);
    lbroute_delta_result result = carry(&a, &b, BEGIN);
    CHECK_I(result.same_key, 0);
    CHECK_U(result.sessions, 0);
    CHECK_U(result.sessions_skipped, 1);
    end(&a);
    end(&b);
}

/* ---- load ---- */

static void load_counts(void **state)
{
    (void)state;
    struct gateway a, b;
    lbroute_decision decision, last;

    start(&a, "least_connections", 3);
    start(&b, "least_connections", 5);
    for (int i = 0; i < 4; i++)
        pick(&a, NULL, NULL, BEGIN, &decision);
    carry(&a, &b, BEGIN);
    /* One target has none of the four; that is where the next one goes. */
    size_t chosen = pick(&b, NULL, NULL, BEGIN, &last);
    CHECK(others_of(&b, chosen, BEGIN) == 0);
    /* Until it is told otherwise, or nothing is told any more. */
    double sum = 0;
    for (size_t i = 0; i < TARGETS; i++)
        sum += others_of(&b, i, BEGIN + 5 * SECOND - 1);
    CHECK(sum == 4);
    for (size_t i = 0; i < TARGETS; i++)
        CHECK(others_of(&b, i, BEGIN + 5 * SECOND) == 0);
    end(&a);
    end(&b);
}

/* What an engine reports includes what other routers told of: it counts once.
 * What is more is somebody else's. */
static void reports_include_peers(void **state)
{
    (void)state;
    struct gateway a, b;
    lbroute_decision decision;

    start(&a, "least_connections", 3);
    start(&b, "least_connections", 5);
    size_t loaded = pick(&a, NULL, NULL, BEGIN, &decision);
    carry(&a, &b, BEGIN);
    for (size_t i = 0; i < TARGETS; i++)
        api_gauges(b.router, b.targets[i], i == loaded ? 1 : 0, 0, BEGIN);
    CHECK(others_of(&b, loaded, BEGIN) == 1);
    api_gauges(b.router, b.targets[loaded], 3, 1, BEGIN);
    CHECK(others_of(&b, loaded, BEGIN) == 4);
    api_settle(a.router, decision.ticket, LBROUTE_EVENT_SUCCESS, BEGIN);
    carry(&a, &b, BEGIN);
    CHECK(others_of(&b, loaded, BEGIN) == 3);
    end(&a);
    end(&b);
}

/* ---- turns ---- */

/* Routers that tell each other of each pick are one: smooth weighted
 * round-robin by its definition, whoever picks. */
static void turns_are_one_sequence(void **state)
{
    static const double weights[TARGETS] = {5, 3, 1, 1, 2};
    struct gateway gateways[3];
    double sums[TARGETS] = {0};
    struct rng rng;
    (void)state;

    rng_seed(&rng, 4);
    for (uint64_t i = 0; i < 3; i++) {
        /* Ties go by order of arrival, which must be the same here. */
        start(&gateways[i], "weighted", TARGETS * (i + 1));
        for (size_t j = 0; j < TARGETS; j++)
            CHECK_I(lbroute_target_set_weight(gateways[i].router,
                                              gateways[i].targets[j],
                                              weights[j], BEGIN),
                    LBROUTE_OK);
    }
    /* Nobody counts turns of those that it has not heard yet. */
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
            carry(&gateways[i], &gateways[j], BEGIN);
    for (int step = 0; step < 500; step++) {
        size_t at = rng_below(&rng, 3);
        lbroute_decision decision;
        size_t expected = 0;
        for (size_t i = 0; i < TARGETS; i++) {
            sums[i] += weights[i];
            if (sums[i] > sums[expected])
                expected = i;
        }
        sums[expected] -= 12;
        size_t chosen = pick(&gateways[at], NULL, NULL, BEGIN, &decision);
        CHECK_U(chosen, expected);
        struct delta delta = export_delta(&gateways[at], BEGIN);
        for (size_t i = 0; i < 3; i++)
            apply(&gateways[i], &delta, BEGIN, 0);
        free(delta.bytes);
    }
    for (size_t i = 0; i < 3; i++)
        end(&gateways[i]);
}

/* Where weights are others, and where much is heard at once, nobody runs off:
 * what is picked here stays what the weights here say, but for a round. */
static void turns_of_other_weights(void **state)
{
    struct gateway a, b;
    size_t counts[TARGETS] = {0};
    lbroute_decision decision;
    (void)state;

    start(&a, "weighted", 5);
    start(&b, "weighted", 10);
    CHECK_I(lbroute_target_set_weight(a.router, a.targets[0], 1000, BEGIN),
            LBROUTE_OK);
    carry(&a, &b, BEGIN);
    for (int i = 0; i < 3000; i++) {
        pick(&a, NULL, NULL, BEGIN, &decision);
        api_settle(a.router, decision.ticket, LBROUTE_EVENT_SUCCESS, BEGIN);
    }
    carry(&a, &b, BEGIN);
    for (int i = 0; i < 100; i++)
        counts[pick(&b, NULL, NULL, BEGIN, &decision)]++;
    for (size_t i = 0; i < TARGETS; i++) {
        CHECK(counts[i] >= 18);
        CHECK(counts[i] <= 22);
    }
    end(&a);
    end(&b);
}

/* ---- any order, more than once, with losses ---- */

enum { ROUTERS = 4, STEPS = 300, MAIL = 600 };

/* A delta under way to one router. */
struct letter {
    struct delta delta;
    size_t from, to;
    uint64_t sequence;
    uint64_t written_at;
    uint32_t in_flight[TARGETS];
};

struct exchange {
    struct gateway gateways[ROUTERS];
    struct rng rng;
    uint64_t now;
    lbroute_ticket open[ROUTERS][STEPS];
    size_t open_at[ROUTERS][STEPS], open_count[ROUTERS];
    uint64_t sequences[ROUTERS];
    struct letter mail[MAIL];
    size_t mail_count;
    /* The naive account: what each knows of each, by the latest that came. */
    uint64_t known[ROUTERS][ROUTERS];
    uint64_t known_at[ROUTERS][ROUTERS];
    uint32_t load[ROUTERS][ROUTERS][TARGETS];
};

static void send_request(struct exchange *exchange, size_t at)
{
    struct gateway *gateway = &exchange->gateways[at];
    size_t open = exchange->open_count[at]++;
    lbroute_decision decision;

    exchange->open_at[at][open] =
        pick(gateway, NULL, NULL, exchange->now, &decision);
    exchange->open[at][open] = decision.ticket;
}

static void end_request(struct exchange *exchange, size_t at)
{
    size_t count = exchange->open_count[at];

    if (!count)
        return;
    size_t ended = rng_below(&exchange->rng, (uint32_t)count);
    api_settle(exchange->gateways[at].router, exchange->open[at][ended],
               LBROUTE_EVENT_SUCCESS, exchange->now);
    exchange->open[at][ended] = exchange->open[at][count - 1];
    exchange->open_at[at][ended] = exchange->open_at[at][count - 1];
    exchange->open_count[at]--;
}

static void post(struct exchange *exchange, size_t from)
{
    struct letter letter = {{NULL, 0}, from, 0, 0, 0, {0}};
    struct delta delta = export_delta(&exchange->gateways[from], exchange->now);

    letter.sequence = ++exchange->sequences[from];
    letter.written_at = exchange->now;
    for (size_t i = 0; i < exchange->open_count[from]; i++)
        letter.in_flight[exchange->open_at[from][i]]++;
    for (letter.to = 0; letter.to < ROUTERS; letter.to++) {
        /* Some get lost, some come twice. */
        size_t copies = rng_below(&exchange->rng, 4);
        for (size_t i = 0; i < copies && exchange->mail_count < MAIL; i++) {
            letter.delta.length = delta.length;
            letter.delta.bytes = malloc(delta.length);
            CHECK(letter.delta.bytes != NULL);
            memcpy(letter.delta.bytes, delta.bytes, delta.length);
            exchange->mail[exchange->mail_count++] = letter;
        }
    }
    free(delta.bytes);
}

static void note(struct exchange *exchange, const struct letter *letter)
{
    size_t from = letter->from;
    size_t to = letter->to;

    if (from == to || letter->sequence <= exchange->known[to][from])
        return;
    if (letter->written_at + 5 * SECOND <= exchange->now)
        return;
    exchange->known[to][from] = letter->sequence;
    exchange->known_at[to][from] = letter->written_at;
    memcpy(exchange->load[to][from], letter->in_flight,
           sizeof letter->in_flight);
}

static void deliver(struct exchange *exchange)
{
    if (!exchange->mail_count)
        return;
    size_t which = rng_below(&exchange->rng, (uint32_t)exchange->mail_count);
    struct letter letter = exchange->mail[which];
    struct gateway *gateway = &exchange->gateways[letter.to];
    lbroute_delta_result result = apply(gateway, &letter.delta, exchange->now,
                                        exchange->now - letter.written_at);

    CHECK_U(result.sequence, letter.sequence);
    CHECK_I(result.own, letter.from == letter.to);
    note(exchange, &letter);
    free(letter.delta.bytes);
    exchange->mail[which] = exchange->mail[--exchange->mail_count];
}

static void compare(struct exchange *exchange)
{
    for (size_t to = 0; to < ROUTERS; to++)
        for (size_t target = 0; target < TARGETS; target++) {
            double expected = 0;
            for (size_t from = 0; from < ROUTERS; from++)
                if (exchange->known_at[to][from] + 5 * SECOND > exchange->now)
                    expected += exchange->load[to][from][target];
            CHECK(others_of(&exchange->gateways[to], target, exchange->now) ==
                  expected);
        }
}

static void step(struct exchange *exchange)
{
    size_t at = rng_below(&exchange->rng, ROUTERS);

    exchange->now += rng_below(&exchange->rng, SECOND / 4);
    switch (rng_below(&exchange->rng, 6)) {
    case 0:
    case 1:
        send_request(exchange, at);
        break;
    case 2:
        end_request(exchange, at);
        break;
    case 3:
        post(exchange, at);
        break;
    default:
        deliver(exchange);
    }
    compare(exchange);
}

static void loads_in_any_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct exchange *exchange = calloc(1, sizeof *exchange);

        CHECK(exchange != NULL);
        rng_seed(&exchange->rng, seed);
        exchange->now = BEGIN;
        for (size_t i = 0; i < ROUTERS; i++)
            start(&exchange->gateways[i], "random", 10 * seed + i);
        for (int i = 0; i < STEPS; i++)
            step(exchange);
        while (exchange->mail_count)
            free(exchange->mail[--exchange->mail_count].delta.bytes);
        for (size_t i = 0; i < ROUTERS; i++)
            end(&exchange->gateways[i]);
        free(exchange);
    }
}

/* ---- prompts in any order ---- */

enum { TOLD = 60, PROMPT_MOST = 400 };

/* Prompts of a few words that begin alike again and again. */
static void make_prompt(struct rng *rng, char *prompt)
{
    static const char *const words[] = {"harbour ", "map ", "glass ", "coin "};
    uint32_t count = 1 + rng_below(rng, 30);

    prompt[0] = 0;
    for (uint32_t i = 0; i < count; i++)
        strcat(prompt, words[rng_below(rng, 10) ? i % 4 : rng_below(rng, 4)]);
}

static void compare_parts(struct gateway *a, struct gateway *b,
                          const char *prompt)
{
    lbroute_candidate candidates[2][TARGETS];
    lbroute_decision decision;
    lbroute_request request;
    struct gateway *both[2] = {a, b};
    size_t count;

    for (size_t i = 0; i < 2; i++) {
        api_request(&request, both[i]->pool);
        request.prompt = prompt;
        request.prompt_len = strlen(prompt);
        CHECK_I(api_explain(both[i]->router, &request, BEGIN, &decision,
                            candidates[i], TARGETS, &count),
                LBROUTE_OK);
        CHECK_U(count, TARGETS);
    }
    for (size_t i = 0; i < TARGETS; i++)
        for (size_t j = 0; j < TARGETS; j++)
            if (index_of(a, candidates[0][i].target) ==
                index_of(b, candidates[1][j].target))
                CHECK_SAME(candidates[0][i].score, candidates[1][j].score);
}

/* Two that are told the same, in another order and now and then twice, know the
 * same. */
static void prompts_in_any_order(void **state)
{
    static char prompts[TOLD][PROMPT_MOST];
    (void)state;

    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct gateway from, to[2];
        struct delta deltas[TOLD];
        struct rng rng;
        double mode = seed % 2 ? 1 : 0;

        rng_seed(&rng, seed);
        start(&from, "cache_aware", seed);
        for (uint64_t i = 0; i < 2; i++) {
            start(&to[i], "cache_aware", 100 * seed + i);
            api_set(to[i].router, to[i].pool, "cache_aware.mode", mode);
            api_set(to[i].router, to[i].pool, "prefix.block_bytes", 16);
        }
        api_set(from.router, from.pool, "cache_aware.mode", mode);
        api_set(from.router, from.pool, "prefix.block_bytes", 16);
        for (size_t i = 0; i < TOLD; i++) {
            for (uint32_t j = rng_below(&rng, 3); j--;) {
                lbroute_decision decision;
                make_prompt(&rng, prompts[i]);
                pick(&from, prompts[i], NULL, BEGIN, &decision);
            }
            deltas[i] = export_delta(&from, BEGIN);
        }
        for (size_t i = 0; i < TOLD; i++)
            apply(&to[0], &deltas[i], BEGIN, 0);
        for (size_t i = TOLD; i--;) {
            apply(&to[1], &deltas[i], BEGIN, 0);
            apply(&to[1], &deltas[i + rng_below(&rng, (uint32_t)(TOLD - i))],
                  BEGIN, 0);
        }
        for (size_t i = 0; i < TOLD; i++)
            compare_parts(&to[0], &to[1], prompts[i]);
        for (size_t i = 0; i < TOLD; i++)
            free(deltas[i].bytes);
        end(&from);
        end(&to[0]);
        end(&to[1]);
    }
}

/* ---- bounds ---- */

static lbroute_delta_stats stats_of(struct gateway *gateway)
{
    lbroute_delta_stats stats;

    lbroute_delta_stats_init(&stats, sizeof stats);
    CHECK_I(lbroute_get_delta_stats(gateway->router, BEGIN, &stats),
            LBROUTE_OK);
    return stats;
}

/* Whatever the room: what fits is told, and what does not stays; a refusal
 * changes nothing and says what would do. */
static void any_room(void **state)
{
    static uint8_t bytes[MOST_BYTES];
    (void)state;

    for (size_t room = 0; room < 3000; room += 7) {
        struct gateway a, b;
        lbroute_decision decision;
        lbroute_delta_result result;
        uint64_t told = 0;

        start(&a, "cache_aware", 1);
        start(&b, "cache_aware", 2);
        for (int i = 0; i < 6; i++)
            pick(&a, long_prompt + 50 * i, NULL, BEGIN, &decision);
        CHECK_U(stats_of(&a).pending, 6);
        lbroute_delta_result_init(&result, sizeof result);
        while (told < 6) {
            size_t length = 0;
            uint64_t pending = stats_of(&a).pending;
            int code =
                lbroute_delta_export(a.router, BEGIN, bytes, room, &length);
            if (code) {
                CHECK_I(code, LBROUTE_ERR_BUFFER);
                CHECK(length > room);
                CHECK_U(stats_of(&a).pending, pending);
                CHECK_I(lbroute_delta_export(a.router, BEGIN, bytes, length,
                                             &length),
                        LBROUTE_OK);
            } else {
                CHECK(length <= room);
            }
            CHECK_I(
                lbroute_delta_apply(b.router, bytes, length, BEGIN, 0, &result),
                LBROUTE_OK);
            CHECK_U(result.prompts, pending - stats_of(&a).pending);
            told += result.prompts;
        }
        end(&a);
        end(&b);
    }
}

/* What is not collected in time gives way, oldest first. */
static void full_of_news(void **state)
{
    (void)state;
    struct gateway a, b;
    lbroute_router_options options;
    lbroute_decision decision;

    default_options(&options, 1);
    options.max_delta_bytes = 4096;
    start_with(&a, "cache_aware", &options);
    start(&b, "cache_aware", 2);
    for (int i = 0; i < 100; i++) {
        char prompt[8] = {(char)('0' + i / 10), (char)('0' + i % 10), 0};
        pick(&a, prompt, NULL, BEGIN, &decision);
    }
    lbroute_delta_stats before = stats_of(&a);
    CHECK_U(before.pending + before.dropped, 100);
    CHECK(before.dropped > 0);
    CHECK_U(carry(&a, &b, BEGIN).prompts, before.pending);
    pick(&b, "99", NULL, BEGIN, &decision);
    CHECK_I(decision.prefix_matched, decision.prefix_total);
    pick(&b, "00", NULL, BEGIN, &decision);
    CHECK_I(decision.prefix_matched, 0);
    end(&a);
    end(&b);
}

/* More routers than are listened to: those that were heard last count. */
static void too_many_peers(void **state)
{
    (void)state;
    struct gateway to, from[4];
    lbroute_router_options options;
    lbroute_decision decision;

    default_options(&options, 1);
    options.max_peers = 3;
    start_with(&to, "least_connections", &options);
    for (uint64_t i = 0; i < 4; i++) {
        start(&from[i], "least_connections", 10 + i);
        pick(&from[i], NULL, NULL, BEGIN, &decision);
        carry(&from[i], &to, BEGIN);
        CHECK_U(stats_of(&to).peers, i < 3 ? i + 1 : 3);
    }
    double sum = 0;
    for (size_t i = 0; i < TARGETS; i++)
        sum += others_of(&to, i, BEGIN);
    CHECK(sum == 3);
    for (size_t i = 0; i < 4; i++)
        end(&from[i]);
    end(&to);
}

/* ---- without memory ---- */

static void without_memory(void **state)
{
    static uint8_t bytes[MOST_BYTES];
    (void)state;

    for (uint64_t after = 0; after < 12; after++) {
        struct gateway a, b;
        struct heap heap = {0};
        lbroute_router_options options;
        lbroute_decision decision;
        size_t length = 0;

        default_options(&options, 1);
        heap_attach(&heap, &options);
        start_with(&a, "cache_aware", &options);
        start(&b, "cache_aware", 2);
        pick(&a, long_prompt, NULL, BEGIN, &decision);
        heap.fail_at = heap.calls + 1 + after;
        int code =
            lbroute_delta_export(a.router, BEGIN, bytes, sizeof bytes, &length);
        heap.fail_at = 0;
        if (code) {
            CHECK_I(code, LBROUTE_ERR_NO_MEMORY);
            CHECK_U(stats_of(&a).pending, 1);
            CHECK_U(stats_of(&a).exported, 0);
        }
        pick(&b, long_prompt, NULL, BEGIN, &decision);
        struct delta delta = export_delta(&b, BEGIN);
        heap.fail_at = heap.calls + 1 + after;
        code = lbroute_delta_apply(a.router, delta.bytes, delta.length, BEGIN,
                                   0, NULL);
        heap.fail_at = 0;
        if (code) {
            CHECK_I(code, LBROUTE_ERR_NO_MEMORY);
            CHECK_U(stats_of(&a).applied, 0);
            CHECK_U(stats_of(&a).peers, 0);
            apply(&a, &delta, BEGIN, 0);
        }
        CHECK_U(stats_of(&a).applied, 1);
        CHECK_U(stats_of(&a).peers, 1);
        free(delta.bytes);
        end(&a);
        end(&b);
        CHECK_U(heap.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_are_told),
        cmocka_unit_test(comparisons_must_agree),
        cmocka_unit_test(sessions_are_told),
        cmocka_unit_test(later_pin_holds),
        cmocka_unit_test(another_key),
        cmocka_unit_test(load_counts),
        cmocka_unit_test(reports_include_peers),
        cmocka_unit_test(turns_are_one_sequence),
        cmocka_unit_test(turns_of_other_weights),
        cmocka_unit_test(loads_in_any_order),
        cmocka_unit_test(prompts_in_any_order),
        cmocka_unit_test(any_room),
        cmocka_unit_test(full_of_news),
        cmocka_unit_test(too_many_peers),
        cmocka_unit_test(without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
