/* SPDX-License-Identifier: MIT */
/*
 * Filters and reject reasons: every combination on one target, random fleets
 * against the naive model, and requests that name a model served by several
 * pools.
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
#include "model.h"
#include "prng.h"

enum { FILTERS = 7, GOLD = 1, SILVER = 2, POOLS = 3 };

static struct model model;
static struct rng rng;

/* --- Every combination of filters on one target ------------------------- */

static int fails(unsigned filters, int reason)
{
    return (int)((filters >> (reason - 1)) & 1);
}

static lbroute_target add_labelled(lbroute_router *router, lbroute_pool pool,
                                   const char *name, int tier, int serves)
{
    lbroute_target_options options;
    api_target_options(&options, pool, name, 1);
    options.tier = model_label(tier);
    options.tier_len = strlen(options.tier);
    options.model = model_label(serves);
    options.model_len = strlen(options.model);
    options.max_concurrency = serves ? 1 : 0;
    options.max_input_tokens = serves ? 100 : 0;
    lbroute_target target = 0;
    CHECK_I(lbroute_target_add(router, &options, 0, &target), LBROUTE_OK);
    return target;
}

static void fill(struct model_request *request, lbroute_request *out,
                 lbroute_pool pool, int tier, int asked, int64_t tokens)
{
    memset(request, 0, sizeof *request);
    request->pool = pool;
    request->tier = tier;
    request->model = asked;
    request->tokens = tokens;
    model_fill_request(request, out);
}

static void make_unfit(lbroute_router *router, lbroute_target target,
                       unsigned filters)
{
    if (fails(filters, LBROUTE_REASON_DRAINING))
        CHECK_I(lbroute_target_drain(router, target, 1, 0), LBROUTE_OK);
    if (fails(filters, LBROUTE_REASON_BENCHED))
        CHECK_I(lbroute_target_bench(router, target, SECOND, 0), LBROUTE_OK);
}

static int lowest(unsigned filters)
{
    for (int reason = 1; reason <= FILTERS; reason++) {
        if (fails(filters, reason))
            return reason;
    }
    return LBROUTE_REASON_NONE;
}

/* The helpers are eligible always, so that a bench is never ignored. */
static void check_verdict(unsigned filters)
{
    lbroute_router *router = api_router(1);
    lbroute_pool pool = api_pool(router, "pool", "weighted");
    lbroute_target target = add_labelled(router, pool, "it", GOLD, 1);
    add_labelled(router, pool, "gold helper", GOLD, 0);
    add_labelled(router, pool, "silver helper", SILVER, 0);
    struct model_request request;
    lbroute_request asked;
    lbroute_decision decision;
    if (fails(filters, LBROUTE_REASON_SATURATED)) {
        fill(&request, &asked, pool, GOLD, 1, 1);
        api_pick(router, &asked, 0, &decision);
        CHECK_U(decision.target, target);
    }
    make_unfit(router, target, filters);
    fill(&request, &asked, pool,
         fails(filters, LBROUTE_REASON_TIER) ? SILVER : GOLD,
         fails(filters, LBROUTE_REASON_MODEL) ? 2 : 1,
         fails(filters, LBROUTE_REASON_TOO_LARGE) ? 101 : 100);
    asked.exclude = &target;
    asked.exclude_len = (size_t)fails(filters, LBROUTE_REASON_EXCLUDED);

    lbroute_candidate candidates[3];
    size_t count = 0;
    CHECK_I(api_explain(router, &asked, 0, &decision, candidates, 3, &count),
            LBROUTE_OK);
    CHECK_U(count, 3);
    for (size_t i = 0; i < count; i++) {
        if (candidates[i].target == target)
            CHECK_I(candidates[i].verdict, lowest(filters));
    }
    lbroute_router_destroy(router);
}

static void the_first_filter_gives_the_verdict(void **state)
{
    (void)state;
    for (unsigned filters = 0; filters < 1u << FILTERS; filters++) {
        check_context("filters", filters);
        check_verdict(filters);
    }
}

