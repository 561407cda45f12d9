/* SPDX-License-Identifier: MIT */
/* ingest/number: decimal numbers in any locale, from exactly their bytes. */
#include "ingest/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rng.h"
#include "support/test.h"

/* Reads from a copy of exactly that length. Gives how many bytes were read,
 * SIZE_MAX for no number. */
static size_t read_bytes(const char *text, size_t length, double *value)
{
    char *copy = malloc(length > 0 ? length : 1);
    const char *after;
    size_t used;

    assert_non_null(copy);
    memcpy(copy, text, length);
    after = lbr_number_read(copy, copy + length, value);
    used = after ? (size_t)(after - copy) : SIZE_MAX;
    free(copy);
    return used;
}

static size_t read_text(const char *text, double *value)
{
    return read_bytes(text, strlen(text), value);
}

/* What the C library reads, in the "C" locale, to 4 units in the last place. */
static void expect_like_strtod(const char *text)
{
    double value = 0;
    double wanted = strtod(text, NULL);

    assert_int_equal(read_text(text, &value), strlen(text));
    assert_near(value, wanted, fabs(wanted) * 4 * DBL_EPSILON);
}

static void exact_numbers(void **state)
{
    static const struct {
        const char *text;
        double value;
    } numbers[] = {
        {"0", 0},
        {"-0", 0},
        {"7", 7},
        {"+7", 7},
        {"-7", -7},
        {"17.0", 17},
        {"3.", 3},
        {".5", 0.5},
        {"25.88", 25.88},
        {"1e3", 1000},
        {"1E+3", 1000},
        {"12.5e-1", 1.25},
        {"0.42", 0.42},
        {"1.7907e+09", 1790700000},
        {"8.128902e+06", 8128902},
        {"0.007507552643049313", 0.007507552643049313},
        {"9007199254740991", 9007199254740991},
        {"1700000000000", 1.7e12},
        {"000000000000000000000000000012", 12},
        {"1e-400", 0},
        {"0e999999999", 0},
        {"1e22", 1e22},
    };
    (void)state;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double value = -1;

        assert_int_equal(read_text(numbers[i].text, &value),
                         strlen(numbers[i].text));
        assert_near(value, numbers[i].value, 0);
    }
}

static void words(void **state)
{
    static const char *const infinite[] = {
        "Inf",      "+Inf",      "inf",   "INF",
        "Infinity", "+infinity", "1e400", "1e99999999999999999999"};
    static const char *const unknown[] = {"NaN", "nan", "NAN", "+nan", "-NaN"};
    double value = 0;
    (void)state;

    for (size_t i = 0; i < sizeof infinite / sizeof *infinite; i++) {
        assert_int_equal(read_text(infinite[i], &value), strlen(infinite[i]));
        assert_true(isinf(value) && value > 0);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_int_equal(read_text(unknown[i], &value), strlen(unknown[i]));
        assert_true(isnan(value));
    }
    assert_int_equal(read_text("-Inf", &value), 4);
    assert_true(isinf(value) && value < 0);
}

static void no_numbers(void **state)
{
    static const char *const texts[] = {
        "",     "+",  "-",  ".",   "-.",  "e5",   ".e5", "1e", "1e+",
        "1e-x", "na", "in", "- 1", "--1", " 1",   "x",   "\"", "}",
        "#",    "nA", "i",  "+-1", "0x",  "\xff", "_1",  ",5"};
    double value = 0;
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t used = read_text(texts[i], &value);

        /* "0x" is a 0 in front of something else. */
        assert_true(used == SIZE_MAX || (texts[i][0] == '0' && used == 1));
    }
}

/* A number ends where it ends. */
static void what_follows_is_left(void **state)
{
    double value = 0;
    (void)state;

    assert_int_equal(read_text("12 34", &value), 2);
    assert_int_equal(read_text("1.2.3", &value), 3);
    assert_near(value, 1.2, 0);
    assert_int_equal(read_text("1_000", &value), 1);
    assert_int_equal(read_text("infinit", &value), 3);
    assert_int_equal(read_bytes("1234", 2, &value), 2);
    assert_near(value, 12, 0);
    assert_int_equal(read_bytes("1e5", 2, &value), SIZE_MAX);
    assert_int_equal(read_bytes("-1", 1, &value), SIZE_MAX);
    assert_int_equal(read_bytes("nan", 2, &value), SIZE_MAX);
}

/* Any double comes back, as close as promised. */
static void like_the_c_library(void **state)
{
    struct test_rng rng;
    char text[64];
    (void)state;

    rng.state = 7;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = test_rng_next(&rng);
        double number;

        memcpy(&number, &bits, sizeof number);
        if (!isfinite(number) || fabs(number) < 1e-300 || fabs(number) > 1e300)
            continue;
        snprintf(text, sizeof text, i % 2 ? "%.17g" : "%.3e", number);
        expect_like_strtod(text);
        snprintf(text, sizeof text, "%.6f", fmod(number, 1e9));
        expect_like_strtod(text);
    }
}

/* The decimal point of the locale has no say. */
static void any_locale(void **state)
{
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE",
                                          "C"};
    double value = 0;
    (void)state;

    for (size_t i = 0; i < 4; i++) {
        (void)setlocale(LC_ALL, locales[i]);
        assert_int_equal(read_text("0.25", &value), 4);
        assert_near(value, 0.25, 0);
        assert_int_equal(read_text("0,25", &value), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_numbers),
        cmocka_unit_test(words),
        cmocka_unit_test(no_numbers),
        cmocka_unit_test(what_follows_is_left),
        cmocka_unit_test(like_the_c_library),
        cmocka_unit_test(any_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
