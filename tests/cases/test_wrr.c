/* SPDX-License-Identifier: MIT */
/* Field reports WRR: smooth weighted round robin. */
#include <stdlib.h>
#include <string.h>

#include "support/fleet.h"
#include "support/rng.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

/* ---- helpers ---- */

static void open_weights(struct fleet *fleet, const double *weights, size_t n)
{
    fleet_open(fleet, "weighted", 0, 1);
    for (size_t i = 0; i < n; i++)
        fleet_add_weight(fleet, weights[i]);
}

/* Longest run of letters that are (|same|) or are not |letter|. */
static size_t longest(const char *letters, char letter, int same)
{
    size_t run = 0, most = 0;

    for (; *letters != '\0'; letters++) {
        run = (*letters == letter) == same ? run + 1 : 0;
        most = run > most ? run : most;
    }
    return most;
}

static size_t count_of(const char *letters, char letter)
{
    size_t count = 0;

    for (; *letters != '\0'; letters++)
        count += *letters == letter;
    return count;
}

/* nginx's rule with integer weights, as an oracle: each usable peer gains its
 * weight, the highest sum is served and pays the total. */
struct oracle {
    int64_t weight[16];
    int64_t sum[16];
    int usable[16];
    size_t count;
};

static size_t oracle_add(struct oracle *oracle, int64_t weight)
{
    oracle->weight[oracle->count] = weight;
    oracle->sum[oracle->count] = 0;
    oracle->usable[oracle->count] = 1;
    return oracle->count++;
}

static size_t oracle_pick(struct oracle *oracle)
{
    int64_t total = 0;
    size_t best = FLEET_NONE;

    for (size_t i = 0; i < oracle->count; i++) {
        if (!oracle->usable[i] || oracle->weight[i] == 0)
            continue;
        oracle->sum[i] += oracle->weight[i];
        total += oracle->weight[i];
        if (best == FLEET_NONE || oracle->sum[i] > oracle->sum[best])
            best = i;
    }
    if (best != FLEET_NONE)
        oracle->sum[best] -= total;
    return best;
}

static void expect_like_oracle(struct fleet *fleet, struct oracle *oracle,
                               size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(fleet_serve(fleet), oracle_pick(oracle));
}

/* ---- the reported cases ---- */

/* Raising a weight stopped that target's traffic for a moment. */
static void wrr_01_nothing_after_a_raise(void **state)
{
    static const double weights[3] = {100, 100, 25};
    char letters[267];
    (void)state;

    for (size_t k = 0; k <= 56; k += 7) {
        struct fleet fleet;
        open_weights(&fleet, weights, 3);
        for (size_t i = 0; i < k; i++)
            fleet_serve(&fleet);
        fleet_set_weight(&fleet, C, 66);
        fleet_letters(&fleet, 266, letters);
        assert_near(count_of(letters, 'A'), 100, 2);
        assert_near(count_of(letters, 'B'), 100, 2);
        assert_near(count_of(letters, 'C'), 66, 2);
        assert_true(longest(letters, 'A', 0) <= 2);
        assert_true(longest(letters, 'B', 0) <= 2);
        assert_true(longest(letters, 'C', 0) <= 4);
        fleet_close(&fleet);
    }
}

/* The lighter of two nodes was first used on request 11. */
static void wrr_03_second_target_comes_late(void **state)
{
    static const double weights[2] = {21, 11};
    struct fleet fleet;
    (void)state;

    open_weights(&fleet, weights, 2);
    fleet_expect(&fleet, "ABAABAABAABAABAABABAABAABAABAABA");
    fleet_close(&fleet);
}

/* A light endpoint waited for its far deadline and got nothing for hours. */
static void wrr_04_light_endpoint_unused(void **state)
{
    static const double weights[2] = {100, 10};
    char letters[111];
    struct fleet fleet;
    (void)state;

    open_weights(&fleet, weights, 2);
    fleet_letters(&fleet, 110, letters);
    for (size_t i = 0; i < 110; i++)
        assert_int_equal(letters[i], i % 11 == 5 ? 'B' : 'A');
    assert_int_equal(count_of(letters, 'B'), 10);
    assert_true(longest(letters, 'A', 1) <= 10);
    fleet_close(&fleet);
}

