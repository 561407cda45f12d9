/* SPDX-License-Identifier: MIT */
/* Field reports TK: max input tokens. */
#include <string.h>

#include "support/fleet.h"
#include "support/test.h"

#define A 0
#define B 1

static size_t add_token_limit(struct fleet *fleet, uint64_t limit)
{
    lbroute_target_options options;

    fleet_target_options(fleet, &options);
    options.max_input_tokens = limit;
    options.max_concurrency = 0;
    return fleet_add_options(fleet, &options);
}

static int eligible(struct fleet *fleet, size_t index, int64_t tokens)
{
    int verdict;

    fleet->request.input_tokens = tokens;
    verdict = fleet_verdict(fleet, index);
    if (verdict != LBROUTE_REASON_NONE)
        assert_int_equal(verdict, LBROUTE_REASON_TOO_LARGE);
    return verdict == LBROUTE_REASON_NONE;
}

static void expect_only(struct fleet *fleet, size_t index, int64_t tokens)
{
    fleet->request.input_tokens = tokens;
    for (int i = 0; i < 6; i++)
        assert_int_equal(fleet_pick_frozen(fleet), index);
}

/* ---- the reported cases ---- */

static void tools_not_counted(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    add_token_limit(&fleet, 500);
    add_token_limit(&fleet, 200000);
    /* The text is short; the figure given covers tools and images too. */
    fleet_prompt(&fleet, "a short question");
    expect_only(&fleet, B, 100 + 5000 + 800);
    assert_true(eligible(&fleet, A, 500));
    expect_only(&fleet, B, 501);
    assert_false(eligible(&fleet, A, 501));
    assert_true(eligible(&fleet, A, 499));
    assert_true(eligible(&fleet, B, 499));
    fleet_close(&fleet);
}

/* A request whose tool definitions alone were too large passed the filter. */
static void tk_01_tools_not_counted(void **state)
{
    (void)state;
    fleet_for_each_strategy(tools_not_counted);
}

/* A limit of zero was read as something else. */
static void tk_03_zero_limit(void **state)
{
    static const int64_t estimates[] = {0, 1, 2, INT64_C(4294967296)};
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    add_token_limit(&fleet, 0);
    add_token_limit(&fleet, 1);
    for (size_t i = 0; i < 4; i++) {
        assert_true(eligible(&fleet, A, estimates[i]));
        assert_int_equal(eligible(&fleet, B, estimates[i]), estimates[i] <= 1);
    }
    expect_only(&fleet, A, 2);
    expect_only(&fleet, A, INT64_C(4294967296));
    fleet_close(&fleet);
}

/* ---- more of the same kind ---- */

/* The limit itself still fits, one more does not, at every width of number. */
static void tk_kind_boundaries_at_all_widths(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 63; bits++) {
        int64_t limit = INT64_C(1) << bits;
        struct fleet fleet;
        fleet_open(&fleet, "least_connections", 0, 1);
        add_token_limit(&fleet, (uint64_t)limit);
        add_token_limit(&fleet, 0);
        assert_true(eligible(&fleet, A, limit - 1));
        assert_true(eligible(&fleet, A, limit));
        assert_false(eligible(&fleet, A, limit + 1));
        assert_false(eligible(&fleet, A, INT64_MAX));
        assert_true(eligible(&fleet, B, INT64_MAX));
        assert_true(eligible(&fleet, A, 0));
        expect_only(&fleet, B, limit + 1);
        fleet_close(&fleet);
    }
}

/* Limits beyond the signed range hold anything. */
static void tk_kind_largest_limits(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "round_robin", 0, 1);
    add_token_limit(&fleet, UINT64_MAX);
    add_token_limit(&fleet, (uint64_t)INT64_MAX + 1);
    add_token_limit(&fleet, INT64_MAX);
    fleet.request.input_tokens = INT64_MAX;
    fleet_expect(&fleet, "ABCABC");
    fleet_close(&fleet);
}

