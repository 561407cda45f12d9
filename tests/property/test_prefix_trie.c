/* SPDX-License-Identifier: MIT */
/*
 * The prefix trie against a naive model, after every operation; what is evicted
 * against an exact one; and its memory.
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
#include "trie_check.h"
#include "trie_model.h"
#include "trie_prompts.h"

static struct trie_model model;

/* --- Random operations --------------------------------------------------- */

struct plan {
    const char *what;
    enum trie_style style;
    uint32_t unit, owners, steps;
    size_t budget; /* largest; 0: unlimited */
    int ended;     /* no prompt is a prefix of another, and all fit */
};

/* Budgets from nothing to the largest, small ones as often as large ones. */
static size_t draw_budget(struct rng *rng, const struct plan *plan)
{
    if (plan->budget == 0)
        return TRIE_UNLIMITED;
    if (plan->ended || rng_chance(rng, 90))
        return plan->budget;
    uint32_t shift = rng_below(rng, 12);
    return (size_t)rng_next(rng) % ((plan->budget >> shift) + 1);
}

static size_t draw_known(struct rng *rng, const struct plan *plan,
                         enum trie_style style)
{
    if (model.prompt_count == TRIE_PROMPTS ||
        (model.prompt_count > 0 && rng_chance(rng, 50)))
        return rng_below(rng, (uint32_t)model.prompt_count);
    struct trie_draw draw = trie_prompt_draw(&model, rng, style, plan->ended);
    return trie_model_prompt(&model, draw.root, draw.bytes, draw.length);
}

static void step(struct rng *rng, const struct plan *plan)
{
    size_t owner = rng_below(rng, plan->owners);
    enum trie_style style = rng_chance(rng, 50) ? TRIE_RELATED : plan->style;
    uint32_t what = rng_below(rng, 100);

    if (what < 70) {
        size_t prompt = draw_known(rng, plan, style);
        trie_model_record(&model, prompt, owner, draw_budget(rng, plan));
    } else if (what < 97) {
        struct trie_draw draw =
            trie_prompt_draw(&model, rng, style, plan->ended);
        trie_model_probe(&model, draw.root, draw.bytes, draw.length);
    } else {
        trie_model_purge(&model, owner);
    }
}

static void run_plan(const struct plan *plan, uint64_t seed)
{
    struct rng rng;
    check_context(plan->what, seed);
    rng_seed(&rng, seed);
    trie_model_open(&model, plan->unit, plan->owners);
    model.timely = plan->ended;
    for (uint32_t i = 0; i < plan->steps; i++) {
        check_step(i);
        step(&rng, plan);
    }
    for (size_t i = 0; i < plan->owners; i++)
        trie_model_purge(&model, i);
    CHECK_U(model.trie.nodes.live, 0);
    CHECK_U(lbr_arena_used(&model.trie.texts), 0);
    trie_model_close(&model);
}

static void run_plans(const struct plan *plans, size_t count, size_t seeds)
{
    for (size_t i = 0; i < count; i++)
        for (uint64_t seed = 1; seed <= seeds; seed++)
            run_plan(&plans[i], seed);
}

static void held_lengths_are_exact_without_a_limit(void **state)
{
    (void)state;
    static const struct plan plans[] = {
        {"tiny", TRIE_TINY, 1, 1, 200, 0, 0},
        {"tiny, two owners", TRIE_TINY, 1, 2, 200, 0, 0},
        {"tiny hashes", TRIE_TINY, 8, 3, 200, 0, 0},
        {"heads", TRIE_HEADS, 1, 4, 200, 0, 0},
        {"heads of hashes", TRIE_HEADS, 8, 4, 200, 0, 0},
        {"raw", TRIE_RAW, 1, 3, 200, 0, 0},
        {"raw hashes", TRIE_RAW, 8, 3, 200, 0, 0},
    };
    run_plans(plans, sizeof plans / sizeof plans[0], scaled(40));
}

