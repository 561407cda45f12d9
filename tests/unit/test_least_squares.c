/* SPDX-License-Identifier: MIT */
/* Recursive least squares against a batch fit in long double, and what must
 * hold for any input: no negative slope, nothing that is not finite, no
 * wild sample that counts for much. */
#include "models/least_squares.h"

#include <math.h>
#include <string.h>

#include "least_squares_model.h"
#include "support/rng.h"
#include "support/test.h"

static double uniform(struct test_rng *rng, double low, double high)
{
    return low + (high - low) * (double)(test_rng_next(rng) >> 11) * 0x1p-53;
}

/* A plane in ns over kilotokens, with relative noise. */
static double measured(struct test_rng *rng, const double plane[3],
                       double queue, double input, double noise)
{
    return (plane[0] + plane[1] * queue + plane[2] * input) *
           (1 + uniform(rng, -noise, noise));
}

static const double usual[3] = {50e6, 40e6, 60e6};

/* Teaches |count| samples of a plane at random points. */
static void teach(struct lbr_least_squares *model, struct test_rng *rng,
                  const double plane[3], size_t count, double noise)
{
    for (size_t i = 0; i < count; i++) {
        double queue = uniform(rng, 0, 20);
        double input = uniform(rng, 0.01, 8);

        lbr_least_squares_add(model, queue, input,
                              measured(rng, plane, queue, input, noise), NULL);
    }
}

static void check_plane(const struct lbr_least_squares *model,
                        const double plane[3], double margin)
{
    for (double queue = 0; queue <= 20; queue += 5)
        for (double input = 0.5; input <= 8; input += 2.5) {
            double wanted = plane[0] + plane[1] * queue + plane[2] * input;

            assert_near(lbr_least_squares_at(model, queue, input), wanted,
                        margin * wanted);
        }
}

static void check_sane(const struct lbr_least_squares *model)
{
    assert_in_real_range(model->plane.base, -1e300, 1e300);
    assert_true(lbr_least_squares_at(model, 0, 0) > 0);
    assert_in_real_range(model->plane.per_queue, 0, 1e300);
    assert_in_real_range(model->plane.per_input, 0, 1e300);
}

/* Both forms see the same samples; |prior| or none. */
static void compare(uint64_t seed, double noise, const struct lbr_plane *prior,
                    size_t count)
{
    static struct squares_model batch;
    struct lbr_least_squares model = {.samples = 0};
    struct test_rng rng = {seed};
    double centre[3];
    double plane[3];

    squares_init(&batch);
    for (int i = 0; i < 3; i++)
        plane[i] = usual[i] * uniform(&rng, 0, 2);
    if (prior) {
        centre[0] = prior->base;
        centre[1] = prior->per_queue;
        centre[2] = prior->per_input;
    }
    for (size_t i = 0; i < count; i++) {
        double queue = uniform(&rng, 0, 20);
        double input = uniform(&rng, 0, 8);
        double value = measured(&rng, plane, queue, input, noise);

        if (test_rng_below(&rng, 50) == 0)
            value *= uniform(&rng, 0.01, 100);
        squares_add(&batch, queue, input, value, prior ? centre : NULL);
        lbr_least_squares_add(&model, queue, input, value, prior);
        queue = uniform(&rng, 0, 20);
        input = uniform(&rng, 0.1, 8);
        assert_near(lbr_least_squares_at(&model, queue, input),
                    (double)squares_at(&batch, queue, input),
                    1e-7 * (double)squares_at(&batch, queue, input));
    }
}

static void same_as_the_batch_fit(void **state)
{
    struct lbr_plane prior = {30e6, 20e6, 90e6};
    (void)state;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        compare(seed, 0.02, NULL, 400);
        compare(seed, 0.3, NULL, 400);
        compare(seed, 0.3, &prior, 400);
    }
}

static void exact_samples_give_the_plane(void **state)
{
    struct lbr_least_squares model = {.samples = 0};
    struct test_rng rng = {1};
    (void)state;

    teach(&model, &rng, usual, 2000, 0);
    check_plane(&model, usual, 0.002);
    assert_int_equal(model.samples, 2000);
}

static void known_from_the_eighth_sample(void **state)
{
    struct lbr_least_squares model = {.samples = 0};
    struct test_rng rng = {1};
    (void)state;

    for (int i = 0; i < 8; i++) {
        assert_false(lbr_least_squares_known(&model));
        teach(&model, &rng, usual, 1, 0);
    }
    assert_true(lbr_least_squares_known(&model));
}

