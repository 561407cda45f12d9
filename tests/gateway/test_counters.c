/* SPDX-License-Identifier: MIT */
#include "support/test.h"

#include "counters.h"
#include "labels.h"

#include <math.h>
#include <string.h>

static void test_bounds_ascend_from_1_ms_to_60_s(void **state)
{
    (void)state;
    assert_true(histogram_bound(0) == 0.001);
    assert_true(histogram_bound(1) == 0.0025);
    assert_true(histogram_bound(COUNTER_BUCKETS - 2) == 60.0);
    assert_true(isinf(histogram_bound(COUNTER_BUCKETS - 1)));
    for (unsigned i = 1; i < COUNTER_BUCKETS; i++)
        assert_true(histogram_bound(i) > histogram_bound(i - 1));
}

/* A bound belongs to its bucket, as "le" says. */
static void test_each_goes_into_its_bucket(void **state)
{
    struct histogram histogram;

    (void)state;
    memset(&histogram, 0, sizeof(histogram));
    for (unsigned i = 0; i < COUNTER_BUCKETS - 1; i++) {
        histogram_add(&histogram, histogram_bound(i));
        histogram_add(&histogram, histogram_bound(i) * 0.999);
        assert_int_equal(histogram.buckets[i], 2);
    }
    histogram_add(&histogram, 1e6);
    assert_int_equal(histogram.buckets[COUNTER_BUCKETS - 1], 1);
    assert_int_equal(histogram.count, 2 * (COUNTER_BUCKETS - 1) + 1);
}

static void test_what_is_no_duration_is_left_out(void **state)
{
    struct histogram histogram;

    (void)state;
    memset(&histogram, 0, sizeof(histogram));
    histogram_add(&histogram, (double)NAN);
    histogram_add(&histogram, (double)INFINITY);
    histogram_add(&histogram, -1.0);
    assert_int_equal(histogram.count, 0);
    histogram_add(&histogram, 0.0);
    histogram_add(&histogram, 2.0);
    assert_int_equal(histogram.count, 2);
    assert_true(histogram.sum == 2.0);
}

static void test_texts_become_utf_8(void **state)
{
    static const struct {
        const char *text, *clean;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"h\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80",
         "h\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"},
        {"\x80"
         "a\xFF",
         "?a?"},
        {"\xC3", "?"},                            /* Cut short. */
        {"\xC0\xAF", "??"},                       /* Overlong. */
        {"\xE0\x80\x80", "???"},                  /* Overlong. */
        {"\xED\xA0\x80", "???"},                  /* A surrogate. */
        {"\xF4\x90\x80\x80", "????"},             /* Beyond the last one. */
        {"\xF0\x9F\x98", "???"},                  /* Cut short. */
        {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"}, /* The last one. */
    };
    char out[64];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        clean_text(out, sizeof(out), cases[i].text);
        assert_string_equal(out, cases[i].clean);
    }
    clean_text(out, 5, "abc\xE2\x82\xAC"); /* No half characters. */
    assert_string_equal(out, "abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds_ascend_from_1_ms_to_60_s),
        cmocka_unit_test(test_each_goes_into_its_bucket),
        cmocka_unit_test(test_what_is_no_duration_is_left_out),
        cmocka_unit_test(test_texts_become_utf_8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