/* An unknown number of tokens is taken to be a quarter of the prompt's bytes;
 * a known one counts as it is. */
static void unknown_input_is_estimated(void **state)
{
    (void)state;
    static const struct {
        size_t bytes;
        int64_t tokens;
        int fits;
    } cases[] = {{0, -1, 1},   {399, -1, 1}, {400, -1, 1},
                 {404, -1, 0}, {404, 1, 1},  {404, 100, 1},
                 {0, 100, 1},  {0, 101, 0},  {400, 101, 0}};
    static const char prompt[404];
    check_context("tokens", 0);
    lbroute_router *router = api_router(1);
    lbroute_pool pool = api_pool(router, "pool", "weighted");
    lbroute_target_options options;
    lbroute_target target = 0;
    api_target_options(&options, pool, "it", 1);
    options.max_input_tokens = 100;
    CHECK_I(lbroute_target_add(router, &options, 0, &target), LBROUTE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lbroute_request request;
        lbroute_decision decision;
        check_step(i);
        api_request(&request, pool);
        request.prompt = prompt;
        request.prompt_len = cases[i].bytes;
        request.input_tokens = cases[i].tokens;
        lbroute_decision_init(&decision, sizeof decision);
        CHECK_I(lbroute_pick(router, &request, 0, &decision),
                cases[i].fits ? LBROUTE_OK : LBROUTE_ERR_NO_TARGET);
        CHECK_I(decision.reason,
                cases[i].fits ? LBROUTE_REASON_NONE : LBROUTE_REASON_TOO_LARGE);
    }
    lbroute_router_destroy(router);
}

/* --- Random fleets ------------------------------------------------------- */

static int draw_label(uint32_t percent)
{
    return rng_chance(&rng, percent)
               ? (int)rng_between(&rng, 1, MODEL_LABELS - 1)
               : 0;
}

static void add_random(lbroute_router *router, const lbroute_pool *pools,
                       uint32_t number)
{
    static const double weights[] = {1, 2, 0.1, 0};
    lbroute_pool pool = rng_chance(&rng, 10) ? 0 : pools[rng_below(&rng, 3)];
    struct model_target *target =
        model_add(&model, 0, pool, weights[rng_below(&rng, 4)]);
    target->max_concurrency = rng_chance(&rng, 50) ? 1 : 0;
    target->max_input_tokens = rng_chance(&rng, 30) ? 50 : 0;
    target->tier = draw_label(30);
    target->serves = draw_label(50);

    char name[32];
    snprintf(name, sizeof name, "target %u", number);
    lbroute_target_options options;
    api_target_options(&options, pool, name, target->weight);
    options.max_concurrency = target->max_concurrency;
    options.max_input_tokens = target->max_input_tokens;
    options.tier = model_label(target->tier);
    options.tier_len = strlen(options.tier);
    options.model = model_label(target->serves);
    options.model_len = strlen(options.model);
    CHECK_I(lbroute_target_add(router, &options, 0, &target->handle),
            LBROUTE_OK);
}

static void make_some_unfit(lbroute_router *router, uint32_t percent)
{
    for (size_t i = 0; i < model.target_count; i++) {
        struct model_target *target = &model.targets[i];
        if (rng_chance(&rng, percent)) {
            target->drained = 1;
            CHECK_I(lbroute_target_drain(router, target->handle, 1, 0),
                    LBROUTE_OK);
        }
        if (rng_chance(&rng, percent)) {
            model_bench(&model, i, SECOND);
            CHECK_I(lbroute_target_bench(router, target->handle, SECOND, 0),
                    LBROUTE_OK);
        }
    }
}

static void draw_request(const lbroute_pool *pools,
                         struct model_request *request)
{
    memset(request, 0, sizeof *request);
    request->pool = pools[rng_below(&rng, POOLS)];
    request->model = draw_label(40);
    request->tier = draw_label(30);
    request->tokens = rng_chance(&rng, 50) ? 51 : 50;
    if (rng_chance(&rng, 25)) {
        request->pool = 0;
        request->model = draw_label(100);
    }
    for (uint32_t i = rng_below(&rng, 5); i > 0 && model.target_count > 0; i--)
        request->exclude[request->exclude_len++] =
            model.targets[rng_below(&rng, (uint32_t)model.target_count)].handle;
}

