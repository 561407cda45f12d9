/* SPDX-License-Identifier: MIT */
/* base/wide: 128-bit arithmetic, against the compiler's own where it has it.
 */
#include "base/wide.h"

#include <math.h>

#include "support/rng.h"
#include "support/test.h"

static struct lbr_wide wide(uint64_t high, uint64_t low)
{
    struct lbr_wide value = {high, low};

    return value;
}

/* Words at whose edges carries and signs go wrong. */
static const uint64_t edges[] = {0,
                                 1,
                                 2,
                                 UINT64_C(0x7fffffffffffffff),
                                 UINT64_C(0x8000000000000000),
                                 UINT64_C(0x8000000000000001),
                                 UINT64_MAX - 1,
                                 UINT64_MAX};

#define EDGES (sizeof edges / sizeof edges[0])

static struct lbr_wide edge(size_t number)
{
    return wide(edges[number / EDGES], edges[number % EDGES]);
}

static void sum_and_difference_undo_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < EDGES * EDGES; i++)
        for (size_t j = 0; j < EDGES * EDGES; j++) {
            struct lbr_wide sum = lbr_wide_add(edge(i), edge(j));
            struct lbr_wide back = lbr_wide_sub(sum, edge(j));

            assert_true(lbr_wide_equal(back, edge(i)));
            assert_int_equal(lbr_wide_equal(edge(i), edge(j)) != 0, i == j);
        }
}

static void carries_and_borrows(void **state)
{
    struct lbr_wide one = wide(0, 1);
    struct lbr_wide carried = lbr_wide_add(wide(6, UINT64_MAX), one);
    struct lbr_wide borrowed = lbr_wide_sub(wide(7, 0), one);
    (void)state;

    assert_true(lbr_wide_equal(carried, wide(7, 0)));
    assert_true(lbr_wide_equal(borrowed, wide(6, UINT64_MAX)));
    assert_true(lbr_wide_less(lbr_wide_sub(wide(0, 0), one), wide(0, 0)));
    assert_true(lbr_wide_less(wide(0, 0), one));
    assert_false(lbr_wide_less(one, one));
}

/* Sums wrap together: what lies a little further stays further beyond the
 * largest value, too. */
static void order_survives_the_wrap(void **state)
{
    struct lbr_wide last = wide(UINT64_C(0x7fffffffffffffff), UINT64_MAX);
    struct lbr_wide next = lbr_wide_add(last, wide(0, 1));
    (void)state;

    assert_true(lbr_wide_less(last, next));
    assert_false(lbr_wide_less(next, last));
}

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 big;
__extension__ typedef __int128 big_signed;

static big value_of(struct lbr_wide value)
{
    return (big)value.high << 64 | value.low;
}

/* A word of random length: short ones matter as much as long ones. */
static uint64_t random_word(struct test_rng *rng)
{
    return test_rng_next(rng) >> test_rng_below(rng, 64);
}

static struct lbr_wide random_wide(struct test_rng *rng)
{
    struct lbr_wide value =
        wide(test_rng_below(rng, 2) ? random_word(rng) : 0, random_word(rng));

    if (test_rng_below(rng, 2))
        value = lbr_wide_sub(wide(0, 0), value);
    return value;
}

static void sums_against_the_compiler(void **state)
{
    struct test_rng rng = {1};
    (void)state;

    for (int i = 0; i < 200000; i++) {
        struct lbr_wide a = random_wide(&rng);
        struct lbr_wide b = random_wide(&rng);

        assert_true(value_of(lbr_wide_add(a, b)) == value_of(a) + value_of(b));
        assert_true(value_of(lbr_wide_sub(a, b)) == value_of(a) - value_of(b));
        assert_int_equal(lbr_wide_less(a, b) != 0,
                         (big_signed)(value_of(a) - value_of(b)) < 0);
    }
}

static unsigned bits_of(big value)
{
    unsigned bits = 0;

    for (; value; value >>= 1)
        bits++;
    return bits;
}

static void products_against_the_compiler(void **state)
{
    struct test_rng rng = {2};
    int checked = 0;
    (void)state;

    while (checked < 200000) {
        uint64_t factor = random_word(&rng);
        uint32_t word = (uint32_t)random_word(&rng);
        int shift = (int)test_rng_below(&rng, 127) - 63;
        big product = (big)factor * word;
        big wanted = shift < 0 ? product >> -shift : product << shift;

        if (shift > 0 && bits_of(product) + (unsigned)shift > 127)
            continue;
        assert_true(value_of(lbr_wide_scaled(factor, word, shift)) == wanted);
        checked++;
    }
}

