/* SPDX-License-Identifier: MIT */
/* models/fade: steps of one sixteenth that hold until a known time. */
#include "models/fade.h"

#include "base/clock.h"
#include "support/rng.h"
#include "support/test.h"

typedef struct lbr_faded fade(uint64_t now, uint64_t since, uint64_t ttl);

/* The value of step |step| of a fall from 1 to 0. */
static double sixteenths_left(uint64_t step)
{
    return step < 16 ? (double)(16 - step) / 16.0 : 0.0;
}

static void out_is_full_for_one_ttl(void **state)
{
    (void)state;
    for (uint64_t age = 0; age < 1600; age += 7) {
        struct lbr_faded faded = lbr_fade_out(5000 + age, 5000, 1600);

        assert_near(faded.value, 1, 0);
        assert_true(faded.until == 5000 + 1600 + 100);
    }
}

static void out_falls_over_one_more(void **state)
{
    (void)state;
    for (uint64_t age = 0; age < 1600; age++) {
        struct lbr_faded faded = lbr_fade_out(5000 + 1600 + age, 5000, 1600);

        assert_near(faded.value, sixteenths_left(age / 100), 0);
        assert_true(faded.until == 5000 + 1600 + (age / 100 + 1) * 100);
    }
    for (uint64_t age = 3200; age < 10000; age += 100) {
        struct lbr_faded faded = lbr_fade_out(5000 + age, 5000, 1600);

        assert_near(faded.value, 0, 0);
        assert_true(faded.until == LBR_NEVER);
    }
}

static void in_rises_to_one(void **state)
{
    struct lbr_faded faded;
    (void)state;

    for (uint64_t age = 0; age < 1500; age++) {
        faded = lbr_fade_in(5000 + age, 5000, 1600);
        assert_near(faded.value, (double)(age / 100 + 1) / 16.0, 0);
        assert_true(faded.until == 5000 + (age / 100 + 1) * 100);
    }
    faded = lbr_fade_in(5000 + 1600, 5000, 1600);
    assert_near(faded.value, 1, 0);
    assert_true(faded.until == LBR_NEVER);
}

static void in_without_a_duration_is_one(void **state)
{
    (void)state;
    for (uint64_t duration = 0; duration < 16; duration++) {
        struct lbr_faded faded = lbr_fade_in(100, 100, duration);

        assert_near(faded.value, 1, 0);
        assert_true(faded.until == LBR_NEVER);
    }
}

/* A value must hold exactly until the time that was promised. */
static void check_promise(fade *value_at, uint64_t now, uint64_t since,
                          uint64_t ttl)
{
    struct lbr_faded faded = value_at(now, since, ttl);

    assert_in_real_range(faded.value, 0, 1);
    if (faded.until == LBR_NEVER) {
        assert_near(value_at(LBR_NEVER, since, ttl).value, faded.value, 0);
        return;
    }
    assert_true(faded.until > now);
    assert_near(value_at(faded.until - 1, since, ttl).value, faded.value, 0);
}

/* Time-to-live values that sixteen does not divide, too. */
static void promises_are_kept(void **state)
{
    struct test_rng rng = {1};
    (void)state;

    for (int i = 0; i < 20000; i++) {
        uint64_t ttl = 16 + test_rng_below(&rng, 500);
        uint64_t since = test_rng_below(&rng, 1000);
        uint64_t now = test_rng_below(&rng, 3000);

        check_promise(lbr_fade_out, now, since, ttl);
        check_promise(lbr_fade_in, now, since, ttl);
    }
}

static void values_move_one_way(void **state)
{
    (void)state;
    for (uint64_t ttl = 16; ttl < 60; ttl++)
        for (uint64_t now = 101; now < 300; now++) {
            assert_true(lbr_fade_out(now, 100, ttl).value <=
                        lbr_fade_out(now - 1, 100, ttl).value);
            assert_true(lbr_fade_in(now, 100, ttl).value >=
                        lbr_fade_in(now - 1, 100, ttl).value);
        }
}

static void the_end_is_reached_in_time(void **state)
{
    (void)state;
    for (uint64_t ttl = 16; ttl < 200; ttl++) {
        assert_near(lbr_fade_out(100 + 2 * ttl, 100, ttl).value, 0, 0);
        assert_near(lbr_fade_in(100 + ttl, 100, ttl).value, 1, 0);
        assert_near(lbr_fade_in(100, 100, ttl).value, 1 / 16.0, 0);
    }
}

/* A look back in time finds the beginning. */
static void before_the_beginning(void **state)
{
    (void)state;
    assert_near(lbr_fade_out(0, 5000, 1600).value, 1, 0);
    assert_near(lbr_fade_in(0, 5000, 1600).value, 1 / 16.0, 0);
}

static void near_the_end_of_time(void **state)
{
    uint64_t late = UINT64_MAX - 100;
    (void)state;

    assert_near(lbr_fade_out(UINT64_MAX - 50, late, 1600).value, 1, 0);
    assert_near(lbr_fade_out(late, late, UINT64_MAX).value, 1, 0);
    assert_near(lbr_fade_in(late, late, UINT64_MAX).value, 1 / 16.0, 0);
    assert_near(lbr_fade_in(UINT64_MAX, 0, 1600).value, 1, 0);
    assert_near(lbr_fade_out(UINT64_MAX, 0, 1600).value, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_is_full_for_one_ttl),
        cmocka_unit_test(out_falls_over_one_more),
        cmocka_unit_test(in_rises_to_one),
        cmocka_unit_test(in_without_a_duration_is_one),
        cmocka_unit_test(promises_are_kept),
        cmocka_unit_test(values_move_one_way),
        cmocka_unit_test(the_end_is_reached_in_time),
        cmocka_unit_test(before_the_beginning),
        cmocka_unit_test(near_the_end_of_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
