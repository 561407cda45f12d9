/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace_file.h"

#include "support/test.h"

#define GOOD                                                                   \
    "{\"timestamp\": 0, \"input_length\": 40, \"output_length\": 9, "          \
    "\"hash_ids\": [7, 8, 9]}\n"
#define LATER                                                                  \
    "{\"timestamp\": 1500, \"input_length\": 33, \"output_length\": 1, "       \
    "\"hash_ids\": [7, 8, 5], \"session_id\": \"a\"}\n"

/* Three ids for 40 tokens: the size nearest to 13.3 is 16, the third block is
 * partly filled and its id is not used. */
static void request_lines(void **state)
{
    struct trace_file *file = *state;

    assert_true(trace_file_parse(file, GOOD "\n" LATER));
    assert_int_equal(file->workload.count, 2);
    assert_int_equal(file->workload.block_tokens, 16);
    assert_int_equal(trace_file_request(file, 0)->input_tokens, 40);
    assert_int_equal(trace_file_request(file, 0)->output_tokens, 9);
    assert_int_equal(trace_file_request(file, 0)->prompt_ids, 2);
    assert_near(trace_file_request(file, 1)->at_s, 1.5, 1e-12);
    assert_int_equal(trace_file_request(file, 0)->session, 0);
    assert_true(trace_file_request(file, 1)->session != 0);
    assert_int_equal(trace_file_ids(file, 0)[0], trace_file_ids(file, 1)[0]);
    assert_int_equal(trace_file_ids(file, 0)[1], trace_file_ids(file, 1)[1]);
    /* 40 + 9 - 1 tokens are three blocks; the third is its own. */
    assert_int_equal(file->workload.distinct_ids, 3);
    assert_int_equal(trace_file_ids(file, 0)[2], 2);
}

static void compression_is_told_by_content(void **state)
{
    struct trace_file *file = *state;

    trace_file_write(file, GOOD LATER, TRACE_GZIP, 0);
    assert_true(trace_file_read(file));
    assert_int_equal(file->workload.count, 2);
    trace_file_write(file, GOOD LATER, TRACE_XZ, 0);
    assert_true(trace_file_read(file));
    assert_int_equal(file->workload.count, 2);
}

static void times_are_sorted_and_start_at_zero(void **state)
{
    struct trace_file *file = *state;

    assert_true(trace_file_parse(
        file, "{\"timestamp\":9000,\"input_length\":1,\"output_length\":2}\n"
              "{\"timestamp\":4000.5,\"input_length\":3,\"output_length\":0}"));
    assert_int_equal(trace_file_request(file, 0)->input_tokens, 3);
    assert_int_equal(trace_file_request(file, 0)->output_tokens, 1);
    assert_near(trace_file_request(file, 0)->at_s, 0.0, 1e-12);
    assert_near(trace_file_request(file, 1)->at_s, 4.9995, 1e-9);
}

static void block_size_may_be_given(void **state)
{
    struct trace_file *file = *state;

    file->options.block_tokens = 20;
    assert_true(trace_file_parse(file, GOOD));
    assert_int_equal(file->workload.block_tokens, 20);
    assert_int_equal(trace_file_request(file, 0)->prompt_ids, 2);
}

/* Eleven groups of two, 3 s apart but for the jitter of the clock. */
static void groups_of_a_coarse_clock_are_spread(void **state)
{
    struct trace_file *file = *state;
    char text[8192] = "";

    for (int i = 0; i < 22; i++) {
        size_t used = strlen(text);

        snprintf(text + used, sizeof text - used,
                 "{\"timestamp\":%d,\"input_length\":9,\"output_length\":9}\n",
                 i / 2 * 3000 + (i / 2 == 5));
    }
    assert_true(trace_file_parse(file, text));
    assert_near(file->report.clock_step_s, 3.0, 1e-9);
    assert_near(trace_file_request(file, 1)->at_s, 1.5, 1e-9);
    assert_near(trace_file_request(file, 2)->at_s, 3.0, 1e-9);
    assert_near(trace_file_request(file, 21)->at_s, 31.5, 1e-9);
    file->options.keep_times = true;
    assert_true(trace_file_read(file));
    assert_near(trace_file_request(file, 1)->at_s, 0.0, 1e-9);
}

static void an_irregular_clock_is_left_alone(void **state)
{
    struct trace_file *file = *state;
    char text[8192] = "";

    for (int i = 0; i < 40; i++) {
        size_t used = strlen(text);

        snprintf(text + used, sizeof text - used,
                 "{\"timestamp\":%d,\"input_length\":9,\"output_length\":9}\n",
                 i / 2 * (i / 2) * 1000);
    }
    assert_true(trace_file_parse(file, text));
    assert_near(file->report.clock_step_s, 0.0, 0.0);
    assert_near(trace_file_request(file, 1)->at_s, 0.0, 0.0);
}

static void azure_csv(void **state)
{
    struct trace_file *file = *state;

    assert_true(trace_file_parse(file,
                                 "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                                 "2023-11-16 23:59:59.9799600,4808,10\r\n"
                                 "2023-11-17 00:00:01,34,12"));
    assert_int_equal(file->workload.count, 2);
    assert_int_equal(trace_file_request(file, 0)->input_tokens, 4808);
    assert_int_equal(trace_file_request(file, 1)->output_tokens, 12);
    assert_near(trace_file_request(file, 1)->at_s, 1.02004, 1e-6);
}