static void check_candidates(const lbroute_candidate *candidates, size_t count,
                             const struct model_view *view)
{
    CHECK_U(count, view->candidates);
    for (size_t i = 0; i < count; i++) {
        size_t place = model_find(&model, candidates[i].target);
        CHECK(place < MODEL_TARGETS);
        CHECK_I(candidates[i].verdict, view->verdicts[place]);
    }
}

static void check_rejection(const lbroute_decision *decision,
                            const struct model_view *view)
{
    uint32_t sum = 0;
    for (int i = 1; i < LBROUTE_REASON_NO_TARGETS; i++) {
        CHECK_U(decision->reasons[i], view->reasons[i]);
        sum += decision->reasons[i];
    }
    CHECK_U(sum, decision->candidates);
    CHECK_U(decision->target, 0);
    CHECK_U(decision->in_flight, view->in_flight);
    CHECK_U(decision->max_concurrency, view->limit);
    CHECK(model_main_reason(view, decision->reason));
}

static void ask(lbroute_router *router, const lbroute_pool *pools)
{
    static lbroute_candidate candidates[MODEL_TARGETS];
    struct model_request request;
    struct model_view view;
    lbroute_request asked;
    lbroute_decision decision;
    size_t count = 0;
    draw_request(pools, &request);
    model_look(&model, &request, &view);
    model_fill_request(&request, &asked);
    int result = api_explain(router, &asked, 0, &decision, candidates,
                             MODEL_TARGETS, &count);
    check_candidates(candidates, count, &view);
    CHECK_I(lbroute_pick(router, &asked, 0, &decision), result);
    CHECK_U(decision.candidates, view.candidates);
    CHECK_U(decision.eligible, view.eligible);
    CHECK_I(decision.bench_ignored, view.bench_ignored);
    CHECK_I(result, model_result(&view));
    if (view.eligible == 0) {
        check_rejection(&decision, &view);
        return;
    }
    size_t place = model_find(&model, decision.target);
    CHECK(place < MODEL_TARGETS);
    CHECK_I(view.verdicts[place], LBROUTE_REASON_NONE);
    if (view.mixed)
        CHECK_I(decision.rule, LBROUTE_RULE_WEIGHTED);
    model_pick(&model, place, decision.ticket);
}

static void run_fleet(uint64_t seed, uint32_t most)
{
    check_context("a random fleet", seed);
    rng_seed(&rng, seed);
    model_init(&model);
    lbroute_router *router = api_router(seed + 1);
    lbroute_pool pools[POOLS];
    pools[0] = api_pool(router, "a", "least_connections");
    pools[1] = api_pool(router, "b", "consistent_hash");
    pools[2] = api_pool(router, "c", "weighted");
    uint32_t count = rng_below(&rng, most + 1);
    for (uint32_t i = 0; i < count; i++)
        add_random(router, pools, i);
    make_some_unfit(router, rng_below(&rng, 90));
    for (uint32_t i = 0; i < 10 + count; i++) {
        check_step(i);
        ask(router, pools);
    }
    lbroute_router_destroy(router);
}

static void random_fleets(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scaled(600); seed++)
        run_fleet(seed, seed % 10 == 0 ? 200 : 12);
}

/* --- A model that several pools serve ------------------------------------ */

static void add_server(lbroute_router *router, lbroute_pool pool,
                       uint32_t number)
{
    char name[32];
    snprintf(name, sizeof name, "target %u", number);
    double weight = rng_between(&rng, 1, 30) / 10.0;
    lbroute_target_options options;
    api_target_options(&options, pool, name, weight);
    options.model = model_label(1);
    options.model_len = strlen(options.model);
    struct model_target *target = model_add(&model, 0, pool, weight);
    target->serves = 1;
    CHECK_I(lbroute_target_add(router, &options, 0, &target->handle),
            LBROUTE_OK);
}

