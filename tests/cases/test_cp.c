/* SPDX-License-Identifier: MIT */
/* Field reports CP: the cheapest target. */
#include <stdio.h>
#include <string.h>

#include "catalog.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

enum { SEEDS = 5, LIMIT = 32 };

static void expect_rule(const struct fleet *fleet, int rule)
{
    assert_string_equal(lbroute_rule_name(fleet->decision.rule),
                        lbroute_rule_name(rule));
}

/* Targets A, B, C with the keys "a", "b", "c", none of which has a price. */
static void open_cp(struct fleet *fleet, uint64_t seed)
{
    fleet_open(fleet, "cheapest", 0, seed);
    catalog_add(fleet, "a", LIMIT);
    catalog_add(fleet, "b", LIMIT);
    catalog_add(fleet, "c", LIMIT);
}

/* ---- CP-02 ---- */

/* A free target was priced at the fallback and skipped. */
static void cp_02_free_is_a_price(void **state)
{
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_cp(&fleet, seed);
        fleet_set_limit(&fleet, A, 10);
        fleet_set_limit(&fleet, B, 4);
        catalog_flat(&fleet, "a", 0);
        catalog_flat(&fleet, "b", 150000);
        for (size_t i = 0; i < 10; i++) {
            assert_int_equal(fleet_pick(&fleet), A);
            assert_int_equal(fleet.decision.expected_cost_pusd, 0);
            expect_rule(&fleet, LBROUTE_RULE_CHEAPEST);
        }
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(fleet_pick(&fleet), B);
            assert_int_equal(fleet.decision.expected_cost_pusd,
                             150000 * (1000 + 250));
        }
        assert_int_equal(fleet_pick(&fleet), C);
        assert_int_equal(fleet.decision.expected_cost_pusd, -1);
        expect_rule(&fleet, LBROUTE_RULE_LEAST_CONNECTIONS);
        fleet_close(&fleet);
    }
}

/* Nothing is within 1 % of nothing but nothing. */
static void cp_02_free_ties_with_free_only(void **state)
{
    struct fleet fleet;
    (void)state;

    open_cp(&fleet, 1);
    catalog_flat(&fleet, "a", 1);
    catalog_flat(&fleet, "b", 0);
    catalog_flat(&fleet, "c", 0);
    for (size_t i = 0; i < 20; i++)
        assert_true(fleet_pick(&fleet) != A);
    assert_int_equal(fleet.picks[B], 10);
    assert_int_equal(fleet.picks[C], 10);
    fleet_close(&fleet);
}

/* Free input with a dear answer is not free. */
static void cp_02_free_in_part(void **state)
{
    struct fleet fleet;
    (void)state;

    open_cp(&fleet, 1);
    catalog_set(&fleet, "a", 0, 900, 0);
    catalog_set(&fleet, "b", 100, 100, 100);
    fleet.request.input_tokens = 100;
    fleet.request.output_tokens = 100;
    assert_int_equal(fleet_serve(&fleet), B);
    fleet.request.output_tokens = 10;
    assert_int_equal(fleet_serve(&fleet), A);
    fleet_close(&fleet);
}

/* ---- CP-03 ---- */

/* Names without a price shared a made-up one; list order decided. */
static void cp_03_known_before_unknown(void **state)
{
    static const char *const orders[][3] = {
        {"x", "y", "known"}, {"y", "known", "x"}, {"known", "x", "y"}};
    struct fleet fleet;
    (void)state;

    for (size_t order = 0; order < 3; order++) {
        fleet_open(&fleet, "cheapest", 0, 1 + order);
        for (size_t i = 0; i < 3; i++)
            catalog_add(&fleet, orders[order][i], LIMIT);
        catalog_flat(&fleet, "known", 5 * USD_PER_MILLION);
        for (size_t i = 0; i < 10; i++)
            assert_string_equal(orders[order][fleet_pick(&fleet)], "known");
        fleet_close(&fleet);
    }
}

