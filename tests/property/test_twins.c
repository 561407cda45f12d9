/* SPDX-License-Identifier: MIT */
/*
 * Same calls and same seed give the same decisions, whatever the lock, the
 * heap and the questions asked in between.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "prng.h"
#include "twins.h"

enum { STEPS = 6000, PROGRAMS = 20 };

static void run_all(twins_question *question)
{
    const char *strategy;
    for (size_t i = 0; (strategy = lbroute_strategy_name(i)) != NULL; i++) {
        for (uint64_t program = 1; program <= PROGRAMS; program++) {
            const uint64_t seeds[2] = {program, program};
            size_t picks = 0;
            size_t same = twins_run(strategy, seeds, program, scaled(STEPS),
                                    question, &picks);
            CHECK_U(same, picks);
        }
    }
}

static void same_calls_same_decisions(void **state)
{
    (void)state;
    run_all(NULL);
}

/* Where chance takes part, another seed decides otherwise; where it does not,
 * the seed is of no consequence. */
static void other_seeds_decide_otherwise(void **state)
{
    (void)state;
    static const char *const by_chance[] = {"random", "power_of_two",
                                            "least_connections"};
    static const char *const exact[] = {"weighted", "round_robin"};
    const uint64_t seeds[2] = {1, 2};
    size_t picks = 0;
    for (size_t i = 0; i < sizeof by_chance / sizeof by_chance[0]; i++) {
        size_t same = twins_run(by_chance[i], seeds, 1, 2000, NULL, &picks);
        CHECK(picks - same > picks / 10);
    }
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        size_t same = twins_run(exact[i], seeds, 1, 2000, NULL, &picks);
        CHECK_U(same, picks);
    }
}

/* In a pool, or (pool 0) across both. */
static void ask_explain(lbroute_router *router, lbroute_pool pool, uint64_t now)
{
    lbroute_request request;
    lbroute_decision decision;
    lbroute_candidate candidates[4];
    size_t count = 0;
    api_request(&request, pool);
    api_set_session(&request, "asked");
    request.model = "m";
    request.model_len = pool ? 0 : 1;
    request.prompt = "aaaaaaaaaaaaaaaa asked";
    request.prompt_len = 22;
    (void)api_explain(router, &request, now, &decision, candidates, 4, &count);

    char name[64];
    char value[300];
    size_t name_len = 0;
    size_t value_len = 0;
    for (size_t i = 0; i < 10; i++)
        (void)lbroute_decision_header(router, &decision, i, name, sizeof name,
                                      &name_len, value, sizeof value,
                                      &value_len);
}

static void ask_shares(lbroute_router *router, lbroute_pool pool, uint64_t now)
{
    lbroute_share shares[2];
    size_t count = 0;
    lbroute_share_init(&shares[0], sizeof shares[0]);
    lbroute_share_init(&shares[1], sizeof shares[1]);
    CHECK_I(lbroute_pool_shares(router, pool, now, shares, 2, &count),
            LBROUTE_OK);
    (void)api_stats(router);
    (void)lbroute_next_deadline(router);
}

/* All targets excluded, or a tier that nobody has. */
static void ask_in_vain(lbroute_router *router, lbroute_pool pool,
                        const lbroute_target *targets, size_t count,
                        uint64_t now, int by_tier)
{
    lbroute_request request;
    lbroute_decision decision;
    api_request(&request, pool);
    api_set_session(&request, "a");
    request.prompt = "bbbbbbbbbbbbbbbb in vain";
    request.prompt_len = 24;
    if (by_tier) {
        request.tier = "nobody";
        request.tier_len = 6;
    } else {
        request.exclude = targets;
        request.exclude_len = count;
    }
    lbroute_decision_init(&decision, sizeof decision);
    CHECK_I(lbroute_pick(router, &request, now, &decision),
            LBROUTE_ERR_NO_TARGET);
}

static void ask_wrongly(lbroute_router *router, lbroute_pool pool,
                        lbroute_target target, uint64_t now)
{
    CHECK_I(lbroute_target_set_weight(router, target, -1, now),
            LBROUTE_ERR_RANGE);
    CHECK_I(lbroute_set_gauge(router, target, LBROUTE_GAUGE_RUNNING, -1, now),
            LBROUTE_ERR_RANGE);
    CHECK_I(lbroute_pool_set(router, pool, "session.ttl", -1),
            LBROUTE_ERR_RANGE);
    CHECK_I(api_observe(router, 0, LBROUTE_EVENT_FAILURE, now),
            LBROUTE_ERR_NOT_FOUND);
}

/* The same settings again: a host that re-applies its configuration. */
static void apply_again(lbroute_router *router, lbroute_pool pool,
                        lbroute_target target, uint64_t now)
{
    lbroute_target_info info;
    lbroute_target_info_init(&info, sizeof info);
    CHECK_I(lbroute_target_get_info(router, target, &info), LBROUTE_OK);
    lbroute_target_options options;
    api_target_options(&options, info.pool, info.name, info.weight);
    options.max_concurrency = info.max_concurrency;
    options.model = info.model;
    options.model_len = strlen(info.model);
    CHECK_I(lbroute_target_update(router, target, &options, now), LBROUTE_OK);
    CHECK_I(lbroute_target_set_weight(router, target, info.weight, now),
            LBROUTE_OK);
    CHECK_I(lbroute_target_drain(router, target, info.draining, now),
            LBROUTE_OK);

    lbroute_pool_info pool_info;
    lbroute_pool_info_init(&pool_info, sizeof pool_info);
    CHECK_I(lbroute_pool_get_info(router, pool, &pool_info), LBROUTE_OK);
    CHECK_I(lbroute_pool_update(router, pool, pool_info.strategy,
                                strlen(pool_info.strategy)),
            LBROUTE_OK);
    double value = 0;
    CHECK_I(lbroute_pool_get(router, pool, "session.ttl", &value), LBROUTE_OK);
    api_set(router, pool, "session.ttl", value);
}

static void ask_anything(lbroute_router *router, lbroute_pool pool,
                         const lbroute_target *targets, size_t count,
                         uint64_t now, uint64_t choice)
{
    lbroute_target target = targets[(choice >> 8) % count];
    uint64_t later = now + 1000 * SECOND;
    switch (choice % 11) {
    case 0:
        ask_explain(router, pool, now);
        break;
    case 1:
        ask_explain(router, pool, later);
        break;
    case 2:
        ask_shares(router, pool, later);
        break;
    case 3:
        (void)api_target_stats(router, target, later);
        break;
    case 4:
        ask_in_vain(router, pool, targets, count, now, 0);
        break;
    case 5:
        ask_in_vain(router, pool, targets, count, now, 1);
        break;
    case 6:
        ask_wrongly(router, pool, target, now);
        break;
    case 9:
        ask_explain(router, 0, now);
        break;
    case 10:
        ask_explain(router, 0, later);
        break;
    case 7:
        apply_again(router, pool, target, now);
        break;
    default:
        (void)api_target_stats(router, target, now);
        break;
    }
}

static void questions_leave_no_trace(void **state)
{
    (void)state;
    run_all(ask_anything);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_calls_same_decisions),
        cmocka_unit_test(other_seeds_decide_otherwise),
        cmocka_unit_test(questions_leave_no_trace),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
