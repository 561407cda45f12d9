/* SPDX-License-Identifier: MIT */
/* Field reports RND: random. */
#include <string.h>

#include "support/fleet.h"
#include "support/state.h"
#include "support/test.h"

/* ---- the reported cases ---- */

static double part(const struct fleet *fleet, size_t index, size_t of)
{
    return (double)fleet->picks[index] / (double)of;
}

/* Sums searched with the wrong bound doubled the first of four equal servers
 * and never used the last. `random` draws among the eligible whatever the
 * weights, so weights 3,0,1,0 give halves. */
static void rnd_02_first_doubled_last_zero(void **state)
{
    static const double weights[4] = {3, 0, 1, 0};
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct fleet fleet;
        fleet_open(&fleet, "random", 4, seed);
        for (size_t i = 0; i < 40000; i++)
            fleet_serve(&fleet);
        for (size_t i = 0; i < 4; i++)
            assert_near(part(&fleet, i, 40000), 0.25, 0.015);

        fleet_reset_picks(&fleet);
        for (size_t i = 0; i < 4; i++)
            fleet_set_weight(&fleet, i, weights[i]);
        for (size_t i = 0; i < 40000; i++)
            fleet_serve(&fleet);
        assert_near(part(&fleet, 0, 40000), 0.5, 0.015);
        assert_near(part(&fleet, 2, 40000), 0.5, 0.015);
        assert_int_equal(fleet.picks[1], 0);
        assert_int_equal(fleet.picks[3], 0);
        fleet_close(&fleet);
    }
}

static void draw(const char *strategy, uint64_t seed, size_t order[64])
{
    struct fleet fleet;
    fleet_open(&fleet, strategy, 8, seed);
    for (size_t i = 0; i < 64; i++)
        order[i] = fleet_serve(&fleet);
    fleet_close(&fleet);
}

/* Workers that start from one generator state stampede one server; entropy
 * inside the core cannot be replayed. The seed is the caller's, and required.
 */
static void rnd_03_same_seed_everywhere(void **state)
{
    static const char *const strategies[] = {"random", "power_of_two",
                                             "least_connections"};
    (void)state;

    for (size_t s = 0; s < 3; s++) {
        size_t first[64], second[64], third[64], differ = 0;
        draw(strategies[s], 7, first);
        draw(strategies[s], 7, second);
        draw(strategies[s], 8, third);
        assert_memory_equal(first, second, sizeof first);
        for (size_t i = 0; i < 64; i++)
            differ += first[i] != third[i];
        assert_true(differ >= 40);
    }

    lbroute_router_options options;
    lbroute_router *router = NULL;
    lbroute_router_options_init(&options, sizeof options);
    assert_int_equal(lbroute_router_create(&options, &router),
                     LBROUTE_ERR_INVALID);
    assert_null(router);
}

static void expect_rejection(struct fleet *fleet, int code, int reason)
{
    char *before =
        state_text(fleet->router, fleet->now, STATE_WITHOUT_REJECTIONS);

    assert_int_equal(fleet_pick(fleet), FLEET_NONE);
    assert_int_equal(fleet->code, code);
    assert_int_equal(fleet->decision.target, 0);
    assert_int_equal(fleet->decision.ticket, 0);
    assert_int_equal(fleet->decision.rule, LBROUTE_RULE_NONE);
    assert_int_equal(fleet->decision.reason, reason);
    state_check(fleet->router, fleet->now, STATE_WITHOUT_REJECTIONS, before);
}

static void success_without_a_server(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    expect_rejection(&fleet, LBROUTE_ERR_NO_TARGET, LBROUTE_REASON_NO_TARGETS);
    assert_int_equal(fleet_totals(&fleet).rejections[LBROUTE_REASON_NO_TARGETS],
                     1);

    fleet_add_limit(&fleet, 1);
    fleet_add_limit(&fleet, 1);
    fleet_pick(&fleet);
    fleet_pick(&fleet);
    expect_rejection(&fleet, LBROUTE_ERR_SATURATED, LBROUTE_REASON_SATURATED);
    assert_int_equal(fleet.decision.reasons[LBROUTE_REASON_SATURATED], 2);
    assert_int_equal(fleet.decision.in_flight, 2);
    assert_int_equal(fleet.decision.max_concurrency, 2);

    fleet_settle(&fleet, 0, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_pick(&fleet), 0);
    fleet_close(&fleet);
}

/* With no usable server the balancer reported success and an unset server. */
static void rnd_04_success_without_a_server(void **state)
{
    (void)state;
    fleet_for_each_strategy(success_without_a_server);
}

/* ---- more of the same kind ---- */

/* No size favours its first target or forgets its last. */
static void rnd_kind_every_size_is_uniform(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 33; n++) {
        struct fleet fleet;
        fleet_open(&fleet, "random", n, n);
        for (size_t i = 0; i < 2000 * n; i++)
            fleet_serve(&fleet);
        /* 2,000 expected; five standard deviations are 224 at most. */
        for (size_t i = 0; i < n; i++)
            assert_near(fleet.picks[i], 2000, 224);
        fleet_close(&fleet);
    }
}