static void budgets_evict_what_is_oldest(void **state)
{
    (void)state;
    static const struct plan plans[] = {
        {"few nodes", TRIE_TINY, 1, 1, 200, 2500, 0},
        {"some nodes", TRIE_TINY, 1, 2, 200, 6000, 0},
        {"some hashes", TRIE_TINY, 8, 3, 200, 6000, 0},
        {"crowded heads", TRIE_HEADS, 1, 4, 200, 4000, 0},
        {"crowded hashes", TRIE_HEADS, 8, 4, 200, 12000, 0},
        {"crowded raw", TRIE_RAW, 1, 3, 200, 3000, 0},
        {"no budget", TRIE_TINY, 1, 2, 50, 1, 0},
    };
    run_plans(plans, sizeof plans / sizeof plans[0], scaled(40));
}

static void ages_are_exact_where_no_prompt_is_a_prefix(void **state)
{
    (void)state;
    static const struct plan plans[] = {
        {"ended", TRIE_TINY, 1, 1, 200, 9000, 1},
        {"ended, three owners", TRIE_TINY, 1, 3, 200, 9000, 1},
        {"ended hashes", TRIE_TINY, 8, 2, 200, 9000, 1},
        {"ended heads", TRIE_HEADS, 1, 3, 200, 9000, 1},
        {"ended raw", TRIE_RAW, 1, 2, 200, 9000, 1},
    };
    run_plans(plans, sizeof plans / sizeof plans[0], scaled(20));
}

static void many_owners_share(void **state)
{
    (void)state;
    static const struct plan plans[] = {
        {"many owners", TRIE_TINY, 1, TRIE_OWNERS, 200, 0, 0},
        {"many in a crowd", TRIE_HEADS, 1, TRIE_OWNERS, 200, 5000, 0},
    };
    run_plans(plans, sizeof plans / sizeof plans[0], scaled(4));
}

static void long_prompts_take_several_nodes(void **state)
{
    (void)state;
    static const struct plan plans[] = {
        {"long", TRIE_LONG, 1, 2, 60, 0, 0},
        {"long and crowded", TRIE_LONG, 1, 3, 60, 300000, 0},
        {"long hashes", TRIE_LONG, 8, 2, 60, 150000, 0},
    };
    run_plans(plans, sizeof plans / sizeof plans[0], scaled(2));
}

/* --- Failing allocations ------------------------------------------------- */

/* Returns whether the allocation was asked for. */
static int run_failing(const struct plan *plan, uint64_t seed, uint64_t fail_at)
{
    struct rng rng;
    check_context(plan->what, fail_at);
    rng_seed(&rng, seed);
    trie_model_open(&model, plan->unit, plan->owners);
    model.heap.fail_at = fail_at;
    for (uint32_t i = 0; i < plan->steps; i++) {
        check_step(i);
        step(&rng, plan);
    }
    int failed = model.heap.failures > 0;
    trie_model_close(&model);
    return failed;
}

static void every_allocation_may_fail_once(void **state)
{
    (void)state;
    static const struct plan plans[] = {
        {"failing", TRIE_TINY, 1, 3, 150, 0, 0},
        {"failing in a crowd", TRIE_HEADS, 8, 3, 150, 60000, 0},
        {"failing on long ones", TRIE_LONG, 1, 2, 30, 400000, 0},
    };
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            for (uint64_t at = 1; run_failing(&plans[i], seed, at); at++)
                CHECK(at < 500);
}

/* --- Eviction, exactly --------------------------------------------------- */

enum { APART = 60, APART_OWNERS = 3, APART_LONGEST = 140 * 1024 };

/* Prompts without a common symbol are laid out in the same runs whoever holds
 * them, so what is held can be told to the byte. */
struct apart {
    struct heap heap;
    struct lbr_memory memory;
    struct lbr_trie trie;
    struct lbr_trie_owner owners[APART_OWNERS];
    size_t lengths[APART];
    size_t held[APART_OWNERS][APART];
    uint64_t times[APART_OWNERS][APART];
};

static struct apart apart;
static unsigned char text[APART_LONGEST];

static size_t cost_of(size_t length)
{
    size_t cost = 0;
    for (; length > TRIE_RUN; length -= TRIE_RUN)
        cost += lbr_trie_cost(TRIE_RUN);
    return length > 0 ? cost + lbr_trie_cost(length) : cost;
}

static size_t apart_charged(size_t owner)
{
    size_t sum = 0;
    for (size_t i = 0; i < APART; i++)
        sum += cost_of(apart.held[owner][i]);
    return sum;
}

