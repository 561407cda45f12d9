/* SPDX-License-Identifier: MIT */
/*
 * The trie that is shared among clients against a naive model of what is fair,
 * after every operation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"
#include "prng.h"
#include "shares_model.h"

static struct shares_model model;
static uint64_t blocks[SHARES_LONGEST];

/* ---- prompts ---- */

enum style { TINY, HEADS, APART, LONG };

struct plan {
    const char *what;
    enum style style;
    uint32_t owners, clients, steps;
    uint64_t capacity;
    uint32_t most_clients;
    int ended;   /* no prompt is a prefix of another, and all fit */
    int changes; /* of capacity, idle time and bound, and purges */
};

static size_t fill(struct rng *rng, size_t from, size_t to, uint32_t letters)
{
    for (size_t i = from; i < to; i++)
        blocks[i] = 1 + rng_below(rng, letters);
    return to;
}

static size_t fill_heads(struct rng *rng)
{
    struct rng fixed;
    uint32_t head = rng_below(rng, 3);
    size_t length = 4 + 5 * (size_t)head;

    rng_seed(&fixed, head + 1);
    fill(&fixed, 0, length, 1000);
    return fill(rng, length, length + rng_below(rng, 8), 3);
}

/* A prefix of a known prompt, or more of it, or one that parts from it; without
 * its last block if that is what |ended| it. */
static size_t fill_related(struct rng *rng, int ended, uint64_t *root)
{
    const struct shares_prompt *from =
        &model.prompts[rng_below(rng, (uint32_t)model.prompt_count)];
    size_t length = rng_below(rng, (uint32_t)from->length) + !ended;

    *root = from->root;
    memcpy(blocks, from->blocks, 8 * length);
    if ((rng_chance(rng, 60) || length == 0) && length + 6 < SHARES_LONGEST)
        length = fill(rng, length, length + 1 + rng_below(rng, 5), 3);
    return length;
}

static size_t fill_prompt(struct rng *rng, const struct plan *plan,
                          uint64_t *root)
{
    *root = rng_below(rng, 2);
    if (model.prompt_count > 0 && plan->style != APART && rng_chance(rng, 40))
        return fill_related(rng, plan->ended, root);
    switch (plan->style) {
    case TINY:
        return fill(rng, 0, 1 + rng_below(rng, 6), 3);
    case HEADS:
        return fill_heads(rng);
    case APART:
        blocks[0] = 1000000 + model.prompt_count;
        return fill(rng, 1, 1 + rng_below(rng, 9), 2);
    default:
        return fill(rng, 0, 1 + rng_below(rng, SHARES_LONGEST - 10), 1);
    }
}

static size_t draw_prompt(struct rng *rng, const struct plan *plan)
{
    uint64_t root;
    size_t length;

    if (model.prompt_count > 0 && rng_chance(rng, 45))
        return rng_below(rng, (uint32_t)model.prompt_count);
    length = fill_prompt(rng, plan, &root);
    if (plan->ended)
        blocks[length - 1] = 2000000 + model.prompt_count;
    if (!shares_model_has_place(&model, length))
        return rng_below(rng, (uint32_t)model.prompt_count);
    return shares_model_prompt(&model, root, blocks, length);
}

/* ---- operations ---- */

static void change(struct rng *rng, const struct plan *plan)
{
    struct lbr_share_rules *rules = &model.rules;

    switch (rng_below(rng, 4)) {
    case 0:
        rules->capacity = rng_chance(rng, 50)
                              ? plan->capacity
                              : rng_below(rng, (uint32_t)plan->capacity + 1);
        break;
    case 1:
        rules->idle = 1 + rng_below(rng, 2000);
        break;
    case 2:
        rules->most_clients = 1 + rng_below(rng, SHARES_CLIENTS);
        break;
    default:
        shares_model_purge(&model, rng_below(rng, plan->owners));
        break;
    }
}

static void step(struct rng *rng, const struct plan *plan)
{
    model.now += rng_chance(rng, 4) ? rng_below(rng, 3000) : rng_below(rng, 40);
    if (plan->changes && rng_chance(rng, 5))
        change(rng, plan);
    else
        shares_model_record(&model, draw_prompt(rng, plan),
                            rng_below(rng, plan->owners),
                            rng_below(rng, plan->clients));
}

static struct lbr_share_rules rules_of(const struct plan *plan)
{
    struct lbr_share_rules rules = {plan->capacity, 1000, plan->most_clients};

    return rules;
}

static void run_plan(const struct plan *plan, uint64_t seed)
{
    struct rng rng;

    check_context(plan->what, seed);
    rng_seed(&rng, seed);
    shares_model_open(&model, plan->owners, rules_of(plan));
    model.timely = plan->ended;
    for (uint32_t i = 0; i < plan->steps; i++) {
        check_step(i);
        step(&rng, plan);
    }
    shares_model_close(&model);
}

