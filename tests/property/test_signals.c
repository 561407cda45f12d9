/* SPDX-License-Identifier: MIT */
/*
 * `lora_aware` and `lmcache_aware` against naive models of what is known of
 * each target: the pick is one of the best, by the rule that the model names,
 * and explain tells the score that the model gives each candidate.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "prng.h"

enum { TARGETS = 7, ADAPTERS = 9, OPEN = 30, NO_ADAPTER = ADAPTERS };

#define TTL (20 * SECOND)

struct known_adapter {
    uint64_t seen_at;
    uint64_t order; /* larger: seen later; 0: not seen */
    uint32_t in_flight;
};

struct model_target {
    lbroute_target handle;
    double weight;
    uint32_t in_flight;
    /* What is known of adapters. */
    struct known_adapter adapters[ADAPTERS];
    int32_t slots;
    uint64_t heard_at;
    /* What is known of the cache. */
    int reported, available;
    double occupancy;
    uint64_t reported_at;
    uint64_t matched; /* by the lookup at hand */
};

static struct run {
    struct rng rng;
    lbroute_router *router;
    lbroute_pool pool;
    uint64_t now;
    uint64_t order;
    struct model_target targets[TARGETS];
    struct {
        lbroute_ticket ticket;
        size_t target;
        int adapter;
    } open[OPEN];
    size_t open_count;
    size_t decided[LBROUTE_RULE_COUNT];
} run;

static void start(const char *strategy, uint64_t seed)
{
    check_context(strategy, seed);
    rng_seed(&run.rng, seed);
    run.router = api_router(seed);
    run.pool = api_pool(run.router, "pool", strategy);
    api_set(run.router, run.pool, "lora_aware.ttl", 20);
    api_set(run.router, run.pool, "lmcache_aware.ttl", 20);
    run.now = 0;
    run.open_count = 0;
    memset(run.targets, 0, sizeof run.targets);
    for (size_t i = 0; i < TARGETS; i++) {
        char name[] = {'t', (char)('0' + i), 0};
        struct model_target *target = &run.targets[i];
        target->weight = rng_between(&run.rng, 1, 3);
        target->slots = -1;
        target->handle = api_target(run.router, run.pool, name, target->weight);
    }
}

static double load_of(const struct model_target *target)
{
    return target->in_flight / target->weight;
}

/* The lowest load, and the window that it opens. */
static double lowest_load(void)
{
    double lowest = load_of(&run.targets[0]);
    for (size_t i = 1; i < TARGETS; i++)
        lowest = fmin(lowest, load_of(&run.targets[i]));
    return lowest;
}

static int in_window(const struct model_target *target)
{
    double lowest = lowest_load();
    return load_of(target) <= lowest + 2 || load_of(target) <= 1.5 * lowest;
}

static void check_decision(const lbroute_decision *decision, size_t best,
                           int rule, double score)
{
    const struct model_target *wanted = &run.targets[best];
    size_t picked = 0;
    while (run.targets[picked].handle != decision->target)
        picked++;
    CHECK_I(decision->rule, rule);
    CHECK_NEAR(decision->score, score, 1e-12);
    CHECK(in_window(&run.targets[picked]));
    CHECK_NEAR(load_of(&run.targets[picked]), load_of(wanted), 1e-12);
    run.decided[rule]++;
}

/* ---- adapters ---- */

static int holds(const struct model_target *target, int adapter)
{
    const struct known_adapter *known = &target->adapters[adapter];
    return known->in_flight > 0 ||
           (known->order > 0 && run.now - known->seen_at <= TTL);
}

static int standing_of(const struct model_target *target, int adapter)
{
    int held = 0;
    if (holds(target, adapter))
        return 0;
    if (target->slots < 0 || run.now - target->heard_at > TTL)
        return 2;
    for (int i = 0; i < ADAPTERS; i++)
        held += holds(target, i);
    return held < target->slots ? 1 : 3;
}

/* Forgets those seen longest ago, until there are as many as slots. */
static void forget_beyond_slots(struct model_target *target, int32_t slots)
{
    for (;;) {
        int count = 0;
        int oldest = -1;
        for (int i = 0; i < ADAPTERS; i++) {
            const struct known_adapter *known = &target->adapters[i];
            count += known->order > 0 || known->in_flight > 0;
            if (known->order > 0 && !known->in_flight &&
                (oldest < 0 || known->order < target->adapters[oldest].order))
                oldest = i;
        }
        if (target->slots < 0 || count <= slots || oldest < 0)
            return;
        target->adapters[oldest].order = 0;
    }
}