static void cp_03_unknown_by_load(void **state)
{
    struct fleet fleet;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        fleet_open(&fleet, "cheapest", 0, seed);
        catalog_add(&fleet, "x", LIMIT);
        catalog_add(&fleet, NULL, LIMIT);
        for (size_t i = 0; i < 10; i++) {
            assert_true(fleet_pick(&fleet) != FLEET_NONE);
            assert_int_equal(fleet.decision.expected_cost_pusd, -1);
            expect_rule(&fleet, LBROUTE_RULE_LEAST_CONNECTIONS);
        }
        assert_int_equal(fleet.picks[A], 5);
        assert_int_equal(fleet.picks[B], 5);
        fleet_close(&fleet);
    }
}

/* A price of which the part that counts is missing is no price. */
static void cp_03_half_a_price(void **state)
{
    struct fleet fleet;
    (void)state;

    open_cp(&fleet, 1);
    catalog_set(&fleet, "a", 1, -1, 1);
    catalog_set(&fleet, "b", -1, 1, 1);
    catalog_set(&fleet, "c", 900, 900, 900);
    assert_int_equal(fleet_serve(&fleet), C);
    fleet.request.output_tokens = 0; /* what A asks for answers is no matter */
    assert_int_equal(fleet_serve(&fleet), A);
    fleet.request.input_tokens = 0;
    fleet_drain(&fleet, A, 1);
    assert_int_equal(fleet_serve(&fleet), C);
    fleet_close(&fleet);
}

/* A price that is removed, or comes later, counts at once. */
static void cp_03_prices_come_and_go(void **state)
{
    lbroute_price price = catalog_price(0, 0, 0);
    struct fleet fleet;
    (void)state;

    open_cp(&fleet, 1);
    catalog_flat(&fleet, "b", 500);
    assert_int_equal(fleet_serve(&fleet), B);
    catalog_flat(&fleet, "a", 400);
    assert_int_equal(fleet_serve(&fleet), A);
    catalog_flat(&fleet, "a", 600);
    assert_int_equal(fleet_serve(&fleet), B);
    catalog_remove(&fleet, "b");
    assert_int_equal(fleet_serve(&fleet), A);
    fleet_remove(&fleet, A);
    fleet_add_again(&fleet, A); /* without a key */
    assert_int_equal(lbroute_get_price(fleet.router, "a", 1, &price),
                     LBROUTE_OK);
    assert_int_equal(price.input, 600);
    assert_true(fleet_serve(&fleet) != FLEET_NONE);
    assert_int_equal(fleet.decision.expected_cost_pusd, -1);
    fleet_close(&fleet);
}

/* The key is the model where none is given, and follows it. */
static void cp_03_key_is_the_model(void **state)
{
    lbroute_target_options options;
    lbroute_target_info info;
    struct fleet fleet;
    size_t index;
    (void)state;

    open_cp(&fleet, 1);
    catalog_flat(&fleet, "small", 10);
    catalog_flat(&fleet, "a", 20);
    fleet_target_options(&fleet, &options);
    options.name = "D";
    options.name_len = 1;
    options.model = "small";
    options.model_len = 5;
    index = fleet_add_options(&fleet, &options);
    assert_int_equal(fleet_serve(&fleet), index);
    options.model = "large";
    assert_int_equal(
        lbroute_target_update(fleet.router, fleet.targets[index], &options, 0),
        LBROUTE_OK);
    assert_int_equal(fleet_serve(&fleet), A);
    options.price_key = "small";
    options.price_key_len = 5;
    assert_int_equal(
        lbroute_target_update(fleet.router, fleet.targets[index], &options, 0),
        LBROUTE_OK);
    assert_int_equal(fleet_serve(&fleet), index);
    lbroute_target_info_init(&info, sizeof info);
    assert_int_equal(
        lbroute_target_get_info(fleet.router, fleet.targets[index], &info),
        LBROUTE_OK);
    assert_string_equal(info.price_key, "small");
    assert_string_equal(info.model, "large");
    fleet_close(&fleet);
}

/* ---- CP-04 ---- */