/* Without a figure the prompt's bytes divided by four count. */
static void tk_kind_estimate_from_prompt(void **state)
{
    static char prompt[2004];
    struct fleet fleet;
    (void)state;

    memset(prompt, 'p', sizeof prompt);
    fleet_open(&fleet, "weighted", 0, 1);
    add_token_limit(&fleet, 500);
    fleet.request.prompt = prompt;
    fleet.request.prompt_len = 2000;
    assert_true(eligible(&fleet, A, -1));
    fleet.request.prompt_len = 2004;
    assert_false(eligible(&fleet, A, -1));
    /* A given figure wins over the estimate, in both directions. */
    assert_true(eligible(&fleet, A, 500));
    fleet.request.prompt_len = 4;
    assert_true(eligible(&fleet, A, -1));
    assert_false(eligible(&fleet, A, 501));
    fleet.request.prompt_len = 0;
    assert_true(eligible(&fleet, A, -1));
    fleet_close(&fleet);
}

static void nothing_fits(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    add_token_limit(&fleet, 10);
    add_token_limit(&fleet, 20);
    fleet.request.input_tokens = 21;
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.code, LBROUTE_ERR_NO_TARGET);
    assert_int_equal(fleet.decision.reason, LBROUTE_REASON_TOO_LARGE);
    assert_int_equal(fleet.decision.reasons[LBROUTE_REASON_TOO_LARGE], 2);
    fleet.request.input_tokens = 20;
    assert_int_equal(fleet_pick(&fleet), B);
    fleet_close(&fleet);
}

/* A request that fits nowhere says so. */
static void tk_kind_nothing_fits(void **state)
{
    (void)state;
    fleet_for_each_strategy(nothing_fits);
}

/* A large target that is full is waited for: retrying can help. */
static void tk_kind_full_and_too_large(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    add_token_limit(&fleet, 10);
    add_token_limit(&fleet, 10);
    add_token_limit(&fleet, 0);
    fleet_set_limit(&fleet, 2, 1);
    fleet_hold(&fleet, 2, 1);
    fleet.request.input_tokens = 11;
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    assert_int_equal(fleet.decision.reason, LBROUTE_REASON_TOO_LARGE);
    assert_int_equal(fleet.decision.reasons[LBROUTE_REASON_TOO_LARGE], 2);
    assert_int_equal(fleet.decision.reasons[LBROUTE_REASON_SATURATED], 1);
    fleet_close(&fleet);
}

/* A pin and a ring owner yield to the limit, and serve what fits again. */
static void tk_kind_affinity_yields(void **state)
{
    static const char *const strategies[2] = {"sticky_session",
                                              "consistent_hash"};
    (void)state;

    for (size_t s = 0; s < 2; s++) {
        struct fleet fleet;
        size_t home;
        fleet_open(&fleet, strategies[s], 0, 1);
        add_token_limit(&fleet, 0);
        add_token_limit(&fleet, 0);
        fleet_session(&fleet, "s1");
        home = fleet_serve(&fleet);
        lbroute_target_options options;
        fleet_target_options(&fleet, &options);
        options.max_input_tokens = 100;
        assert_int_equal(lbroute_target_update(fleet.router,
                                               fleet.targets[home], &options,
                                               fleet.now),
                         LBROUTE_OK);
        expect_only(&fleet, 1 - home, 101);
        expect_only(&fleet, home, 100);
        fleet_close(&fleet);
    }
}

/* Mixed sizes in turn: small requests still use both, by weight. */
static void tk_kind_mixed_sizes(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 0, 1);
    add_token_limit(&fleet, 100);
    add_token_limit(&fleet, 0);
    for (int i = 0; i < 300; i++) {
        fleet.request.input_tokens = i % 3 == 0 ? 1000 : 50;
        fleet_pick(&fleet);
        if (i % 3 == 0)
            assert_int_equal(fleet.decision.target, fleet.targets[B]);
    }
    assert_near(fleet_in_flight(&fleet, A), 150, 1);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tk_01_tools_not_counted),
        cmocka_unit_test(tk_03_zero_limit),
        cmocka_unit_test(tk_kind_boundaries_at_all_widths),
        cmocka_unit_test(tk_kind_largest_limits),
        cmocka_unit_test(tk_kind_estimate_from_prompt),
        cmocka_unit_test(tk_kind_nothing_fits),
        cmocka_unit_test(tk_kind_full_and_too_large),
        cmocka_unit_test(tk_kind_affinity_yields),
        cmocka_unit_test(tk_kind_mixed_sizes),
    };
    return cmocka_run_group_tests_name("TK", tests, NULL, NULL);
}