static size_t apart_oldest(size_t owner)
{
    size_t oldest = APART;
    for (size_t i = 0; i < APART; i++)
        if (apart.held[owner][i] > 0 &&
            (oldest == APART ||
             apart.times[owner][i] < apart.times[owner][oldest]))
            oldest = i;
    return oldest;
}

/* The last run of the prompt that was recorded longest ago goes first. */
static void apart_record(size_t owner, size_t prompt, uint64_t now,
                         size_t budget)
{
    struct lbr_trie_match match =
        lbr_trie_find(&apart.trie, prompt, text, apart.lengths[prompt]);
    lbr_trie_record(&apart.trie, match, prompt, text, apart.lengths[prompt],
                    &apart.owners[owner], budget);
    apart.held[owner][prompt] = apart.lengths[prompt];
    apart.times[owner][prompt] = now;
    while (apart_charged(owner) > budget) {
        size_t *held = &apart.held[owner][apart_oldest(owner)];
        *held = (*held - 1) / TRIE_RUN * TRIE_RUN;
    }
}

static void apart_check(void)
{
    for (size_t i = 0; i < APART_OWNERS; i++) {
        CHECK_U(apart.owners[i].charged, apart_charged(i));
        for (size_t j = 0; j < APART; j++) {
            struct lbr_trie_match match =
                lbr_trie_find(&apart.trie, j, text, apart.lengths[j]);
            CHECK_U(lbr_trie_held(&apart.trie, match, &apart.owners[i]),
                    apart.held[i][j]);
        }
    }
}

static void apart_start(uint64_t seed, struct rng *rng)
{
    lbroute_router_options options;
    check_context("apart", seed);
    memset(&apart, 0, sizeof apart);
    lbroute_router_options_init(&options, sizeof options);
    heap_attach(&apart.heap, &options);
    lbr_memory_init(&apart.memory, &options.allocator);
    lbr_trie_init(&apart.trie, &apart.memory, 1, 1, 1);
    for (uint32_t i = 0; i < APART_OWNERS; i++)
        lbr_trie_owner_init(&apart.owners[i], i);
    rng_seed(rng, seed);
    for (size_t i = 0; i < APART; i++)
        apart.lengths[i] =
            1 + rng_below(rng, rng_chance(rng, 20) ? APART_LONGEST : 2000);
}

static void the_least_recently_used_goes_leaf_first(void **state)
{
    (void)state;
    static const size_t budgets[] = {160 << 10, 200 << 10, 400 << 10, 1 << 20};
    CHECK(cost_of(APART_LONGEST) <= budgets[0]);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct rng rng;
        apart_start(seed, &rng);
        for (size_t i = 0; i < scaled(2000); i++) {
            check_step(i);
            size_t budget =
                budgets[rng_below(&rng, 10) ? seed - 1 : rng_below(&rng, 4)];
            size_t owner = rng_below(&rng, APART_OWNERS);
            apart_record(owner, rng_below(&rng, APART), i + 1, budget);
            apart_check();
            if (i % 16 == 0)
                trie_check(&apart.trie, apart.owners, APART_OWNERS);
        }
        lbr_trie_destroy(&apart.trie);
        CHECK_U(apart.heap.live, 0);
    }
}

/* --- Memory -------------------------------------------------------------- */

enum { BOUND_OWNERS = 4, BOUND_LONGEST = 128 * 1024 };

static unsigned char prompt[BOUND_LONGEST];

struct bound {
    struct heap heap;
    struct lbr_memory memory;
    struct lbr_trie trie;
    struct lbr_trie_owner owners[BOUND_OWNERS];
    struct rng rng;
    size_t budget;
};

/* Budgets, a tenth more, and what tables have that are all but empty. */
static void check_bound(const struct bound *bound)
{
    uint64_t budgets = (uint64_t)bound->budget * BOUND_OWNERS;
    CHECK(bound->memory.held <= budgets + budgets / 10 + 600 * 1024);
    CHECK_U(bound->memory.held, bound->heap.bytes);
}