/* A pair of weights |ratio| to 1 at any scale gives |ratio| to 1. */
static void check_ratio(double scale, size_t ratio)
{
    const double weights[2] = {scale * (double)ratio, scale};
    struct fleet fleet;

    open_weights(&fleet, weights, 2);
    for (size_t i = 0; i < 12 * (ratio + 1); i++)
        fleet_serve(&fleet);
    assert_int_equal(fleet.picks[A], 12 * ratio);
    assert_int_equal(fleet.picks[B], 12);
    fleet_close(&fleet);
}

/* A deadline computed once from a tiny weight outlived that weight. */
static void wrr_07_tiny_weight_never_served(void **state)
{
    static const double hundredth[2] = {1.0, 0.01};
    static const double thousandth[2] = {1.0, 0.001};
    char letters[1011];
    struct fleet fleet;
    (void)state;

    open_weights(&fleet, hundredth, 2);
    fleet_letters(&fleet, 1010, letters);
    assert_int_equal(count_of(letters, 'B'), 10);
    assert_int_equal(strchr(letters, 'B') - letters, 50);
    fleet_close(&fleet);

    open_weights(&fleet, thousandth, 2);
    for (size_t i = 0; i < 100; i++)
        fleet_serve(&fleet);
    fleet_set_weight(&fleet, B, 1.0);
    fleet_letters(&fleet, 20, letters);
    assert_near(count_of(letters, 'B'), 10, 1);
    assert_true(longest(letters, 'B', 0) <= 2);
    fleet_close(&fleet);

    check_ratio(0.3, 3);
    check_ratio(1e-6, 3);
    check_ratio(1e-6, 1000);
    check_ratio(1e7, 3);
    check_ratio(1e7, 100);
}

static void outage_by_limit(struct fleet *fleet, int begin)
{
    if (begin) {
        fleet_set_limit(fleet, A, 1);
        fleet_hold(fleet, A, 1);
    } else {
        fleet_settle(fleet, A, LBROUTE_EVENT_SUCCESS);
    }
}

static void outage_by_removal(struct fleet *fleet, int begin)
{
    static double weight;
    lbroute_target_info info;

    if (begin) {
        lbroute_target_info_init(&info, sizeof info);
        assert_int_equal(
            lbroute_target_get_info(fleet->router, fleet->targets[A], &info),
            LBROUTE_OK);
        weight = info.weight;
        fleet_remove(fleet, A);
    } else {
        fleet_add_again(fleet, A);
        fleet_set_weight(fleet, A, weight);
    }
}

/* A server that came back was given a default weight. */
static void wrr_08_ratio_lost_after_recovery(void **state)
{
    static void (*const outages[2])(struct fleet *, int) = {outage_by_limit,
                                                            outage_by_removal};
    static const double passive[2] = {10000000, 0};
    static const double active[2] = {3, 1};
    char letters[41];
    struct fleet fleet;
    (void)state;

    for (size_t way = 0; way < 2; way++) {
        open_weights(&fleet, passive, 2);
        outages[way](&fleet, 1);
        fleet_expect(&fleet, "-----");
        outages[way](&fleet, 0);
        fleet_expect(&fleet, "AAAAAAAAAAAAAAAAAAAA");
        fleet_close(&fleet);

        for (size_t before = 0; before < 8; before++) {
            open_weights(&fleet, active, 2);
            for (size_t i = 0; i < before; i++)
                fleet_serve(&fleet);
            outages[way](&fleet, 1);
            fleet_expect(&fleet, "BBBBB");
            outages[way](&fleet, 0);
            fleet_letters(&fleet, 40, letters);
            assert_near(count_of(letters, 'A'), 30, 1);
            assert_true(longest(letters, 'A', 1) <= 4);
            fleet_close(&fleet);
        }
    }
}

/* ---- more of the same kind ---- */

/* The sequence is nginx's for all sorts of weights, over several cycles. */
static void wrr_kind_sequence_is_exact(void **state)
{
    struct test_rng rng = {2};
    (void)state;

    for (int round = 0; round < 60; round++) {
        struct oracle oracle = {{0}, {0}, {0}, 0};
        struct fleet fleet;
        size_t n = 1 + test_rng_below(&rng, 16);
        size_t range = (size_t)1 << test_rng_below(&rng, 12);
        fleet_open(&fleet, "weighted", 0, 1);
        for (size_t i = 0; i < n; i++) {
            int64_t weight = 1 + (int64_t)test_rng_below(&rng, range);
            oracle_add(&oracle, weight);
            fleet_add_weight(&fleet, (double)weight);
        }
        expect_like_oracle(&fleet, &oracle, 600);
        fleet_close(&fleet);
    }
}

