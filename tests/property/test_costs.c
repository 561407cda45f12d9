/* SPDX-License-Identifier: MIT */
/*
 * Costs and `cheapest` against a naive model in integers of any size: random
 * prices and tiers, from cents to the edge of 64 bits, random lengths, loads
 * and exclusions, prices that come, change and go.
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

enum { TARGETS = 7, KEYS = 5, PICKS = 300, OPEN = 20, LIMIT = 4 };

/* --- Integers without an edge -------------------------------------------- */

enum { LIMBS = 10 };

/* Lowest limb first. */
struct big {
    uint32_t limb[LIMBS];
};

static struct big big_of(uint64_t value)
{
    struct big big = {{0}};
    big.limb[0] = (uint32_t)value;
    big.limb[1] = (uint32_t)(value >> 32);
    return big;
}

static struct big big_sum(struct big a, struct big b)
{
    uint64_t carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)a.limb[i] + b.limb[i];
        a.limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    CHECK_U(carry, 0);
    return a;
}

static struct big big_product(struct big a, struct big b)
{
    struct big product = {{0}};
    for (int i = 0; i < LIMBS; i++) {
        uint64_t carry = 0;
        for (int j = 0; i + j < LIMBS; j++) {
            carry += product.limb[i + j] + (uint64_t)a.limb[i] * b.limb[j];
            product.limb[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    return product;
}

static int big_less(struct big a, struct big b)
{
    for (int i = LIMBS; i-- > 0;) {
        if (a.limb[i] != b.limb[i])
            return a.limb[i] < b.limb[i];
    }
    return 0;
}

/* As decisions say it. */
static int64_t big_told(struct big big)
{
    if (big_less(big_of(INT64_MAX), big))
        return INT64_MAX;
    return (int64_t)((uint64_t)big.limb[1] << 32 | big.limb[0]);
}

/* --- The model ----------------------------------------------------------- */

struct target {
    lbroute_target handle;
    size_t key; /* KEYS: none */
    double weight;
    uint32_t in_flight;
};

struct question {
    int64_t input, output, cached;
    size_t excluded; /* TARGETS: none */
    int known[TARGETS];
    struct big cost[TARGETS];
};

static const char *const names[KEYS] = {"a", "b", "c", "d", "e"};

static struct run {
    struct rng rng;
    lbroute_router *router;
    lbroute_pool pool;
    int priced[KEYS];
    lbroute_price prices[KEYS];
    struct target targets[TARGETS];
    size_t open_count;
    struct {
        lbroute_ticket ticket;
        size_t target;
    } open[OPEN];
    size_t by_cost, by_load, ties;
} run;

static int eligible(const struct question *question, size_t place)
{
    return place != question->excluded && run.targets[place].in_flight < LIMIT;
}

/* The cost from its definition; 0 when it is unknown. */
static int cost_of(const lbroute_price *price, const struct question *question,
                   struct big *cost)
{
    int64_t input = question->input < 0 ? 1000 : question->input;
    int64_t output = question->output < 0 ? 250 : question->output;
    int64_t cached = question->cached < 0 ? 0 : question->cached;
    int64_t per_input = price->input;
    int64_t per_output = price->output;
    int64_t per_cached = price->cached_input;
    for (uint32_t i = 0; i < price->tier_count; i++) {
        if (input <= price->tiers[i].above_tokens)
            break;
        per_input = price->tiers[i].input;
        per_output = price->tiers[i].output;
        per_cached = price->tiers[i].cached_input;
    }
    cached = cached > input ? input : cached;
    per_cached = per_cached == -1 ? per_input : per_cached;
    if (per_input == -1 || (per_output == -1 && output > 0))
        return 0;
    *cost = big_sum(
        big_product(big_of((uint64_t)per_input),
                    big_of((uint64_t)(input - cached))),
        big_product(big_of((uint64_t)per_cached), big_of((uint64_t)cached)));
    if (output > 0)
        *cost = big_sum(*cost, big_product(big_of((uint64_t)per_output),
                                           big_of((uint64_t)output)));
    return 1;
}

static void set_costs(struct question *question)
{
    for (size_t i = 0; i < TARGETS; i++) {
        size_t key = run.targets[i].key;
        question->known[i] =
            key < KEYS && run.priced[key] &&
            cost_of(&run.prices[key], question, &question->cost[i]);
    }
}

static double load_of(size_t place)
{
    return run.targets[place].in_flight / run.targets[place].weight;
}

/* Who may win: within a hundredth of the lowest known cost, or, when no cost is
 * known, everybody. Returns how many, 0 if nobody is eligible. */
static size_t set_winners(const struct question *question, int winners[TARGETS])
{
    size_t lowest = TARGETS;
    size_t count = 0;
    for (size_t i = 0; i < TARGETS; i++) {
        if (eligible(question, i) && question->known[i] &&
            (lowest == TARGETS ||
             big_less(question->cost[i], question->cost[lowest])))
            lowest = i;
    }
    for (size_t i = 0; i < TARGETS; i++) {
        winners[i] = eligible(question, i);
        if (winners[i] && lowest < TARGETS)
            winners[i] =
                question->known[i] &&
                !big_less(big_product(question->cost[lowest], big_of(101)),
                          big_product(question->cost[i], big_of(100)));
        count += (size_t)winners[i];
    }
    return count;
}

/* --- A run --------------------------------------------------------------- */

/* Of every size, with a liking for edges and small differences. */
static int64_t draw_rate(void)
{
    static const int64_t edges[] = {-1, 0, 1, INT64_MAX, INT64_MAX - 1};
    uint32_t kind = rng_below(&run.rng, 10);
    if (kind < 3)
        return edges[rng_below(&run.rng, 5)];
    if (kind < 8)
        return 1000000 + rng_below(&run.rng, 30000);
    return (int64_t)(rng_next(&run.rng) >> rng_between(&run.rng, 1, 60));
}

static int64_t draw_tokens(void)
{
    static const int64_t edges[] = {-1, 0, 1, INT64_MAX};
    uint32_t kind = rng_below(&run.rng, 10);
    if (kind < 3)
        return edges[rng_below(&run.rng, 4)];
    if (kind < 9)
        return rng_below(&run.rng, 300000);
    return (int64_t)(rng_next(&run.rng) >> rng_between(&run.rng, 1, 60));
}

static void set_price(size_t key)
{
    lbroute_price *price = &run.prices[key];
    int64_t above = 0;
    lbroute_price_init(price, sizeof *price);
    price->input = draw_rate();
    price->output = draw_rate();
    price->cached_input = draw_rate();
    price->tier_count = rng_below(&run.rng, LBROUTE_PRICE_TIERS + 1);
    for (uint32_t i = 0; i < price->tier_count; i++) {
        above += 1 + rng_below(&run.rng, 130000);
        price->tiers[i].above_tokens = above - (i == 0);
        price->tiers[i].input = draw_rate();
        price->tiers[i].output = draw_rate();
        price->tiers[i].cached_input = draw_rate();
    }
    CHECK_I(lbroute_set_price(run.router, names[key], 1, price), LBROUTE_OK);
    run.priced[key] = 1;
}

static void remove_price(size_t key)
{
    CHECK_I(lbroute_remove_price(run.router, names[key], 1),
            run.priced[key] ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
    run.priced[key] = 0;
}

static void fill_target(size_t place, lbroute_target_options *options)
{
    static const char *const letters[TARGETS] = {"t0", "t1", "t2", "t3",
                                                 "t4", "t5", "t6"};
    struct target *target = &run.targets[place];
    target->key = rng_below(&run.rng, KEYS + 1);
    api_target_options(options, run.pool, letters[place], target->weight);
    options->max_concurrency = LIMIT;
    if (target->key < KEYS) {
        options->price_key = names[target->key];
        options->price_key_len = 1;
    }
}

static void start(uint64_t seed)
{
    check_context("costs", seed);
    memset(&run, 0, sizeof run);
    rng_seed(&run.rng, seed);
    run.router = api_router(seed);
    run.pool = api_pool(run.router, "pool", "cheapest");
    for (size_t i = 0; i < TARGETS; i++) {
        lbroute_target_options options;
        run.targets[i].weight = rng_between(&run.rng, 1, 3);
        fill_target(i, &options);
        CHECK_I(
            lbroute_target_add(run.router, &options, 0, &run.targets[i].handle),
            LBROUTE_OK);
    }
    for (size_t i = 0; i < KEYS; i++)
        if (rng_chance(&run.rng, 80))
            set_price(i);
}

static void change(void)
{
    size_t key = rng_below(&run.rng, KEYS);
    if (rng_chance(&run.rng, 60)) {
        set_price(key);
    } else if (rng_chance(&run.rng, 50)) {
        remove_price(key);
    } else {
        size_t place = rng_below(&run.rng, TARGETS);
        lbroute_target_options options;
        fill_target(place, &options);
        CHECK_I(lbroute_target_update(run.router, run.targets[place].handle,
                                      &options, 0),
                LBROUTE_OK);
    }
}

static void draw_question(struct question *question, lbroute_request *request)
{
    memset(question, 0, sizeof *question);
    question->input = draw_tokens();
    question->output = draw_tokens();
    question->cached = draw_tokens();
    question->excluded = rng_below(&run.rng, 3 * TARGETS);
    api_request(request, run.pool);
    request->input_tokens = question->input;
    request->output_tokens = question->output;
    request->cached_tokens = question->cached;
    if (question->excluded < TARGETS) {
        request->exclude = &run.targets[question->excluded].handle;
        request->exclude_len = 1;
    }
    set_costs(question);
}

static void check_rows(const lbroute_request *request,
                       const struct question *question)
{
    lbroute_candidate rows[TARGETS];
    lbroute_decision decision;
    size_t count = 0;
    (void)api_explain(run.router, request, 0, &decision, rows, TARGETS, &count);
    CHECK_U(count, TARGETS);
    for (size_t i = 0; i < TARGETS; i++) {
        CHECK_U(rows[i].target, run.targets[i].handle);
        CHECK_I(rows[i].expected_cost_pusd,
                question->known[i] ? big_told(question->cost[i]) : -1);
    }
}

static void check_choice(const struct question *question, size_t place,
                         const lbroute_decision *decision)
{
    int winners[TARGETS];
    size_t count = set_winners(question, winners);
    CHECK(winners[place]);
    for (size_t i = 0; i < TARGETS; i++)
        if (winners[i])
            CHECK(load_of(place) <= load_of(i));
    CHECK_I(decision->rule, question->known[place]
                                ? LBROUTE_RULE_CHEAPEST
                                : LBROUTE_RULE_LEAST_CONNECTIONS);
    CHECK_I(decision->expected_cost_pusd,
            question->known[place] ? big_told(question->cost[place]) : -1);
    run.by_cost += question->known[place] && count == 1;
    run.ties += question->known[place] && count > 1;
    run.by_load += !question->known[place];
}

static void pick(void)
{
    struct question question;
    lbroute_request request;
    lbroute_decision decision;
    int winners[TARGETS];
    size_t place = 0;
    draw_question(&question, &request);
    check_rows(&request, &question);
    if (run.open_count == OPEN || set_winners(&question, winners) == 0)
        return;
    api_pick(run.router, &request, 0, &decision);
    while (run.targets[place].handle != decision.target)
        place++;
    check_choice(&question, place, &decision);
    run.targets[place].in_flight++;
    run.open[run.open_count].ticket = decision.ticket;
    run.open[run.open_count++].target = place;
}

static void settle(void)
{
    if (run.open_count == 0)
        return;
    size_t at = rng_below(&run.rng, (uint32_t)run.open_count);
    api_settle(run.router, run.open[at].ticket, LBROUTE_EVENT_SUCCESS, 0);
    run.targets[run.open[at].target].in_flight--;
    run.open[at] = run.open[--run.open_count];
}

static void every_choice_is_the_cheapest(void **state)
{
    (void)state;
    size_t by_cost = 0;
    size_t by_load = 0;
    size_t ties = 0;
    for (uint64_t seed = 1; seed <= scaled(200); seed++) {
        start(seed);
        for (uint64_t i = 0; i < PICKS; i++) {
            check_step(i);
            if (rng_chance(&run.rng, 10))
                change();
            pick();
            if (rng_chance(&run.rng, 90))
                settle();
        }
        lbroute_router_destroy(run.router);
        by_cost += run.by_cost;
        by_load += run.by_load;
        ties += run.ties;
    }
    CHECK(by_cost > scaled(200) * PICKS / 4);
    CHECK(by_load > scaled(200) * PICKS / 100);
    CHECK(ties > scaled(200) * PICKS / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_is_the_cheapest),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