/* The unit of latency does not matter. */
static void scale_does_not_matter(void **state)
{
    struct lbr_least_squares small = {.samples = 0};
    struct lbr_least_squares large = {.samples = 0};
    struct test_rng rng = {3};
    (void)state;

    for (int i = 0; i < 1000; i++) {
        double queue = uniform(&rng, 0, 20);
        double input = uniform(&rng, 0, 8);
        double value = measured(&rng, usual, queue, input, 0.2);

        lbr_least_squares_add(&small, queue, input, value, NULL);
        lbr_least_squares_add(&large, queue, input, value * 1e9, NULL);
    }
    assert_near(lbr_least_squares_at(&large, 7, 3) / 1e9,
                lbr_least_squares_at(&small, 7, 3),
                1e-6 * lbr_least_squares_at(&small, 7, 3));
}

/* One wild sample, however wild, moves no prediction by more than a few
 * percent of itself; of a model that is young, by some more. */
static void one_wild_sample(void **state)
{
    static const double wild[] = {1e-12, 1e-3, 0.1, 10, 1e3, 1e12};
    (void)state;

    for (size_t w = 0; w < sizeof wild / sizeof wild[0]; w++)
        for (uint64_t seed = 1; seed <= 50; seed++) {
            struct lbr_least_squares model = {.samples = 0};
            struct lbr_least_squares before;
            struct test_rng rng = {seed};
            double queue = uniform(&rng, 0, 20);
            double input = uniform(&rng, 0.01, 8);
            double most = seed < 6 ? 0.07 : 0.035;
            double value;

            teach(&model, &rng, usual, 8 + (size_t)seed * 5, 0.1);
            before = model;
            value = lbr_least_squares_at(&model, queue, input);
            lbr_least_squares_add(&model, queue, input, value * wild[w], NULL);
            assert_near(lbr_least_squares_at(&model, queue, input), value,
                        most * value);
            value = lbr_least_squares_at(&before, 5, 2);
            assert_near(lbr_least_squares_at(&model, 5, 2), value,
                        2 * most * value);
        }
}

/* An odd sample right at the beginning is got over within 50 others. */
static void a_wild_start(void **state)
{
    static const double wild[] = {1e-3, 0.05, 20, 1e3};
    (void)state;

    for (size_t w = 0; w < sizeof wild / sizeof wild[0]; w++)
        for (size_t first = 1; first <= 2; first++) {
            struct lbr_least_squares model = {.samples = 0};
            struct test_rng rng = {first};

            for (size_t i = 0; i < first; i++)
                lbr_least_squares_add(&model, 2, 2, 250e6 * wild[w], NULL);
            for (int i = 0; i < 50; i++)
                lbr_least_squares_add(&model, 2, 2,
                                      measured(&rng, usual, 2, 2, 0.05), NULL);
            assert_in_real_range(lbr_least_squares_at(&model, 2, 2), 125e6,
                                 500e6);
        }
}

static void constant_input(void **state)
{
    struct lbr_least_squares model = {.samples = 0};
    struct test_rng rng = {5};
    (void)state;

    for (int i = 0; i < 1000000; i++)
        lbr_least_squares_add(&model, 3, 2, measured(&rng, usual, 3, 2, 0.02),
                              NULL);
    check_sane(&model);
    assert_near(lbr_least_squares_at(&model, 3, 2), 290e6, 0.01 * 290e6);
    teach(&model, &rng, usual, 1000, 0.02);
    check_plane(&model, usual, 0.06);
}

/* Queue and input always the same, then not any more. */
static void collinear_input(void **state)
{
    struct lbr_least_squares model = {.samples = 0};
    struct test_rng rng = {6};
    (void)state;

    for (int i = 0; i < 100000; i++) {
        double both = uniform(&rng, 0, 8);

        lbr_least_squares_add(&model, both, both,
                              measured(&rng, usual, both, both, 0.02), NULL);
    }
    check_sane(&model);
    assert_near(lbr_least_squares_at(&model, 4, 4), 450e6, 0.02 * 450e6);
    teach(&model, &rng, usual, 1000, 0.02);
    check_plane(&model, usual, 0.06);
}

static void never_a_queue(void **state)
{
    struct lbr_least_squares model = {.samples = 0};
    struct lbr_plane prior = {1, 70e6, 1};
    (void)state;

    for (int i = 0; i < 100; i++)
        lbr_least_squares_add(&model, 0, i % 7, 50e6 + 60e6 * (i % 7), NULL);
    assert_near(model.plane.per_queue, 60e6, 3e6); /* as its own input */
    for (int i = 0; i < 100; i++)
        lbr_least_squares_add(&model, 0, i % 7, 50e6 + 60e6 * (i % 7), &prior);
    assert_near(model.plane.per_queue, 70e6, 1e6); /* as the others say */
    assert_near(model.plane.per_input, 60e6, 3e6);
}