/* Of equal prices the first in the list won. */
static void cp_04_load_breaks_ties(void **state)
{
    static const int64_t others[] = {280000, 280001, 279999};
    struct fleet fleet;
    (void)state;

    for (size_t other = 0; other < 3; other++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            open_cp(&fleet, seed);
            catalog_set(&fleet, "a", 280000, 280000, 28000);
            catalog_set(&fleet, "b", others[other], others[other], 280000);
            catalog_flat(&fleet, "c", 500000);
            fleet_hold(&fleet, A, 3);
            fleet_hold(&fleet, B, 1);
            assert_int_equal(fleet_pick(&fleet), B);
            assert_int_equal(fleet_pick(&fleet), B);
            fleet_pick(&fleet);
            fleet_pick(&fleet);
            assert_int_equal(fleet_in_flight(&fleet, A), 4);
            assert_int_equal(fleet_in_flight(&fleet, B), 4);
            assert_int_equal(fleet_in_flight(&fleet, C), 0);
            fleet_close(&fleet);
        }
}

/* What they ask for cached input tells the two apart as soon as it counts. */
static void cp_04_cached_input_counts(void **state)
{
    struct fleet fleet;
    (void)state;

    open_cp(&fleet, 1);
    catalog_set(&fleet, "a", 280000, 280000, 28000);
    catalog_set(&fleet, "b", 280000, 280000, 280000);
    fleet_hold(&fleet, A, 5);
    fleet.request.cached_tokens = 900;
    assert_int_equal(fleet_serve(&fleet), A);
    assert_int_equal(fleet.decision.expected_cost_pusd,
                     INT64_C(280000) * (100 + 250) + 28000 * 900);
    fleet.request.cached_tokens = 5000; /* more than all is all */
    assert_int_equal(fleet_serve(&fleet), A);
    assert_int_equal(fleet.decision.expected_cost_pusd,
                     INT64_C(280000) * 250 + 28000 * 1000);
    fleet_close(&fleet);
}

/* The edge of a tie, measured from the lowest and not from the next. */
static void cp_04_one_percent_of_the_lowest(void **state)
{
    static const struct {
        int64_t b, c;
        int b_ties, c_ties;
    } rows[] = {{1010000, 1010001, 1, 0},
                {1009000, 1018000, 1, 0},
                {1000001, 1009999, 1, 1}};
    struct fleet fleet;
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        open_cp(&fleet, 1 + i);
        catalog_flat(&fleet, "a", 1000000);
        catalog_flat(&fleet, "b", rows[i].b);
        catalog_flat(&fleet, "c", rows[i].c);
        fleet_hold(&fleet, A, 9);
        fleet_reset_picks(&fleet);
        for (size_t k = 0; k < 6; k++)
            fleet_pick(&fleet);
        assert_int_equal(fleet.picks[B] > 0, rows[i].b_ties);
        assert_int_equal(fleet.picks[C] > 0, rows[i].c_ties);
        assert_int_equal(fleet.picks[A], 0);
        fleet_close(&fleet);
    }
}

/* The cheap ones are filled before anybody else gets a request, in every
 * order of the list. */