/* Decimals alternate like the whole numbers they stand for. */
static void wrr_kind_decimal_weights(void **state)
{
    static const int64_t whole[4] = {1, 2, 3, 7};
    static const double scales[] = {10, 100, 1e3, 1e6};
    (void)state;

    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        struct oracle oracle = {{0}, {0}, {0}, 0};
        struct fleet fleet;
        fleet_open(&fleet, "weighted", 0, 1);
        for (size_t i = 0; i < 4; i++) {
            oracle_add(&oracle, whole[i]);
            fleet_add_weight(&fleet, (double)whole[i] / scales[s]);
        }
        expect_like_oracle(&fleet, &oracle, 2000);
        fleet_close(&fleet);
    }
}

/* One random change to fleet and oracle alike. */
static void change_at_random(struct fleet *fleet, struct oracle *oracle,
                             struct test_rng *rng)
{
    size_t i = test_rng_below(rng, oracle->count);
    int64_t weight = (int64_t)test_rng_below(rng, 9);

    switch (test_rng_below(rng, 4)) {
    case 0:
        oracle->weight[i] = weight;
        fleet_set_weight(fleet, i, (double)weight);
        break;
    case 1:
        oracle->usable[i] = !oracle->usable[i];
        fleet_drain(fleet, i, !oracle->usable[i]);
        break;
    case 2:
        fleet_reapply(fleet, i);
        fleet_gauge(fleet, i, LBROUTE_GAUGE_RUNNING, (double)weight);
        break;
    default:
        if (oracle->count < 12) {
            oracle_add(oracle, weight);
            fleet_add_weight(fleet, (double)weight);
        }
        break;
    }
}

/* Weights that change, targets that come and flap: all sums are kept, and who
 * is skipped gains nothing meanwhile. */
static void wrr_kind_exact_under_changes(void **state)
{
    struct test_rng rng = {7};
    (void)state;

    for (int round = 0; round < 20; round++) {
        struct oracle oracle = {{0}, {0}, {0}, 0};
        struct fleet fleet;
        fleet_open(&fleet, "weighted", 0, 1);
        for (size_t i = 0; i < 3; i++) {
            oracle_add(&oracle, (int64_t)i + 1);
            fleet_add_weight(&fleet, (double)(i + 1));
        }
        for (int change = 0; change < 100; change++) {
            change_at_random(&fleet, &oracle, &rng);
            expect_like_oracle(&fleet, &oracle, test_rng_below(&rng, 12));
        }
        fleet_close(&fleet);
    }
}

/* Each request may exclude targets of its own: only those that took part gain
 * or pay. */
static void wrr_kind_exact_under_exclusions(void **state)
{
    struct test_rng rng = {3};
    struct oracle oracle = {{0}, {0}, {0}, 0};
    struct fleet fleet;
    lbroute_target out[6];
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    for (size_t i = 0; i < 6; i++) {
        oracle_add(&oracle, (int64_t)(i % 4) + 1);
        fleet_add_weight(&fleet, (double)(i % 4) + 1);
    }
    fleet.request.exclude = out;
    for (int i = 0; i < 5000; i++) {
        fleet.request.exclude_len = 0;
        for (size_t t = 0; t < 6; t++) {
            oracle.usable[t] = test_rng_below(&rng, 3) != 0;
            if (!oracle.usable[t])
                out[fleet.request.exclude_len++] = fleet.targets[t];
        }
        expect_like_oracle(&fleet, &oracle, 1);
    }
    fleet_close(&fleet);
}

/* Targets that fill up and empty again keep the ratio of the rest. */
static void wrr_kind_exact_when_full(void **state)
{
    struct test_rng rng = {13};
    struct oracle oracle = {{0}, {0}, {0}, 0};
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    for (size_t i = 0; i < 5; i++) {
        oracle_add(&oracle, (int64_t)i + 1);
        fleet_add_weight(&fleet, (double)i + 1);
        fleet_set_limit(&fleet, i, 3);
    }
    for (int i = 0; i < 5000; i++) {
        for (size_t t = 0; t < 5; t++)
            oracle.usable[t] = fleet_in_flight(&fleet, t) < 3;
        assert_int_equal(fleet_pick(&fleet), oracle_pick(&oracle));
        while (fleet.held_count > 10 + test_rng_below(&rng, 5))
            fleet_settle(&fleet, fleet.held[test_rng_below(&rng, 3)].index,
                         LBROUTE_EVENT_SUCCESS);
    }
    fleet_close(&fleet);
}