/* What one target does not take is spread over all the others. */
static void rnd_kind_share_of_an_absent_target(void **state)
{
    (void)state;
    for (size_t gone = 0; gone < 5; gone++) {
        for (int way = 0; way < 4; way++) {
            struct fleet fleet;
            fleet_open(&fleet, "random", 5, 9 + gone);
            if (way == 0)
                fleet_drain(&fleet, gone, 1);
            if (way == 1)
                fleet_bench(&fleet, gone, TEST_H);
            if (way == 2)
                fleet_remove(&fleet, gone);
            if (way == 3) {
                fleet.request.exclude = &fleet.targets[gone];
                fleet.request.exclude_len = 1;
            }
            for (size_t i = 0; i < 20000; i++)
                fleet_serve(&fleet);
            for (size_t i = 0; i < 5; i++)
                assert_near(part(&fleet, i, 20000), i == gone ? 0 : 0.25,
                            i == gone ? 0 : 0.016);
            fleet_close(&fleet);
        }
    }
}

/* Successive draws are independent: each pair of targets follows one another
 * as often as chance says. */
static void rnd_kind_pairs_are_independent(void **state)
{
    size_t pairs[4][4] = {{0}};
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "random", 4, 3);
    for (size_t i = 0, last = fleet_serve(&fleet); i < 64000; i++) {
        size_t next = fleet_serve(&fleet);
        pairs[last][next]++;
        last = next;
    }
    /* 4,000 expected each, standard deviation 61. */
    for (size_t i = 0; i < 16; i++)
        assert_near(pairs[i / 4][i % 4], 4000, 310);
    fleet_close(&fleet);
}

/* Neighbouring seeds give unrelated sequences. */
static void rnd_kind_neighbouring_seeds(void **state)
{
    size_t a[64], b[64];
    (void)state;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        size_t differ = 0;
        draw("random", seed, a);
        draw("random", seed + 1, b);
        for (size_t i = 0; i < 64; i++)
            differ += a[i] != b[i];
        /* 56 expected, standard deviation 2.6. */
        assert_true(differ >= 40);
    }
    draw("random", UINT64_MAX, a);
    draw("random", UINT64_C(1) << 63, b);
    assert_memory_not_equal(a, b, sizeof a);
}

/* The first choice over many seeds is uniform too: workers that start with
 * seeds of their own do not stampede one server. */
static void rnd_kind_first_choice_over_seeds(void **state)
{
    static const char *const strategies[] = {
        "random", "power_of_two", "least_connections", "sticky_session"};
    (void)state;

    for (size_t s = 0; s < 4; s++) {
        size_t first[4] = {0};
        for (uint64_t seed = 1; seed <= 800; seed++) {
            struct fleet fleet;
            fleet_open(&fleet, strategies[s], 4, seed);
            first[fleet_pick(&fleet)]++;
            fleet_close(&fleet);
        }
        /* 200 expected, standard deviation 12. */
        for (size_t i = 0; i < 4; i++)
            assert_near(first[i], 200, 62);
    }
}

/* Each filter that rejects all gives its own reason and leaves no trace, under
 * each strategy, and the pool works as soon as it is lifted. */
static void every_way_to_reject(const char *strategy)
{
    struct fleet fleet;
    lbroute_target both[2];

    fleet_open(&fleet, strategy, 2, 1);
    fleet_session(&fleet, "s1");
    memcpy(both, fleet.targets, sizeof both);
    fleet.request.exclude = both;
    fleet.request.exclude_len = 2;
    expect_rejection(&fleet, LBROUTE_ERR_NO_TARGET, LBROUTE_REASON_EXCLUDED);
    fleet.request.exclude_len = 0;

    fleet.request.tier = "gold";
    fleet.request.tier_len = 4;
    expect_rejection(&fleet, LBROUTE_ERR_NO_TARGET, LBROUTE_REASON_TIER);
    fleet.request.tier_len = 0;

    fleet_drain(&fleet, 0, 1);
    fleet_set_weight(&fleet, 1, 0);
    expect_rejection(&fleet, LBROUTE_ERR_NO_TARGET, LBROUTE_REASON_DRAINING);
    fleet_drain(&fleet, 0, 0);
    fleet_set_weight(&fleet, 1, 1);
    assert_true(fleet_serve(&fleet) != FLEET_NONE);
    fleet_close(&fleet);
}

static void rnd_kind_every_way_to_reject(void **state)
{
    (void)state;
    fleet_for_each_strategy(every_way_to_reject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rnd_02_first_doubled_last_zero),
        cmocka_unit_test(rnd_03_same_seed_everywhere),
        cmocka_unit_test(rnd_04_success_without_a_server),
        cmocka_unit_test(rnd_kind_every_size_is_uniform),
        cmocka_unit_test(rnd_kind_share_of_an_absent_target),
        cmocka_unit_test(rnd_kind_pairs_are_independent),
        cmocka_unit_test(rnd_kind_neighbouring_seeds),
        cmocka_unit_test(rnd_kind_first_choice_over_seeds),
        cmocka_unit_test(rnd_kind_every_way_to_reject),
    };
    return cmocka_run_group_tests_name("RND", tests, NULL, NULL);
}