static void cp_04_fills_the_cheap_ones(void **state)
{
    static const char *const orders[][3] = {
        {"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}};
    struct fleet fleet;
    (void)state;

    for (size_t order = 0; order < 3; order++) {
        char served[10] = {0};
        fleet_open(&fleet, "cheapest", 0, 1);
        for (size_t i = 0; i < 3; i++)
            catalog_add(&fleet, orders[order][i], 3);
        catalog_flat(&fleet, "a", 100);
        catalog_flat(&fleet, "b", 200);
        catalog_flat(&fleet, "c", 300);
        for (size_t i = 0; i < 9; i++)
            served[i] = orders[order][fleet_pick(&fleet)][0];
        assert_string_equal(served, "aaabbbccc");
        assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
        assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
        assert_int_equal(fleet.decision.expected_cost_pusd, -1);
        fleet_close(&fleet);
    }
}

/* ---- length of the request ---- */

/* One token above a threshold re-prices the whole request. */
static void cp_tiers_reprice_everything(void **state)
{
    lbroute_price price = catalog_price(1000, 2000, 100);
    struct fleet fleet;
    (void)state;

    open_cp(&fleet, 1);
    price.tier_count = 2;
    price.tiers[0] = (lbroute_price_tier){128000, 2000, 3000, 200};
    price.tiers[1] = (lbroute_price_tier){200000, 4000, 6000, 400};
    assert_int_equal(lbroute_set_price(fleet.router, "a", 1, &price),
                     LBROUTE_OK);
    catalog_flat(&fleet, "b", 1500);
    fleet.request.output_tokens = 10;
    fleet.request.cached_tokens = 1000;
    fleet.request.input_tokens = 128000;
    assert_int_equal(fleet_serve(&fleet), A);
    assert_int_equal(fleet.decision.expected_cost_pusd,
                     127000 * 1000 + 1000 * 100 + 10 * 2000);
    fleet.request.input_tokens = 128001;
    assert_int_equal(fleet_serve(&fleet), B);
    fleet_drain(&fleet, B, 1);
    assert_int_equal(fleet_serve(&fleet), A);
    assert_int_equal(fleet.decision.expected_cost_pusd,
                     127001 * 2000 + 1000 * 200 + 10 * 3000);
    fleet.request.input_tokens = 200001;
    assert_int_equal(fleet_serve(&fleet), A);
    assert_int_equal(fleet.decision.expected_cost_pusd,
                     INT64_C(199001) * 4000 + 1000 * 400 + 10 * 6000);
    fleet_close(&fleet);
}

/* Costs that no 64-bit number holds are still told apart. */
static void cp_costs_beyond_64_bits(void **state)
{
    struct fleet fleet;
    (void)state;

    open_cp(&fleet, 1);
    catalog_flat(&fleet, "a", INT64_MAX);
    catalog_flat(&fleet, "b", INT64_MAX / 2);
    fleet.request.input_tokens = INT64_MAX;
    fleet.request.output_tokens = INT64_MAX;
    assert_int_equal(fleet_serve(&fleet), B);
    assert_int_equal(fleet.decision.expected_cost_pusd, INT64_MAX);
    catalog_flat(&fleet, "b", INT64_MAX - 1); /* within 1 %: a tie */
    fleet_hold(&fleet, B, 1);
    assert_int_equal(fleet_serve(&fleet), A);
    fleet_close(&fleet);
}

/* Without tokens in the request the pool's figures count, and its prompt does
 * where it has one. */
static void cp_lengths_that_are_not_given(void **state)
{
    struct fleet fleet;
    (void)state;

    open_cp(&fleet, 1);
    catalog_set(&fleet, "a", 100, 1000, 100);
    catalog_set(&fleet, "b", 400, 100, 400);
    fleet_drain(&fleet, C, 1);
    fleet_param(&fleet, "cost.input_tokens", 300);
    fleet_param(&fleet, "cost.output_tokens", 50);
    assert_int_equal(fleet_serve(&fleet), A); /* 80,000 against 125,000 */
    assert_int_equal(fleet.decision.expected_cost_pusd, 300 * 100 + 50 * 1000);
    fleet_param(&fleet, "cost.output_tokens", 200);
    assert_int_equal(fleet_serve(&fleet), B); /* 230,000 against 140,000 */
    fleet_prompt(&fleet, "sixteen bytes ..");
    assert_int_equal(fleet_serve(&fleet), B);
    assert_int_equal(fleet.decision.expected_cost_pusd, 4 * 400 + 200 * 100);
    fleet_close(&fleet);
}

/* ---- what else sees costs ---- */

/* Every decision and candidate says the cost, whatever the strategy. */
static void costs_are_said(const char *strategy)
{
    lbroute_candidate rows[2];
    struct fleet fleet;
    size_t count = 0;

    fleet_open(&fleet, strategy, 0, 1);
    catalog_add(&fleet, "a", LIMIT);
    catalog_add(&fleet, NULL, LIMIT);
    catalog_set(&fleet, "a", 3, 5, 1);
    fleet.request.input_tokens = 100;
    fleet.request.output_tokens = 10;
    for (size_t i = 0; i < 2; i++)
        lbroute_candidate_init(&rows[i], sizeof rows[i]);
    assert_int_equal(lbroute_explain(fleet.router, &fleet.request, 0,
                                     &fleet.decision, rows, 2, &count),
                     LBROUTE_OK);
    assert_int_equal(count, 2);
    assert_int_equal(rows[A].expected_cost_pusd, 350);
    assert_int_equal(rows[B].expected_cost_pusd, -1);
    fleet_drain(&fleet, B, 1);
    assert_int_equal(fleet_serve(&fleet), A);
    assert_int_equal(fleet.decision.expected_cost_pusd, 350);
    fleet_close(&fleet);
}

static void cp_costs_are_said(void **state)
{
    (void)state;
    fleet_for_each_strategy(costs_are_said);
}

/* What a pool remembers of a prompt is the cached part. */
static void cp_known_prompts_are_cached(void **state)
{
    static const char *const strategies[] = {"cache_aware", "kv_aware",
                                             "least_work", "pipeline"};
    static char prompt[4096];
    (void)state;

    memset(prompt, 'x', sizeof prompt);
    for (size_t i = 0; i < sizeof prompt; i += 8)
        snprintf(prompt + i, 8, "%07zu", i);
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
        struct fleet fleet;
        fleet_open(&fleet, strategies[i], 0, 1);
        catalog_add(&fleet, "a", LIMIT);
        catalog_set(&fleet, "a", 1000, 0, 10);
        fleet.request.prompt = prompt;
        fleet.request.prompt_len = sizeof prompt / 2;
        fleet_serve(&fleet);
        assert_int_equal(fleet.decision.expected_cost_pusd, 512 * 1000);
        fleet.request.prompt_len = sizeof prompt;
        fleet_serve(&fleet);
        assert_int_equal(fleet.decision.expected_cost_pusd,
                         512 * 1000 + 512 * 10);
        fleet.request.cached_tokens = 24; /* the host knows better */
        fleet_serve(&fleet);
        assert_int_equal(fleet.decision.expected_cost_pusd,
                         1000 * 1000 + 24 * 10);
        fleet_close(&fleet);
    }
}

/* The pipeline's scorer of cost. */
static void cp_pipeline_weighs_cost(void **state)
{
    static const int64_t free_or_not[] = {0, 100};
    struct fleet fleet;
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        fleet_open(&fleet, "pipeline", 0, 1);
        catalog_add(&fleet, "a", LIMIT);
        catalog_add(&fleet, "b", LIMIT);
        catalog_add(&fleet, NULL, LIMIT);
        catalog_flat(&fleet, "a", 400);
        catalog_flat(&fleet, "b", free_or_not[i]);
        for (size_t k = 0; k < 30; k++)
            fleet_serve(&fleet); /* off: everybody alike */
        assert_int_equal(fleet.picks[A], 10);
        fleet_param(&fleet, "pipeline.cost", 1);
        fleet_reset_picks(&fleet);
        for (size_t k = 0; k < 10; k++)
            assert_int_equal(fleet_serve(&fleet), B);
        fleet_drain(&fleet, B, 1);
        for (size_t k = 0; k < 10; k++)
            fleet_serve(&fleet); /* one known price: unknown is the same */
        assert_int_equal(fleet.picks[A], 5);
        fleet_close(&fleet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cp_02_free_is_a_price),
        cmocka_unit_test(cp_02_free_ties_with_free_only),
        cmocka_unit_test(cp_02_free_in_part),
        cmocka_unit_test(cp_03_known_before_unknown),
        cmocka_unit_test(cp_03_unknown_by_load),
        cmocka_unit_test(cp_03_half_a_price),
        cmocka_unit_test(cp_03_prices_come_and_go),
        cmocka_unit_test(cp_03_key_is_the_model),
        cmocka_unit_test(cp_04_load_breaks_ties),
        cmocka_unit_test(cp_04_cached_input_counts),
        cmocka_unit_test(cp_04_one_percent_of_the_lowest),
        cmocka_unit_test(cp_04_fills_the_cheap_ones),
        cmocka_unit_test(cp_tiers_reprice_everything),
        cmocka_unit_test(cp_costs_beyond_64_bits),
        cmocka_unit_test(cp_lengths_that_are_not_given),
        cmocka_unit_test(cp_costs_are_said),
        cmocka_unit_test(cp_known_prompts_are_cached),
        cmocka_unit_test(cp_pipeline_weighs_cost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
