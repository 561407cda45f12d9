/* SPDX-License-Identifier: MIT */
/* models/throughput: the time between two ends of requests. */
#include "models/throughput.h"

#include <math.h>

#include "support/rng.h"
#include "support/test.h"

static void unknown_at_first(void **state)
{
    struct lbr_throughput throughput = {0, 0, 0};
    (void)state;

    assert_true(isnan(lbr_throughput_gap(&throughput, 5)));
    lbr_throughput_ended(&throughput, 4 * TEST_S);
    assert_near(lbr_throughput_gap(&throughput, 4), TEST_S, 0);
    assert_true(isnan(lbr_throughput_gap(&throughput, 0)));
}

/* The first ones count alike; after that the latest counts 1/32. */
static void its_mean(void **state)
{
    struct lbr_throughput throughput = {0, 0, 0};
    double expected = 0;
    (void)state;

    for (int i = 1; i <= 32; i++)
        lbr_throughput_ended(&throughput, (uint64_t)i * TEST_MS);
    assert_near(throughput.mean, 16.5 * (double)TEST_MS, 1);
    expected = throughput.mean;
    for (int i = 0; i < 100; i++) {
        lbr_throughput_ended(&throughput, 100 * TEST_MS);
        expected = expected * 31 / 32 + 100 * (double)TEST_MS / 32;
        assert_near(throughput.mean, expected, 1e-9 * expected);
    }
}

/* Little's law: a fleet of n slots that are always taken ends a request every
 * mean / n, whatever the times are like. */
static void predicts_a_busy_fleet(void **state)
{
    enum { SLOTS = 8, ENDS = 40000 };
    struct lbr_throughput throughput = {0, 0, 0};
    struct test_rng rng = {9};
    uint64_t begun[SLOTS] = {0};
    uint64_t ends[SLOTS];
    uint64_t now = 0;
    double predicted = 0;
    (void)state;

    for (size_t i = 0; i < SLOTS; i++)
        ends[i] = TEST_MS * (1 + test_rng_below(&rng, 2000));
    for (int n = 0; n < ENDS; n++) {
        size_t next = 0;
        for (size_t i = 1; i < SLOTS; i++)
            if (ends[i] < ends[next])
                next = i;
        now = ends[next];
        lbr_throughput_ended(&throughput, now - begun[next]);
        begun[next] = now;
        ends[next] = now + TEST_MS * (1 + test_rng_below(&rng, 2000));
        predicted += lbr_throughput_gap(&throughput, SLOTS);
    }
    assert_near(predicted / (double)now, 1, 0.01);
}

static void edges(void **state)
{
    struct lbr_throughput throughput = {0, 0, 0};
    (void)state;

    lbr_throughput_ended(&throughput, UINT64_MAX);
    lbr_throughput_ended(&throughput, 0);
    assert_true(isfinite(lbr_throughput_gap(&throughput, 1)));
    assert_true(lbr_throughput_gap(&throughput, UINT64_MAX) >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_at_first),
        cmocka_unit_test(its_mean),
        cmocka_unit_test(predicts_a_busy_fleet),
        cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests_name("throughput", tests, NULL, NULL);
}