static void see(struct model_target *target, int adapter)
{
    struct known_adapter *known = &target->adapters[adapter];
    if (!known->order && !known->in_flight && target->slots > 0)
        forget_beyond_slots(target, target->slots - 1);
    known->order = ++run.order;
    known->seen_at = run.now;
    forget_beyond_slots(target, target->slots);
}

static size_t adapter_name(int adapter, char name[16])
{
    return (size_t)snprintf(name, 16, "adapter-%d", adapter);
}

static void report_adapters(struct model_target *target)
{
    char names[ADAPTERS][16];
    const char *pointers[ADAPTERS];
    size_t lengths[ADAPTERS];
    int listed[ADAPTERS];
    size_t count = rng_below(&run.rng, 4);
    int complete = rng_chance(&run.rng, 30);
    int32_t slots = (int32_t)rng_below(&run.rng, 6) - 1;
    for (size_t i = 0; i < count; i++) {
        listed[i] = (int)rng_below(&run.rng, ADAPTERS);
        lengths[i] = adapter_name(listed[i], names[i]);
        pointers[i] = names[i];
    }
    CHECK_I((complete ? lbroute_set_adapters : lbroute_note_adapters)(
                run.router, target->handle, pointers, lengths, count, slots,
                run.now),
            LBROUTE_OK);
    for (int i = 0; complete && i < ADAPTERS; i++)
        target->adapters[i].order = 0;
    target->heard_at = run.now;
    if (slots >= 0) {
        target->slots = slots;
        forget_beyond_slots(target, slots);
    }
    for (size_t i = 0; i < count; i++)
        see(target, listed[i]);
}

static void settle_oldest(void)
{
    struct model_target *target = &run.targets[run.open[0].target];
    int adapter = run.open[0].adapter;
    int success = rng_chance(&run.rng, 70);
    api_settle(run.router, run.open[0].ticket,
               success ? LBROUTE_EVENT_SUCCESS : LBROUTE_EVENT_CLIENT_ERROR,
               run.now);
    target->in_flight--;
    if (adapter != NO_ADAPTER) {
        struct known_adapter *known = &target->adapters[adapter];
        known->in_flight--;
        if (!known->in_flight && known->order)
            forget_beyond_slots(target, target->slots);
        if (success)
            see(target, adapter);
    }
    run.open_count--;
    memmove(run.open, run.open + 1, run.open_count * sizeof run.open[0]);
}

static void hold_ticket(const lbroute_decision *decision, int adapter)
{
    size_t picked = 0;
    while (run.targets[picked].handle != decision->target)
        picked++;
    run.targets[picked].in_flight++;
    if (adapter != NO_ADAPTER)
        run.targets[picked].adapters[adapter].in_flight++;
    run.open[run.open_count].ticket = decision->ticket;
    run.open[run.open_count].target = picked;
    run.open[run.open_count++].adapter = adapter;
    if (run.open_count == OPEN)
        settle_oldest();
}

/* The best by standing, then load. */
static size_t best_standing(int adapter)
{
    size_t best = TARGETS;
    for (size_t i = 0; i < TARGETS; i++) {
        const struct model_target *target = &run.targets[i];
        int better;
        if (!in_window(target))
            continue;
        if (best == TARGETS) {
            best = i;
            continue;
        }
        better = standing_of(target, adapter) -
                 standing_of(&run.targets[best], adapter);
        if (better < 0 ||
            (!better && load_of(target) < load_of(&run.targets[best])))
            best = i;
    }
    return best;
}

static void check_candidates(const lbroute_request *request,
                             double (*score)(const struct model_target *target,
                                             int adapter),
                             int adapter)
{
    lbroute_decision decision;
    lbroute_candidate candidates[TARGETS];
    size_t count = 0;
    CHECK_I(api_explain(run.router, request, run.now, &decision, candidates,
                        TARGETS, &count),
            LBROUTE_OK);
    CHECK_U(count, TARGETS);
    for (size_t i = 0; i < TARGETS; i++) {
        CHECK_NEAR(candidates[i].score, score(&run.targets[i], adapter), 1e-12);
        CHECK_I(candidates[i].in_window, in_window(&run.targets[i]));
    }
}

