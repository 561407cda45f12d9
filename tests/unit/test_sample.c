/* SPDX-License-Identifier: MIT */
/* ingest/sample: one line of a page. */
#include "ingest/sample.h"

#include <stdlib.h>
#include <string.h>

#include <lbroute/ingest.h>

#include "support/test.h"

static struct lbr_sample sample;

static int read_line(const char *line)
{
    memset(&sample, 0, sizeof sample);
    return lbr_sample_read(line, line + strlen(line), &sample);
}

static void whole_lines(void **state)
{
    static const struct {
        const char *line;
        size_t name;
        double value;
    } lines[] = {
        {"m 1", 1, 1},
        {"m\t7\t", 1, 7},
        {"m{}5", 1, 5},
        {"m {a=\"b\"} 5", 1, 5},
        {"a_b:c{a=\"b\"}-4", 5, -4},
        {"m 5 1700000000000", 1, 5},
        {"m 5 -3982045", 1, 5},
        {"m 5 1.69e9 # {a=\"b\"} 1", 1, 5},
        {"m 5 # anything at all \"{", 1, 5},
        {"m{a=\"# 9\"} 5", 1, 5},
        {"_m 1\r", 2, 1},
        {"{\"m.n\",a=\"b\"} 3", 3, 3},
    };
    (void)state;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(read_line(lines[i].line), 0);
        assert_int_equal(sample.name.length, lines[i].name);
        assert_near(sample.value, lines[i].value, 0);
    }
}

static void broken_lines(void **state)
{
    static const struct {
        const char *line;
        int reason;
    } lines[] = {
        {"1m 5", LBROUTE_DIAG_NAME},
        {"\x80 5", LBROUTE_DIAG_NAME},
        {"-", LBROUTE_DIAG_NAME},
        {"m-4", LBROUTE_DIAG_NAME},
        {"m.n 5", LBROUTE_DIAG_NAME},
        {"{a=\"b\"} 3", LBROUTE_DIAG_NAME},
        {"{} 3", LBROUTE_DIAG_NAME},
        {"m", LBROUTE_DIAG_VALUE},
        {"m ", LBROUTE_DIAG_VALUE},
        {"m{} ", LBROUTE_DIAG_VALUE},
        {"m{a=\"b\"}", LBROUTE_DIAG_VALUE},
        {"m x", LBROUTE_DIAG_VALUE},
        {"m 5x", LBROUTE_DIAG_VALUE},
        {"m 5#", LBROUTE_DIAG_VALUE},
        {"m 5{", LBROUTE_DIAG_VALUE},
        {"m # 5", LBROUTE_DIAG_VALUE},
        {"m{a=\"b\" 5", LBROUTE_DIAG_LABELS},
        {"m{a=b} 5", LBROUTE_DIAG_LABELS},
        {"m{", LBROUTE_DIAG_LABELS},
        {"m{a=\"q\"r\"} 5", LBROUTE_DIAG_LABELS},
        {"m 5 x", LBROUTE_DIAG_TIMESTAMP},
        {"m 5 6 7", LBROUTE_DIAG_TIMESTAMP},
        {"m 5 6x", LBROUTE_DIAG_TIMESTAMP},
        {"m 5 6#", LBROUTE_DIAG_TIMESTAMP},
    };
    (void)state;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(read_line(lines[i].line), lines[i].reason);
}

/* The name of the line before is only a guess. */
static void guessed_names(void **state)
{
    static const char *const lines[] = {
        "metric 1", "metric 2", "metric_b 3",  "metri 4", "metric{} 5",
        "metric",   "metrix 6", "{\"a b\"} 7", "a b 8",   "metric 9"};
    static const size_t names[] = {6, 6, 8, 5, 6, 6, 6, 3, 1, 6};
    (void)state;

    memset(&sample, 0, sizeof sample);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        (void)lbr_sample_read(lines[i], lines[i] + strlen(lines[i]), &sample);
        assert_int_equal(sample.name.length, names[i]);
        if (lines[i][0] != '{')
            assert_memory_equal(sample.name.bytes, lines[i], names[i]);
    }
}

/* From exactly its bytes, cut anywhere. */
static void truncations(void **state)
{
    static const char line[] =
        "name{a=\"b\\\"c\",d=\"e\"} 1.5e3 1700000000 # {x=\"y\"} 1";
    size_t value_at = sizeof "name{a=\"b\\\"c\",d=\"e\"} " - 1;
    (void)state;

    for (size_t length = 1; length < sizeof line; length++) {
        char *copy = malloc(length);
        int result;

        assert_non_null(copy);
        memcpy(copy, line, length);
        memset(&sample, 0, sizeof sample);
        result = lbr_sample_read(copy, copy + length, &sample);
        if (length <= value_at)
            assert_true(result > 0);
        else if (length > value_at + 5)
            assert_int_equal(result, 0);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_lines),
        cmocka_unit_test(broken_lines),
        cmocka_unit_test(guessed_names),
        cmocka_unit_test(truncations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