/* After a removal the rest is served by its weights at once. What the removed
 * target had gained or owed shows only once, for the heaviest as a few turns.
 */
static void wrr_kind_removal_keeps_the_rest(void **state)
{
    static const double weights[4] = {5, 1, 3, 40};
    (void)state;

    for (size_t gone = 0; gone < 4; gone++) {
        for (size_t before = 0; before < 60; before += 7) {
            struct fleet fleet;
            double rest = 49 - weights[gone];
            open_weights(&fleet, weights, 4);
            for (size_t i = 0; i < before; i++)
                fleet_serve(&fleet);
            fleet_remove(&fleet, gone);
            fleet_reset_picks(&fleet);
            for (size_t i = 0; i < (size_t)rest * 4; i++)
                fleet_serve(&fleet);
            for (size_t i = 0; i < 4; i++)
                assert_near(fleet.picks[i], i == gone ? 0 : 4 * weights[i],
                            i == gone ? 0 : (gone == 3 ? 4 : 2));
            fleet_close(&fleet);
        }
    }
}

/* Equal weights of any value go round in list order. */
static void wrr_kind_equal_weights_rotate(void **state)
{
    static const double values[] = {1e-6, 0.1, 1, 3.7, 1e9};
    (void)state;

    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        struct fleet fleet;
        fleet_open(&fleet, "weighted", 0, 1);
        for (size_t i = 0; i < 7; i++)
            fleet_add_weight(&fleet, values[v]);
        for (size_t i = 0; i < 700; i++)
            assert_int_equal(fleet_serve(&fleet), i % 7);
        fleet_close(&fleet);
    }
}

/* The whole range of weights in one pool: the heavy ones share, the lightest
 * waits its 10^15 turns, nothing overflows. */
static void wrr_kind_whole_range_at_once(void **state)
{
    static const double weights[4] = {1e9, 1e9, 1e-6, 5e8};
    struct fleet fleet;
    (void)state;

    open_weights(&fleet, weights, 4);
    for (size_t i = 0; i < 10000; i++)
        fleet_serve(&fleet);
    assert_int_equal(fleet.picks[0], 4000);
    assert_int_equal(fleet.picks[1], 4000);
    assert_int_equal(fleet.picks[2], 0);
    assert_int_equal(fleet.picks[3], 2000);
    fleet_set_weight(&fleet, 2, 1e9);
    fleet_reset_picks(&fleet);
    for (size_t i = 0; i < 70; i++)
        fleet_serve(&fleet);
    assert_near(fleet.picks[2], 20, 1);
    fleet_close(&fleet);
}

/* The heaviest weights use up any sum soonest. Nothing happens when they do:
 * the order goes on. */
static void wrr_kind_sums_run_out(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    for (size_t i = 0; i < 3; i++)
        fleet_add_weight(&fleet, 1e9);
    for (size_t i = 0; i < 5200000; i++)
        if (fleet_serve(&fleet) != i % 3)
            fail_msg("out of order at pick %zu", i);
    fleet_close(&fleet);
}

/* A new target among many ramps up and has its full share when the ramp ends,
 * without waiting out a turn computed from its first, tiny weight. */
static void wrr_kind_slow_start_ends(void **state)
{
    struct fleet fleet;
    size_t fresh;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    fleet_param(&fleet, "health.slow_start", 60);
    for (size_t i = 0; i < 20; i++)
        fleet_add(&fleet);
    fleet.now = 100 * TEST_S;
    fresh = fleet_add(&fleet);
    for (size_t i = 0; i < 210; i++)
        fleet_serve(&fleet);
    assert_true(fleet.picks[fresh] < 10);
    fleet.now += 60 * TEST_S;
    fleet_reset_picks(&fleet);
    for (size_t i = 0; i < 210; i++)
        fleet_serve(&fleet);
    assert_near(fleet.picks[fresh], 10, 1);
    fleet_close(&fleet);
}

/* A target that was away for long comes back without a burst. */
static void wrr_kind_no_catch_up(void **state)
{
    static const double weights[3] = {4, 2, 1};
    char letters[71];
    (void)state;

    for (size_t away = 0; away < 3; away++) {
        struct fleet fleet;
        open_weights(&fleet, weights, 3);
        fleet_expect(&fleet, "AB");
        fleet_drain(&fleet, away, 1);
        for (size_t i = 0; i < 1000; i++)
            fleet_serve(&fleet);
        fleet_drain(&fleet, away, 0);
        fleet_letters(&fleet, 70, letters);
        for (size_t i = 0; i < 3; i++)
            assert_near(count_of(letters, (char)('A' + (char)i)),
                        10 * weights[i], 1);
        assert_true(longest(letters, 'A', 1) <= 3);
        fleet_close(&fleet);
    }
}