static double lora_score(const struct model_target *target, int adapter)
{
    static const double scores[] = {1, 0.5, 0.25, 0};
    if (adapter == NO_ADAPTER)
        return load_of(target);
    return scores[standing_of(target, adapter)];
}

static void ask_for_adapter(void)
{
    static const int rules[] = {LBROUTE_RULE_LORA_AWARE, LBROUTE_RULE_LORA_SLOT,
                                LBROUTE_RULE_LEAST_CONNECTIONS,
                                LBROUTE_RULE_LEAST_CONNECTIONS};
    int adapter = (int)rng_below(&run.rng, ADAPTERS + 1);
    char name[16];
    lbroute_request request;
    lbroute_decision decision;
    api_request(&request, run.pool);
    if (adapter != NO_ADAPTER) {
        request.adapter_len = adapter_name(adapter, name);
        request.adapter = name;
    }
    check_candidates(&request, lora_score, adapter);
    api_pick(run.router, &request, run.now, &decision);
    if (adapter == NO_ADAPTER) {
        CHECK_I(decision.rule, LBROUTE_RULE_LEAST_CONNECTIONS);
        CHECK_NEAR(decision.score, lowest_load(), 1e-12);
    } else {
        size_t best = best_standing(adapter);
        check_decision(&decision, best,
                       rules[standing_of(&run.targets[best], adapter)],
                       lora_score(&run.targets[best], adapter));
    }
    hold_ticket(&decision, adapter);
}

static void adapters_like_the_model(void **state)
{
    (void)state;
    memset(run.decided, 0, sizeof run.decided);
    for (uint64_t seed = 1; seed <= scaled(60); seed++) {
        start("lora_aware", seed);
        for (size_t step = 0; step < 600; step++) {
            check_step(step);
            run.now += rng_below(&run.rng, 2000) * MILLISECOND;
            if (rng_chance(&run.rng, 25))
                report_adapters(&run.targets[rng_below(&run.rng, TARGETS)]);
            if (run.open_count > 0 && rng_chance(&run.rng, 45))
                settle_oldest();
            ask_for_adapter();
        }
        lbroute_router_destroy(run.router);
    }
    CHECK(run.decided[LBROUTE_RULE_LORA_AWARE] > 1000);
    CHECK(run.decided[LBROUTE_RULE_LORA_SLOT] > 100);
    CHECK(run.decided[LBROUTE_RULE_LEAST_CONNECTIONS] > 100);
}

/* ---- caches ---- */

static int is_fresh(const struct model_target *target)
{
    return target->reported && run.now - target->reported_at <= TTL;
}

/* Free part of the cache; NaN: unknown. */
static double free_part(const struct model_target *target)
{
    if (!is_fresh(target) || !target->available)
        return (double)NAN;
    return 1 - target->occupancy;
}

static double mean_free(void)
{
    double sum = 0;
    int known = 0;
    for (size_t i = 0; i < TARGETS; i++) {
        if (isnan(free_part(&run.targets[i])))
            continue;
        sum += free_part(&run.targets[i]);
        known++;
    }
    return known ? sum / known : (double)NAN;
}

static double room_of(const struct model_target *target)
{
    double part = free_part(target);
    if (isnan(part))
        part = mean_free();
    return (0.5 + 0.5 * part) / (1 + load_of(target));
}

static uint64_t useful_match(const struct model_target *target)
{
    if (target->reported && (!target->available || !is_fresh(target)))
        return 0;
    return target->matched;
}

/* The best by match, then room, then load. */
static size_t best_cache(void)
{
    size_t best = TARGETS;
    int blind = isnan(mean_free());
    for (size_t i = 0; i < TARGETS; i++) {
        const struct model_target *a = &run.targets[i];
        const struct model_target *b = &run.targets[best % TARGETS];
        if (!in_window(a))
            continue;
        if (best == TARGETS || useful_match(a) > useful_match(b) ||
            (useful_match(a) == useful_match(b) &&
             (blind ? load_of(a) < load_of(b) : room_of(a) > room_of(b))))
            best = i;
    }
    return best;
}