static void run_plans(const struct plan *plans, size_t count, size_t seeds)
{
    for (size_t i = 0; i < count; i++)
        for (uint64_t seed = 1; seed <= seeds; seed++)
            run_plan(&plans[i], seed);
}

static void shares_are_fair(void **state)
{
    (void)state;
    static const struct plan plans[] = {
        {"lone client", TINY, 1, 1, 150, 12, 64, 0, 0},
        {"two clients", TINY, 1, 2, 150, 12, 64, 0, 0},
        {"few clients", TINY, 2, 4, 150, 20, 64, 0, 0},
        {"all clients", TINY, 2, SHARES_CLIENTS, 150, 30, 64, 0, 0},
        {"heads", HEADS, 2, 5, 150, 40, 64, 0, 0},
        {"crowded heads", HEADS, 3, SHARES_CLIENTS, 150, 25, 64, 0, 0},
        {"nothing shared", APART, 1, 6, 150, 50, 64, 0, 0},
        {"hardly any room", HEADS, 1, 4, 150, 3, 64, 0, 0},
        {"enough room", HEADS, 4, 6, 100, 5000, 64, 0, 0},
    };
    run_plans(plans, sizeof plans / sizeof plans[0], scaled(30));
}

static void rules_may_change(void **state)
{
    (void)state;
    static const struct plan plans[] = {
        {"changes", TINY, 2, 5, 200, 20, 64, 0, 1},
        {"changes of heads", HEADS, 3, SHARES_CLIENTS, 200, 40, 64, 0, 1},
        {"changes apart", APART, 1, 6, 200, 50, 64, 0, 1},
    };
    run_plans(plans, sizeof plans / sizeof plans[0], scaled(40));
}

static void more_clients_than_are_told_apart(void **state)
{
    (void)state;
    static const struct plan plans[] = {
        {"one told apart", TINY, 1, 4, 150, 12, 1, 0, 0},
        {"three told apart", HEADS, 2, SHARES_CLIENTS, 200, 40, 3, 0, 0},
        {"three apart", APART, 1, SHARES_CLIENTS, 200, 60, 3, 0, 1},
    };
    run_plans(plans, sizeof plans / sizeof plans[0], scaled(30));
}

static void each_client_loses_its_least_recently_used(void **state)
{
    (void)state;
    static const struct plan plans[] = {
        {"ended", TINY, 1, 1, 200, 60, 64, 1, 0},
        {"ended, four clients", TINY, 1, 4, 200, 60, 64, 1, 0},
        {"ended heads", HEADS, 2, 3, 200, 100, 64, 1, 0},
    };
    run_plans(plans, sizeof plans / sizeof plans[0], scaled(20));
}

static void long_prompts_take_several_nodes(void **state)
{
    (void)state;
    static const struct plan plans[] = {
        {"long", LONG, 1, 3, 40, 3000, 64, 0, 0},
        {"long, two owners", LONG, 2, 4, 40, 6000, 64, 0, 1},
    };
    run_plans(plans, sizeof plans / sizeof plans[0], scaled(6));
}

/* ---- failing allocations ---- */

/* Returns whether the allocation was asked for. */
static int run_failing(const struct plan *plan, uint64_t seed, uint64_t fail_at)
{
    struct rng rng;
    int failed;

    check_context(plan->what, fail_at);
    rng_seed(&rng, seed);
    shares_model_open(&model, plan->owners, rules_of(plan));
    model.heap.fail_at = fail_at;
    for (uint32_t i = 0; i < plan->steps; i++) {
        check_step(i);
        step(&rng, plan);
    }
    failed = model.heap.failures > 0;
    shares_model_close(&model);
    return failed;
}

static void every_allocation_may_fail_once(void **state)
{
    (void)state;
    static const struct plan plans[] = {
        {"failing", TINY, 2, 4, 120, 20, 64, 0, 1},
        {"failing heads", HEADS, 3, SHARES_CLIENTS, 120, 60, 4, 0, 1},
        {"failing, all clients", HEADS, 1, SHARES_CLIENTS, 120, 400, 64, 0, 0},
    };
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            for (uint64_t at = 1; run_failing(&plans[i], seed, at); at++)
                CHECK(at < 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_fair),
        cmocka_unit_test(rules_may_change),
        cmocka_unit_test(more_clients_than_are_told_apart),
        cmocka_unit_test(each_client_loses_its_least_recently_used),
        cmocka_unit_test(long_prompts_take_several_nodes),
        cmocka_unit_test(every_allocation_may_fail_once),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