/* Where the true plane slopes down, the best one that does not is level. */
static void no_negative_slope(void **state)
{
    struct lbr_least_squares model = {.samples = 0};
    struct test_rng rng = {7};
    (void)state;

    for (int i = 0; i < 2000; i++) {
        double queue = uniform(&rng, 0, 9);
        double input = uniform(&rng, 0, 9);

        lbr_least_squares_add(&model, queue, input, 100e6 - 10e6 * queue, NULL);
        check_sane(&model);
    }
    assert_near(model.plane.per_queue, 0, 0);
    assert_in_real_range(lbr_least_squares_at(&model, 5, 5), 10e6, 100e6);
}

/* Within 300 samples the mean error is below 15 %, whatever the step. */
static void a_step_is_followed_soon(void **state)
{
    static const double steps[] = {0.1, 0.5, 2, 5, 10};
    (void)state;

    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        struct lbr_least_squares model = {.samples = 0};
        struct test_rng rng = {k + 1};
        double stepped[3];
        double error = 0;

        for (int i = 0; i < 3; i++)
            stepped[i] = usual[i] * steps[k];
        teach(&model, &rng, usual, 3000, 0.1);
        teach(&model, &rng, stepped, 300, 0.1);
        for (double queue = 0; queue <= 20; queue += 5)
            for (double input = 1; input < 8; input += 3)
                error += fabs(lbr_least_squares_at(&model, queue, input) /
                                  (stepped[0] + stepped[1] * queue +
                                   stepped[2] * input) -
                              1) /
                         15;
        assert_in_real_range(error, 0, 0.15);
    }
}

static void a_step_is_followed(void **state)
{
    static const double slower[3] = {300e6, 20e6, 200e6};
    static const double faster[3] = {5e6, 4e6, 6e6};
    struct lbr_least_squares model = {.samples = 0};
    struct test_rng rng = {8};
    (void)state;

    teach(&model, &rng, usual, 10000, 0.02);
    teach(&model, &rng, slower, 2000, 0.02);
    check_plane(&model, slower, 0.1);
    teach(&model, &rng, faster, 2000, 0.02);
    check_plane(&model, faster, 0.1);
}

static void any_input(void **state)
{
    static const double odd[] = {0, 1e-9, 1e-3, 1, 1e3, 1e9, 1e30};
    struct lbr_least_squares model = {.samples = 0};
    struct test_rng rng = {9};
    (void)state;

    for (int i = 0; i < 200000; i++) {
        lbr_least_squares_add(&model, odd[test_rng_below(&rng, 7)],
                              odd[test_rng_below(&rng, 7)],
                              odd[test_rng_below(&rng, 7)], NULL);
        check_sane(&model);
        assert_true(isfinite(model.usual_error) && isfinite(model.level));
    }
}

static void bad_values_change_nothing(void **state)
{
    static const double bad[] = {-1, (double)-INFINITY, (double)INFINITY,
                                 (double)NAN, 1e31};
    struct lbr_least_squares model = {.samples = 0};
    struct lbr_least_squares before;
    struct test_rng rng = {10};
    (void)state;

    teach(&model, &rng, usual, 20, 0.1);
    before = model;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lbr_least_squares_add(&model, bad[i], 1, 1, NULL);
        lbr_least_squares_add(&model, 1, bad[i], 1, NULL);
        lbr_least_squares_add(&model, 1, 1, bad[i], NULL);
    }
    lbr_least_squares_add(&model, 1, 1, 0, NULL);
    assert_memory_equal(&model, &before, sizeof model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_the_batch_fit),
        cmocka_unit_test(exact_samples_give_the_plane),
        cmocka_unit_test(known_from_the_eighth_sample),
        cmocka_unit_test(scale_does_not_matter),
        cmocka_unit_test(one_wild_sample),
        cmocka_unit_test(a_wild_start),
        cmocka_unit_test(constant_input),
        cmocka_unit_test(collinear_input),
        cmocka_unit_test(never_a_queue),
        cmocka_unit_test(no_negative_slope),
        cmocka_unit_test(a_step_is_followed_soon),
        cmocka_unit_test(a_step_is_followed),
        cmocka_unit_test(any_input),
        cmocka_unit_test(bad_values_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