static void azure_errors_have_a_place(void **state)
{
    struct trace_file *file = *state;

    assert_false(trace_file_parse(file,
                                  "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                  "2023-11-16 18:17:03.97,4808,10\n"
                                  "2023-11-16 18:17:04,48x8,10\n"));
    trace_file_assert_error(file, ":3:23: expected a comma");
    assert_false(trace_file_parse(file,
                                  "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                  "2023-13-16 18:17:04,48,10\n"));
    trace_file_assert_error(file, ":2:6: expected a number from 1 to 12");
    assert_false(trace_file_parse(file,
                                  "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                  "2023-11-16 18:17:04,48,10,5\n"));
    trace_file_assert_error(file, ":2:26: expected the end of the line");
    assert_false(trace_file_parse(
        file, "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:1"));
    trace_file_assert_error(file, ":2:16: expected a digit");
}

static void json_errors_have_a_place(void **state)
{
    struct trace_file *file = *state;

    assert_false(trace_file_parse(file, GOOD "{\"timestamp\": 5, \"input"));
    assert_non_null(strstr(file->report.error, "/t:2:"));
    assert_non_null(strstr(file->report.error, "not JSON"));
    assert_false(trace_file_parse(
        file,
        GOOD "{\"timestamp\": 5, \"input_length\": -4, \"output_length\": 9}"));
    trace_file_assert_error(
        file, ":2:34: \"input_length\" is not a whole number from 1 to "
              "16777216");
    assert_false(trace_file_parse(file, "{\"timestamp\": 5}\n"));
    trace_file_assert_error(file, ":1:1: \"input_length\" is missing");
    assert_false(trace_file_parse(
        file, "{\"timestamp\":0,\"input_length\":9,\"output_length\":9,"
              "\"hash_ids\":[1,2, \"x\"]}"));
    trace_file_assert_error(file, ":1:68: \"hash_ids\" holds something that is "
                                  "not a whole number from 0");
    assert_false(trace_file_parse(file, "[1, 2]\n"));
    trace_file_assert_error(file, ":1:1: neither a JSON object nor the header "
                                  "TIMESTAMP,ContextTokens,GeneratedTokens");
}

static void bad_lines_are_skipped_on_request(void **state)
{
    struct trace_file *file = *state;

    file->options.skip_bad = true;
    assert_true(
        trace_file_parse(file, "?\n" GOOD "{\"timestamp\": 5}\n" LATER "{"));
    assert_int_equal(file->workload.count, 2);
    assert_int_equal(file->report.skipped, 3);
    assert_non_null(strstr(file->report.first_bad, "/t:1:1: "));
}

static void nothing_good_is_an_error(void **state)
{
    struct trace_file *file = *state;

    assert_false(trace_file_parse(file, ""));
    trace_file_assert_error(file, ": no request in it");
    file->options.skip_bad = true;
    assert_false(trace_file_parse(file, "x\ny\n"));
    trace_file_assert_error(file, ": no request in it");
    assert_int_equal(file->report.skipped, 2);
}

static void a_missing_file_is_an_error(void **state)
{
    struct trace_file *file = *state;

    assert_false(trace_file_read(file));
    trace_file_assert_error(file, ": No such file or directory");
}

/* A packed file cut off at many places: the error says so; the good lines
 * before the cut are read on request. */
static void cut_off_files_are_told(void **state)
{
    static const enum trace_packing packings[] = {TRACE_GZIP, TRACE_XZ};
    struct trace_file *file = *state;

    for (size_t i = 0; i < 2; i++) {
        for (size_t cut = 8; cut < 100; cut += 7) {
            trace_file_write(file, GOOD LATER GOOD LATER, packings[i], cut);
            assert_false(trace_file_read(file));
            assert_non_null(strstr(file->report.error, "is truncated"));
        }
    }
    file->options.skip_bad = true;
    trace_file_write(file, GOOD LATER GOOD LATER, TRACE_GZIP, 120);
    assert_true(trace_file_read(file));
    assert_int_equal(file->report.skipped, 1);
    assert_non_null(strstr(file->report.first_bad, "is truncated"));
}

static void damaged_files_are_told(void **state)
{
    struct trace_file *file = *state;

    assert_false(trace_file_parse(file, "\x1f\x8b\x08 no gzip"));
    assert_non_null(strstr(file->report.error, "the gzip data is damaged"));
}

static void far_apart_times_are_refused(void **state)
{
    struct trace_file *file = *state;

    assert_false(trace_file_parse(
        file, "{\"timestamp\":0,\"input_length\":1,\"output_length\":2}\n"
              "{\"timestamp\":1e13,\"input_length\":3,\"output_length\":0}"));
    trace_file_assert_error(file,
                            ": the time stamps span more than 100000000 s");
}

#define TRACE_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, trace_file_set_up,                   \
                                    trace_file_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACE_TEST(request_lines),
        TRACE_TEST(compression_is_told_by_content),
        TRACE_TEST(times_are_sorted_and_start_at_zero),
        TRACE_TEST(block_size_may_be_given),
        TRACE_TEST(groups_of_a_coarse_clock_are_spread),
        TRACE_TEST(an_irregular_clock_is_left_alone),
        TRACE_TEST(azure_csv),
        TRACE_TEST(azure_errors_have_a_place),
        TRACE_TEST(json_errors_have_a_place),
        TRACE_TEST(bad_lines_are_skipped_on_request),
        TRACE_TEST(nothing_good_is_an_error),
        TRACE_TEST(a_missing_file_is_an_error),
        TRACE_TEST(cut_off_files_are_told),
        TRACE_TEST(damaged_files_are_told),
        TRACE_TEST(far_apart_times_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