static int64_t input_tokens; /* of the request at hand */

static double cache_score(const struct model_target *target, int unused)
{
    uint64_t longest = useful_match(&run.targets[best_cache()]);
    (void)unused;
    if (longest) {
        uint64_t total = longest;
        if (input_tokens > (int64_t)longest)
            total = (uint64_t)input_tokens;
        return (double)useful_match(target) / (double)total;
    }
    return isnan(mean_free()) ? load_of(target) : room_of(target);
}

/* Draws a lookup, with double entries and handles that name nothing. */
static void draw_lookup(lbroute_request *request, lbroute_target *targets,
                        uint64_t *tokens)
{
    for (size_t i = 0; i < TARGETS; i++)
        run.targets[i].matched = 0;
    request->lookup_len = rng_chance(&run.rng, 60) ? rng_below(&run.rng, 9) : 0;
    for (size_t i = 0; i < request->lookup_len; i++) {
        size_t which = rng_below(&run.rng, TARGETS + 1);
        tokens[i] = 16 * (uint64_t)rng_below(&run.rng, 5);
        targets[i] = 77;
        if (which == TARGETS)
            continue;
        targets[i] = run.targets[which].handle;
        if (tokens[i] > run.targets[which].matched)
            run.targets[which].matched = tokens[i];
    }
    request->lookup_targets = targets;
    request->lookup_tokens = tokens;
}

static void ask_for_cache(void)
{
    lbroute_target targets[9];
    uint64_t tokens[9];
    lbroute_request request;
    lbroute_decision decision;
    size_t best;
    int rule = LBROUTE_RULE_LEAST_CONNECTIONS;
    api_request(&request, run.pool);
    draw_lookup(&request, targets, tokens);
    input_tokens = (int64_t)rng_below(&run.rng, 100) - 1;
    request.input_tokens = input_tokens;
    check_candidates(&request, cache_score, 0);
    api_pick(run.router, &request, run.now, &decision);
    best = best_cache();
    if (!isnan(mean_free()))
        rule = LBROUTE_RULE_LMCACHE_ROOM;
    if (useful_match(&run.targets[best]))
        rule = LBROUTE_RULE_LMCACHE_AWARE;
    CHECK_I(decision.rule, rule);
    CHECK_NEAR(decision.score, cache_score(&run.targets[best], 0), 1e-12);
    CHECK_I(decision.prefix_matched,
            request.lookup_len ? (int64_t)useful_match(&run.targets[best])
                               : -1);
    run.decided[rule]++;
    hold_ticket(&decision, NO_ADAPTER);
}

static void report_cache(struct model_target *target)
{
    target->reported = 1;
    target->reported_at = run.now;
    target->available = rng_chance(&run.rng, 80);
    target->occupancy =
        rng_chance(&run.rng, 10) ? (double)NAN : rng_below(&run.rng, 5) / 4.0;
    CHECK_I(lbroute_set_occupancy(run.router, target->handle, target->occupancy,
                                  target->available, run.now),
            LBROUTE_OK);
}

static void caches_like_the_model(void **state)
{
    (void)state;
    memset(run.decided, 0, sizeof run.decided);
    for (uint64_t seed = 1; seed <= scaled(60); seed++) {
        start("lmcache_aware", seed);
        for (size_t step = 0; step < 600; step++) {
            check_step(step);
            run.now += rng_below(&run.rng, 4000) * MILLISECOND;
            if (rng_chance(&run.rng, 30))
                report_cache(&run.targets[rng_below(&run.rng, TARGETS)]);
            if (rng_chance(&run.rng, 2)) /* a long silence */
                run.now += 30 * SECOND;
            if (run.open_count > 0 && rng_chance(&run.rng, 45))
                settle_oldest();
            ask_for_cache();
        }
        lbroute_router_destroy(run.router);
    }
    CHECK(run.decided[LBROUTE_RULE_LMCACHE_AWARE] > 1000);
    CHECK(run.decided[LBROUTE_RULE_LMCACHE_ROOM] > 1000);
    CHECK(run.decided[LBROUTE_RULE_LEAST_CONNECTIONS] > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adapters_like_the_model),
        cmocka_unit_test(caches_like_the_model),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