/* Pools keep sums of their own, and a change of strategy and back works. */
static void wrr_kind_sums_per_pool(void **state)
{
    struct fleet fleet;
    lbroute_pool pools[2];
    struct oracle oracles[2] = {{{0}, {0}, {0}, 0}, {{0}, {0}, {0}, 0}};
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    pools[0] = fleet.pool;
    fleet_add_weight(&fleet, 3);
    fleet_add_weight(&fleet, 1);
    pools[1] = fleet_add_pool(&fleet, "second", "weighted");
    fleet_add_weight(&fleet, 2);
    fleet_add_weight(&fleet, 5);
    oracle_add(&oracles[0], 3);
    oracle_add(&oracles[0], 1);
    oracle_add(&oracles[1], 2);
    oracle_add(&oracles[1], 5);
    for (size_t i = 0; i < 200; i++) {
        size_t which = i % 3 == 0;
        fleet.request.pool = pools[which];
        assert_int_equal(fleet_serve(&fleet),
                         2 * which + oracle_pick(&oracles[which]));
    }
    fleet_close(&fleet);
}

/* A model that several pools serve is shared by weight, whatever the pools'
 * strategies; within one pool that pool's rule counts. */
static void wrr_kind_model_across_pools(void **state)
{
    struct fleet fleet;
    lbroute_target_options options;
    lbroute_pool pools[2];
    char letters[7];
    (void)state;

    fleet_open(&fleet, "random", 0, 1);
    pools[0] = fleet.pool;
    pools[1] = fleet_add_pool(&fleet, "second", "round_robin");
    for (size_t i = 0; i < 2; i++) {
        lbroute_target_options_init(&options, sizeof options);
        options.pool = pools[i];
        options.weight = i == 0 ? 3 : 1;
        options.model = "m";
        options.model_len = 1;
        fleet_add_options(&fleet, &options);
    }
    fleet.request.pool = 0;
    fleet.request.model = "m";
    fleet.request.model_len = 1;
    fleet_expect(&fleet, "AABAAABA");
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_WEIGHTED);
    /* Moved together, both obey the rule of their pool. */
    options.weight = 3;
    assert_int_equal(lbroute_target_update(fleet.router, fleet.targets[A],
                                           &options, fleet.now),
                     LBROUTE_OK);
    fleet_letters(&fleet, 6, letters);
    assert_int_equal(count_of(letters, 'A'), 3);
    assert_true(longest(letters, 'A', 1) == 1);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_ROUND_ROBIN);
    /* One in no pool at all: by weight again. */
    options.pool = 0;
    assert_int_equal(lbroute_target_update(fleet.router, fleet.targets[A],
                                           &options, fleet.now),
                     LBROUTE_OK);
    fleet_reset_picks(&fleet);
    for (int i = 0; i < 40; i++)
        fleet_serve(&fleet);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_WEIGHTED);
    assert_near(fleet.picks[A], 30, 1);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrr_01_nothing_after_a_raise),
        cmocka_unit_test(wrr_03_second_target_comes_late),
        cmocka_unit_test(wrr_04_light_endpoint_unused),
        cmocka_unit_test(wrr_07_tiny_weight_never_served),
        cmocka_unit_test(wrr_08_ratio_lost_after_recovery),
        cmocka_unit_test(wrr_kind_sequence_is_exact),
        cmocka_unit_test(wrr_kind_decimal_weights),
        cmocka_unit_test(wrr_kind_exact_under_changes),
        cmocka_unit_test(wrr_kind_exact_under_exclusions),
        cmocka_unit_test(wrr_kind_exact_when_full),
        cmocka_unit_test(wrr_kind_removal_keeps_the_rest),
        cmocka_unit_test(wrr_kind_equal_weights_rotate),
        cmocka_unit_test(wrr_kind_whole_range_at_once),
        cmocka_unit_test(wrr_kind_sums_run_out),
        cmocka_unit_test(wrr_kind_slow_start_ends),
        cmocka_unit_test(wrr_kind_no_catch_up),
        cmocka_unit_test(wrr_kind_sums_per_pool),
        cmocka_unit_test(wrr_kind_model_across_pools),
    };
    return cmocka_run_group_tests_name("WRR", tests, NULL, NULL);
}