static void change_server(lbroute_router *router, size_t place)
{
    struct model_target *target = &model.targets[place];
    if (rng_chance(&rng, 50)) {
        double before = target->weight;
        model_set_weight(target, rng_between(&rng, 1, 30) / 10.0);
        if (target->weight < before)
            model_clamp(&model, target->tier);
        CHECK_I(lbroute_target_set_weight(router, target->handle,
                                          target->weight, 0),
                LBROUTE_OK);
    } else {
        target->drained = !target->drained;
        CHECK_I(
            lbroute_target_drain(router, target->handle, target->drained, 0),
            LBROUTE_OK);
    }
}

static void pick_by_model(lbroute_router *router)
{
    struct model_request request;
    struct model_view view;
    lbroute_request asked;
    lbroute_decision decision;
    fill(&request, &asked, 0, 0, 1, -1);
    model_look(&model, &request, &view);
    CHECK(view.mixed);
    size_t place = model_weighted(&model, &view);
    lbroute_decision_init(&decision, sizeof decision);
    int result = lbroute_pick(router, &asked, 0, &decision);
    if (place == MODEL_TARGETS) {
        CHECK_I(result, LBROUTE_ERR_NO_TARGET);
        return;
    }
    CHECK_I(result, LBROUTE_OK);
    CHECK_I(decision.rule, LBROUTE_RULE_WEIGHTED);
    CHECK_U(decision.pool, 0);
    CHECK_U(decision.target, model.targets[place].handle);
    model_weighted_done(&model, &view, place);
    api_settle(router, decision.ticket, LBROUTE_EVENT_SUCCESS, 0);
}

/* The last target belongs to no pool; with it the candidates are mixed. */
static void run_mixed(uint64_t seed)
{
    check_context("mixed pools", seed);
    rng_seed(&rng, seed);
    model_init(&model);
    lbroute_router *router = api_router(seed);
    lbroute_pool pools[POOLS];
    pools[0] = api_pool(router, "a", "random");
    pools[1] = api_pool(router, "b", "consistent_hash");
    pools[2] = api_pool(router, "c", "weighted");
    uint32_t count = rng_between(&rng, 1, 30);
    for (uint32_t i = 0; i < count; i++)
        add_server(router, pools[rng_below(&rng, POOLS)], i);
    add_server(router, 0, count);
    for (size_t i = 0; i < 1000; i++) {
        check_step(i);
        if (rng_chance(&rng, 10))
            change_server(router, rng_below(&rng, count + 1));
        pick_by_model(router);
    }
    lbroute_router_destroy(router);
}

static void several_pools_are_weighted(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scaled(40); seed++)
        run_mixed(seed);
}

/* All in one pool: its strategy decides, whatever the request names. */
static void one_pool_keeps_its_strategy(void **state)
{
    (void)state;
    check_context("a model of one pool", 0);
    rng_seed(&rng, 1);
    model_init(&model);
    lbroute_router *router = api_router(1);
    lbroute_pool pool = api_pool(router, "a", "round_robin");
    for (uint32_t i = 0; i < 3; i++)
        add_server(router, pool, i);
    struct model_request request;
    lbroute_request asked;
    lbroute_decision decision;
    for (size_t i = 0; i < 12; i++) {
        fill(&request, &asked, i % 2 ? pool : 0, 0, 1, -1);
        api_pick(router, &asked, 0, &decision);
        CHECK_I(decision.rule, LBROUTE_RULE_ROUND_ROBIN);
        CHECK_U(decision.pool, pool);
        CHECK_U(decision.target, model.targets[i % 3].handle);
    }
    lbroute_router_destroy(router);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_filter_gives_the_verdict),
        cmocka_unit_test(unknown_input_is_estimated),
        cmocka_unit_test(random_fleets),
        cmocka_unit_test(several_pools_are_weighted),
        cmocka_unit_test(one_pool_keeps_its_strategy),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