static void bound_open(struct bound *bound, const char *what, size_t budget)
{
    lbroute_router_options options;
    check_context(what, budget);
    memset(bound, 0, sizeof *bound);
    lbroute_router_options_init(&options, sizeof options);
    heap_attach(&bound->heap, &options);
    lbr_memory_init(&bound->memory, &options.allocator);
    lbr_trie_init(&bound->trie, &bound->memory, 1, 1, 1);
    for (uint32_t i = 0; i < BOUND_OWNERS; i++)
        lbr_trie_owner_init(&bound->owners[i], i);
    rng_seed(&bound->rng, budget);
    bound->budget = budget;
}

static void bound_close(struct bound *bound)
{
    trie_check(&bound->trie, bound->owners, BOUND_OWNERS);
    lbr_trie_destroy(&bound->trie);
    CHECK_U(bound->heap.live, 0);
}

/* Distinct prompts whose length is between the two, behind a common head. */
static void bound_run(struct bound *bound, size_t steps, size_t head,
                      uint32_t shortest, uint32_t longest)
{
    for (size_t i = 0; i < steps; i++) {
        size_t length = rng_between(&bound->rng, shortest, longest);
        check_step(i);
        for (size_t j = head; j < head + 16; j += 8) {
            uint64_t word = rng_next(&bound->rng);
            memcpy(prompt + j, &word, 8);
        }
        struct lbr_trie_match match =
            lbr_trie_find(&bound->trie, 0, prompt, head + length);
        lbr_trie_record(&bound->trie, match, 0, prompt, head + length,
                        &bound->owners[rng_below(&bound->rng, BOUND_OWNERS)],
                        bound->budget);
        check_bound(bound);
    }
}

/* CA-04, with a budget of 1 MiB. Where all prompts are as long, nothing changes
 * any more once the budgets have been full a few times. */
static void memory_stays_within_the_budgets(void **state)
{
    (void)state;
    static struct bound bound;
    static const uint32_t lengths[][2] = {
        {4096, 4096},         {16, 24},   {16, 200},
        {100, 3000},          {1, 40000}, {30000, 33000},
        {1000, BOUND_LONGEST}};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        size_t steps = i == 0 ? 50000 : scaled(20000);
        bound_open(&bound, "prompts of like length", 1 << 20);
        bound_run(&bound, steps, 0, lengths[i][0], lengths[i][1]);
        uint64_t peak = bound.heap.peak;
        bound_run(&bound, steps, 0, lengths[i][0], lengths[i][1]);
        if (lengths[i][0] == lengths[i][1])
            CHECK_U(bound.heap.peak, peak);
        bound_close(&bound);
    }
}

static void common_heads_cost_no_memory(void **state)
{
    (void)state;
    static struct bound bound;
    bound_open(&bound, "common heads", 1 << 20);
    bound_run(&bound, scaled(20000), 2000, 16, 400);
    bound_run(&bound, scaled(20000), 40, 16, 400);
    bound_run(&bound, scaled(5000), 60000, 16, 400);
    bound_close(&bound);
}

/* What short prompts leave behind, nodes and table entries, is of no use to
 * long ones, and the other way round. */
static void memory_stays_bounded_when_lengths_change(void **state)
{
    (void)state;
    static struct bound bound;
    bound_open(&bound, "short, then long", 4 << 20);
    bound_run(&bound, scaled(100000), 0, 16, 24);
    bound_run(&bound, scaled(2000), 0, 20000, 30000);
    bound_close(&bound);
    bound_open(&bound, "long, then short", 4 << 20);
    bound_run(&bound, scaled(2000), 0, 20000, 30000);
    bound_run(&bound, scaled(100000), 0, 16, 24);
    bound_close(&bound);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_lengths_are_exact_without_a_limit),
        cmocka_unit_test(budgets_evict_what_is_oldest),
        cmocka_unit_test(ages_are_exact_where_no_prompt_is_a_prefix),
        cmocka_unit_test(many_owners_share),
        cmocka_unit_test(long_prompts_take_several_nodes),
        cmocka_unit_test(every_allocation_may_fail_once),
        cmocka_unit_test(the_least_recently_used_goes_leaf_first),
        cmocka_unit_test(memory_stays_within_the_budgets),
        cmocka_unit_test(common_heads_cost_no_memory),
        cmocka_unit_test(memory_stays_bounded_when_lengths_change),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