/* Within one unit in the last place. */
static void check_double(struct lbr_wide value)
{
    double wanted = (double)(big_signed)value_of(value);

    assert_in_real_range(lbr_wide_to_double(value),
                         nextafter(wanted, -HUGE_VAL),
                         nextafter(wanted, HUGE_VAL));
}

static void doubles_against_the_compiler(void **state)
{
    struct test_rng rng = {3};
    (void)state;

    for (size_t i = 0; i < EDGES * EDGES; i++)
        check_double(edge(i));
    for (int i = 0; i < 200000; i++)
        check_double(random_wide(&rng));
}
#endif

static void small_numbers_become_doubles_exactly(void **state)
{
    (void)state;
    for (int i = -1000; i <= 1000; i++) {
        struct lbr_wide value =
            wide(i < 0 ? UINT64_MAX : 0, (uint64_t)(int64_t)i);

        assert_near(lbr_wide_to_double(value), i, 0);
    }
}

/* By the school's method on 16-bit digits. */
static struct lbr_wide long_product(uint64_t a, uint64_t b)
{
    uint32_t digits[9] = {0};

    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            uint64_t part = (a >> 16 * i & 0xffff) * (b >> 16 * j & 0xffff);
            for (int k = i + j; part && k < 9; k++, part >>= 16) {
                part += digits[k];
                digits[k] = part & 0xffff;
            }
        }
    return wide((uint64_t)digits[7] << 48 | (uint64_t)digits[6] << 32 |
                    (uint64_t)digits[5] << 16 | digits[4],
                (uint64_t)digits[3] << 48 | (uint64_t)digits[2] << 32 |
                    (uint64_t)digits[1] << 16 | digits[0]);
}

static void products_are_whole(void **state)
{
    struct test_rng rng = {1};
    (void)state;

    for (size_t i = 0; i < EDGES; i++)
        for (size_t j = 0; j < EDGES; j++)
            assert_true(lbr_wide_equal(lbr_wide_product(edges[i], edges[j]),
                                       long_product(edges[i], edges[j])));
    for (int i = 0; i < 10000; i++) {
        uint64_t a = test_rng_next(&rng) >> i % 64;
        uint64_t b = test_rng_next(&rng) >> i / 64 % 64;
        assert_true(lbr_wide_equal(lbr_wide_product(a, b), long_product(a, b)));
    }
}

/* value = quotient * divisor + rest, with 0 <= rest < divisor. */
static void quotients_leave_a_small_rest(void **state)
{
    static const uint32_t divisors[] = {1, 2, 3, 100, 0x80000000, UINT32_MAX};
    (void)state;

    for (size_t i = 0; i < EDGES * EDGES; i++)
        for (size_t j = 0; j < 6; j++) {
            struct lbr_wide value = edge(i), quotient, back, rest;
            value.high &= INT64_MAX;
            quotient = lbr_wide_divide(value, divisors[j]);
            back = lbr_wide_product(quotient.low, divisors[j]);
            back.high += quotient.high * divisors[j];
            rest = lbr_wide_sub(value, back);
            assert_int_equal(rest.high, 0);
            assert_true(rest.low < divisors[j]);
        }
}

/* What a snapshot would not be read with is not written. */
static void only_moderate_numbers_are_saved(void **state)
{
    static const struct {
        uint64_t high;
        int kept;
    } cases[] = {{UINT64_C(0x3fffffffffffffff), 1},
                 {UINT64_C(0x4000000000000000), 0},
                 {UINT64_C(0xc000000000000000), 1},
                 {UINT64_C(0xbfffffffffffffff), 0},
                 {0, 1},
                 {UINT64_MAX, 1}};
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[16];
        struct lbr_writer writer = {bytes, sizeof bytes, 0, 0};
        struct lbr_reader reader = {bytes, sizeof bytes, 0, 0, 0};
        struct lbr_wide value;

        lbr_wide_save(wide(cases[i].high, 5), &writer);
        assert_int_equal(writer.length, sizeof bytes);
        value = lbr_wide_load(&reader);
        assert_int_equal(value.high, cases[i].kept ? cases[i].high : 0);
        assert_int_equal(value.low, cases[i].kept ? 5 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sum_and_difference_undo_each_other),
        cmocka_unit_test(carries_and_borrows),
        cmocka_unit_test(order_survives_the_wrap),
#ifdef __SIZEOF_INT128__
        cmocka_unit_test(sums_against_the_compiler),
        cmocka_unit_test(products_against_the_compiler),
        cmocka_unit_test(doubles_against_the_compiler),
#endif
        cmocka_unit_test(small_numbers_become_doubles_exactly),
        cmocka_unit_test(products_are_whole),
        cmocka_unit_test(quotients_leave_a_small_rest),
        cmocka_unit_test(only_moderate_numbers_are_saved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
