/* SPDX-License-Identifier: MIT */
/*
 * pick + observe for each strategy that the library knows:
 *
 *     pick.STRATEGY.N             one thread, the lock on
 *     pick.STRATEGY.N.unlocked    a router for one thread only
 *     pick.STRATEGY.N.2threads    two threads on one router
 *     pick.STRATEGY.N.2routers    two threads, a router each
 *
 * and weighted.distinct10.N: the weighted rule with ten different weights;
 * pick.cache_aware.chat.N, .128k.N, .text.N, the same of kv_aware,
 * pick.least_work.chat.N, and
 * pick.cache_aware.blocks.chat.N: requests with prompts.
 */
#include "fleet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void *open_pick(const bench_case *test)
{
    return bench_fleet_open(test);
}

static void work_pick(void *fixture, unsigned lane_number, uint64_t operations)
{
    bench_fleet *fleet = fixture;
    bench_lane *lane = fleet->lanes[lane_number];

    for (uint64_t i = 0; i < operations; i++)
        bench_lane_step(lane);
    bench_keep(lane->decision.ticket);
}

static void close_pick(void *fixture)
{
    bench_fleet_close(fixture);
}

static const bench_kind pick = {
    .open = open_pick, .work = work_pick, .close = close_pick};

/* Promise for the rules that look at nothing but weight and load. */
static void set_budget(bench_case *test)
{
    static const char *const rules[] = {"weighted", "round_robin", "random",
                                        "power_of_two", "least_connections"};

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(test->strategy, rules[i]) == 0) {
            if (test->targets == 10)
                test->budget_ns = 60;
            else if (test->targets == 100)
                test->budget_ns = 80;
            else if (test->targets == 1000)
                test->budget_ns = 300;
        }
}

static bench_case *add_pick(bench_list *list, const char *name,
                            const char *strategy, size_t targets,
                            const char *variant)
{
    bench_case *test = bench_list_add_sized(list, &pick, name, targets);

    bench_case_vary(test, variant);
    test->strategy = strategy;
    return test;
}

static bench_case *add_single(bench_list *list, const char *name,
                              const char *strategy, size_t targets,
                              int unlocked)
{
    bench_case *test =
        add_pick(list, name, strategy, targets, unlocked ? ".unlocked" : "");

    test->unlocked = unlocked;
    set_budget(test);
    if (strcmp(strategy, "weighted") == 0)
        bench_case_compare(test, BENCH_COMPARE_TIME, "peer.nginx_swrr");
    return test;
}

static bench_case *add_threads(bench_list *list, const char *name,
                               const char *strategy, size_t targets,
                               unsigned routers)
{
    bench_case *test = add_pick(list, name, strategy, targets,
                                routers == 1 ? ".2threads" : ".2routers");

    test->lanes = 2;
    test->routers = routers;
    bench_case_compare(test, BENCH_COMPARE_THROUGHPUT, name);
    return test;
}

static void add_strategy(bench_list *list, const char *strategy)
{
    char name[BENCH_NAME_MAX];

    snprintf(name, sizeof name, "pick.%s", strategy);
    for (size_t i = 0; i < BENCH_SIZES; i++) {
        add_single(list, name, strategy, bench_sizes[i], 0);
        add_single(list, name, strategy, bench_sizes[i], 1);
        add_threads(list, name, strategy, bench_sizes[i], 1);
        add_threads(list, name, strategy, bench_sizes[i], 2);
    }
}

static void add_distinct_weights(bench_list *list, size_t targets)
{
    bench_case *test =
        add_pick(list, "weighted.distinct10", "weighted", targets, "");

    test->distinct_weights = 10;
    set_budget(test);
    bench_case_compare(test, BENCH_COMPARE_TIME, "peer.nginx_swrr");
}

void bench_suite_pick(bench_list *list)
{
    for (size_t i = 0; i < BENCH_SIZES; i++)
        add_distinct_weights(list, bench_sizes[i]);
    for (size_t i = 0; lbroute_strategy_name(i) != NULL; i++)
        add_strategy(list, lbroute_strategy_name(i));
}

typedef struct prompt_row {
    const char *name;
    const char *strategy;
    int blocks;
    bench_prompt_kind kind;
    double budgets_ns[BENCH_PROMPT_SIZES]; /* of one thread */
    double least_throughput;               /* of two on one router */
} prompt_row;

static void add_prompts(bench_list *list, const prompt_row *row,
                        const bench_text *text)
{
    for (size_t i = 0; i < BENCH_PROMPT_SIZES; i++)
        for (unsigned routers = 0; routers <= 2; routers++) {
            size_t targets = bench_prompt_sizes[i];
            bench_case *test =
                routers == 0
                    ? add_single(list, row->name, row->strategy, targets, 0)
                    : add_threads(list, row->name, row->strategy, targets,
                                  routers);

            test->prompts = row->kind;
            test->blocks = row->blocks;
            test->text = text;
            if (routers == 0)
                test->budget_ns = row->budgets_ns[i];
            else if (routers == 1)
                test->least_throughput = row->least_throughput;
        }
}

/* What least_work decides by takes part in every size of fleet. */
static void add_work(bench_list *list)
{
    const char *strategy = "least_work";

    for (size_t i = 0; i < BENCH_SIZES - 1; i++) {
        bench_case *test = add_single(list, "pick.least_work.chat", strategy,
                                      bench_sizes[i], 0);

        test->prompts = BENCH_PROMPTS_CHAT;
        if (bench_sizes[i] <= 100)
            test->budget_ns = 1000;
    }
}

void bench_suite_prompts(bench_list *list, const bench_text *text)
{
    const double none = (double)NAN;
    const prompt_row rows[] = {
        {"pick.cache_aware.chat",
         "cache_aware",
         0,
         BENCH_PROMPTS_CHAT,
         {600, 1200, 1200},
         1.6},
        {"pick.cache_aware.blocks.chat",
         "cache_aware",
         1,
         BENCH_PROMPTS_CHAT,
         {none, none, none},
         1.6},
        {"pick.kv_aware.chat",
         "kv_aware",
         0,
         BENCH_PROMPTS_CHAT,
         {none, none, none},
         1.6},
        {"pick.cache_aware.128k",
         "cache_aware",
         0,
         BENCH_PROMPTS_HOT,
         {10000, 10000, 10000},
         0},
        {"pick.kv_aware.128k",
         "kv_aware",
         0,
         BENCH_PROMPTS_HOT,
         {none, none, none},
         0},
        {"pick.cache_aware.text",
         "cache_aware",
         0,
         BENCH_PROMPTS_TEXT,
         {none, none, none},
         0},
        {"pick.kv_aware.text",
         "kv_aware",
         0,
         BENCH_PROMPTS_TEXT,
         {none, none, none},
         0},
    };

    add_work(list);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (text != NULL || rows[i].kind != BENCH_PROMPTS_TEXT)
            add_prompts(list, &rows[i], text);
}
