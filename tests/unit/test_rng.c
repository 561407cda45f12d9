/* SPDX-License-Identifier: MIT */
/* base/rng: the generator is PCG, its draws are uniform, its seeds unrelated.
 */
#include "base/rng.h"

#include "statistics.h"
#include "support/test.h"

#define MULTIPLIER UINT64_C(6364136223846793005)
#define INCREMENT UINT64_C(1442695040888963407)

/* The first numbers that pcg32s gives for seed 42 (pcg-c, check-pcg32s.out):
 * its seeding is two steps around an addition. */
static void published_numbers(void **state)
{
    static const uint32_t numbers[] = {0xc2f57bd6, 0x6b07c4a9, 0x72b7b29b,
                                       0x44215383, 0xf5af5ead, 0x68beb632};
    struct lbr_rng rng = {(INCREMENT + 42) * MULTIPLIER + INCREMENT};
    (void)state;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        assert_int_equal(lbr_rng_next(&rng), numbers[i]);
}

static void a_copy_draws_the_same(void **state)
{
    struct lbr_rng rng;
    struct lbr_rng copy;
    uint64_t before;
    (void)state;

    lbr_rng_init(&rng, 7);
    copy = rng;
    before = rng.state;
    for (int i = 0; i < 100; i++)
        (void)lbr_rng_next(&copy);
    assert_true(rng.state == before);
    copy = rng;
    for (int i = 0; i < 100; i++)
        assert_int_equal(lbr_rng_next(&copy), lbr_rng_next(&rng));
}

#define MOST_CELLS 1000

static void check_uniform(uint32_t bound)
{
    uint64_t counts[MOST_CELLS] = {0};
    double parts[MOST_CELLS];
    struct lbr_rng rng;
    double statistic;

    lbr_rng_init(&rng, bound);
    for (uint32_t i = 0; i < bound; i++)
        parts[i] = 1.0 / bound;
    for (uint32_t i = 0; i < 200 * bound + 20000; i++) {
        uint32_t draw = lbr_rng_below(&rng, bound);

        assert_true(draw < bound);
        counts[draw]++;
    }
    statistic = chi_square(counts, parts, bound);
    assert_true(statistic < chi_square_limit(bound - 1));
    assert_true(statistic > chi_square_floor(bound - 1));
}

static void draws_below_a_bound_are_uniform(void **state)
{
    (void)state;
    check_uniform(2);
    check_uniform(3);
    check_uniform(7);
    check_uniform(1000);
}

/* With a bound of 3/4 of the range, taking remainders or products without
 * rejection would give some thirds twice the draws. */
static void a_large_bound_has_no_bias(void **state)
{
    static const double parts[3] = {1 / 3.0, 1 / 3.0, 1 / 3.0};
    uint64_t low[3] = {0, 0, 0};
    uint64_t parity[3] = {0, 0, 0};
    struct lbr_rng rng;
    (void)state;

    lbr_rng_init(&rng, 1);
    for (int i = 0; i < 30000; i++) {
        uint32_t draw = lbr_rng_below(&rng, 0xc0000000U);

        assert_true(draw < 0xc0000000U);
        low[draw >> 30]++;
        parity[draw % 3]++;
    }
    assert_true(chi_square(low, parts, 3) < chi_square_limit(2));
    assert_true(chi_square(parity, parts, 3) < chi_square_limit(2));
}

static void the_extreme_bounds(void **state)
{
    struct lbr_rng rng;
    (void)state;

    lbr_rng_init(&rng, 1);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(lbr_rng_below(&rng, 1), 0);
        assert_true(lbr_rng_below(&rng, UINT32_MAX) < UINT32_MAX);
    }
}

#define CELLS 16

/* The draws of seeds s and s + 1, taken together, fill a square evenly. */
static void neighbouring_seeds_are_unrelated(void **state)
{
    double parts[CELLS * CELLS];
    (void)state;

    for (size_t i = 0; i < CELLS * CELLS; i++)
        parts[i] = 1.0 / (CELLS * CELLS);
    for (int skip = 0; skip < 4; skip++) {
        uint64_t counts[CELLS * CELLS] = {0};
        uint32_t previous = 0;

        for (uint64_t seed = 0; seed <= 50000; seed++) {
            struct lbr_rng rng;
            uint32_t draw;

            lbr_rng_init(&rng, seed);
            for (int i = 0; i < skip; i++)
                (void)lbr_rng_next(&rng);
            draw = lbr_rng_below(&rng, CELLS);
            if (seed)
                counts[previous * CELLS + draw]++;
            previous = draw;
        }
        assert_true(chi_square(counts, parts, CELLS * CELLS) <
                    chi_square_limit(CELLS * CELLS - 1));
    }
}

/* Seeds that differ in one high bit only, too. */
static void every_seed_bit_counts(void **state)
{
    struct lbr_rng base;
    (void)state;

    lbr_rng_init(&base, 99);
    for (int bit = 0; bit < 64; bit++) {
        struct lbr_rng other;
        struct lbr_rng rng = base;
        int equal = 0;

        lbr_rng_init(&other, UINT64_C(99) ^ UINT64_C(1) << bit);
        for (int i = 0; i < 64; i++)
            equal += lbr_rng_below(&rng, 256) == lbr_rng_below(&other, 256);
        assert_true(equal < 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_numbers),
        cmocka_unit_test(a_copy_draws_the_same),
        cmocka_unit_test(draws_below_a_bound_are_uniform),
        cmocka_unit_test(a_large_bound_has_no_bias),
        cmocka_unit_test(the_extreme_bounds),
        cmocka_unit_test(neighbouring_seeds_are_unrelated),
        cmocka_unit_test(every_seed_bit_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
