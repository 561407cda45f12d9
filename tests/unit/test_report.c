/* SPDX-License-Identifier: MIT */
/* The writers of lbroute-replay on made-up results: exact JSON and table,
 * a page that is well-formed, escaped and needs nothing from elsewhere. */
#include "report.h"
#include "report_axis.h"
#include "report_groups.h"
#include "report_text.h"
#include "support/test.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef void writer(FILE *out, const struct replay_result *results,
                    size_t count);

/* Everything a writer wrote; to be freed. */
static char *output_of(writer *write, const struct replay_result *results,
                       size_t count)
{
    FILE *file = tmpfile();
    char *text;
    long length;

    assert_non_null(file);
    write(file, results, count);
    length = ftell(file);
    assert_true(length >= 0);
    text = calloc((size_t)length + 1, 1);
    assert_non_null(text);
    rewind(file);
    assert_int_equal(fread(text, 1, (size_t)length, file), (size_t)length);
    fclose(file);
    return text;
}

static void write_json(FILE *out, const struct replay_result *results,
                       size_t count)
{
    assert_int_equal(replay_report_json(out, results, count), 0);
}

static void write_html(FILE *out, const struct replay_result *results,
                       size_t count)
{
    assert_int_equal(replay_report_html(out, results, count), 0);
}

static const struct replay_target_result targets[] = {
    {.name = "gpu-0",
     .engine = "8b-a100",
     .weight = 1,
     .limit = 32,
     .cache_tokens = 500000,
     .requests = 3,
     .preemptions = 1,
     .hit_share = 0.25,
     .busy_share = 0.5,
     .work_tokens = 1200,
     .output_tokens = 90,
     .dispatched = {2, 1}},
    {.name = "<b>\"&'gpu",
     .engine = "8b-a100",
     .weight = 0.5,
     .requests = 1,
     .hit_share = (double)NAN,
     .busy_share = 0,
     .dispatched = {1}},
};

static const struct replay_option options[] = {
    {"trace", "a<b>.jsonl"},
    {"load", "1.5"},
};

static struct replay_result made_up(const char *strategy, double ttft)
{
    struct replay_result result = {
        .strategy = strategy,
        .seed = 7,
        .trace = "a<b>.jsonl",
        .engine = "8b-a100",
        .fleet = "2",
        .load = 1.5,
        .slo_ttft_ms = 2000,
        .slo_tpot_ms = 25,
        .requests = 4,
        .rejected = 1,
        .waited = 2,
        .ttft_ms = {ttft, ttft / 2, ttft * 2, ttft * 4},
        .tpot_ms = {20.12345, 20, 21, 22},
        .total_ms = {2000, 1900, 3000, 4000},
        .hit_share = 1.0 / 3,
        .pooled_hit_share = 0.5,
        .prediction_error = 0.125,
        .goodput = 0.75,
        .busiest_over_mean = 1.25,
        .busiest_work_over_mean = 1.125,
        .duration_s = 120,
        .bucket_s = 2,
        .target_count = 2,
        .targets = targets,
        .option_count = 2,
        .options = options,
    };

    return result;
}

/* The numbers behind the first two buckets. */
#define ZEROS_8 ",0,0,0,0,0,0,0,0"
#define ZEROS_56 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8
#define ZEROS_58 ",0,0" ZEROS_56

static void json_is_exact(void **state)
{
    struct replay_result result = made_up("weighted", 1500);
    char *text = output_of(write_json, &result, 1);

    (void)state;
    assert_string_equal(
        text,
        "{\"runs\":[\n"
        "{\"strategy\":\"weighted\",\"seed\":7,\"targets\":2,\"load\":1.5,"
        "\"requests\":4,"
        "\"ttft_ms\":{\"mean\":1500.0,\"p50\":750.0,\"p90\":3000.0,"
        "\"p99\":6000.0},"
        "\"tpot_ms\":{\"mean\":20.123,\"p50\":20.0,\"p90\":21.0,"
        "\"p99\":22.0},"
        "\"total_ms\":{\"mean\":2000.0,\"p50\":1900.0,\"p90\":3000.0,"
        "\"p99\":4000.0},"
        "\"hit_share\":0.333333,\"pooled_hit_share\":0.5,"
        "\"hits_of_pool\":0.666667,\"prediction_error\":0.125,"
        "\"goodput\":0.75,"
        "\"busiest_over_mean\":1.25,\"busiest_work_over_mean\":1.125,"
        "\"rejected\":1,\"waited\":2,"
        "\"skipped\":0,\"duration_s\":120.0,\"bucket_s\":2.0,"
        "\"trace\":\"a<b>.jsonl\",\"engine\":\"8b-a100\",\"fleet\":\"2\","
        "\"slo_ttft_ms\":2000.0,\"slo_tpot_ms\":25.0,"
        "\"options\":{\"trace\":\"a<b>.jsonl\",\"load\":\"1.5\"},"
        "\"per_target\":["
        "{\"name\":\"gpu-0\",\"engine\":\"8b-a100\",\"weight\":1.0,"
        "\"limit\":32,\"cache_tokens\":500000,\"requests\":3,"
        "\"preemptions\":1,\"hit_share\":0.25,\"busy_share\":0.5,"
        "\"work_tokens\":1200,\"output_tokens\":90,\"dispatched\":[2,1" ZEROS_58
        "]},"
        "{\"name\":\"<b>\\\"&'gpu\",\"engine\":\"8b-a100\",\"weight\":0.5,"
        "\"limit\":0,\"cache_tokens\":0,\"requests\":1,\"preemptions\":0,"
        "\"hit_share\":null,\"busy_share\":0.0,\"work_tokens\":0,"
        "\"output_tokens\":0,\"dispatched\":[1,0" ZEROS_58 "]}]}\n"
        "]}\n");
    free(text);
}

static void json_is_well_formed(void **state)
{
    struct replay_result results[] = {made_up("weighted", 1500),
                                      made_up("random", (double)NAN)};
    char *text;
    json_t *root;
    json_t *runs;

    (void)state;
    results[1].trace = "not UTF-8: \xff\xc3";
    text = output_of(write_json, results, 2);
    root = json_loads(text, 0, NULL);
    assert_non_null(root);
    runs = json_object_get(root, "runs");
    assert_int_equal(json_array_size(runs), 2);
    assert_true(json_is_null(json_object_get(
        json_object_get(json_array_get(runs, 1), "ttft_ms"), "mean")));
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(runs, 1), "trace")),
        "not UTF-8: ??");
    json_decref(root);
    free(text);
}

static void json_keeps_large_seeds(void **state)
{
    struct replay_result result = made_up("weighted", 1500);
    char *text;

    (void)state;
    result.seed = INT64_MAX;
    text = output_of(write_json, &result, 1);
    assert_non_null(strstr(text, "\"seed\":9223372036854775807,"));
    free(text);
    result.seed = UINT64_MAX;
    text = output_of(write_json, &result, 1);
    assert_non_null(strstr(text, "\"seed\":\"18446744073709551615\","));
    free(text);
}

static void json_without_runs(void **state)
{
    char *text = output_of(write_json, NULL, 0);

    (void)state;
    assert_string_equal(text, "{\"runs\":[\n]}\n");
    free(text);
}

/* A full disk must not pass for a report. */
static void write_error_is_told(void **state)
{
    struct replay_result result = made_up("weighted", 1500);
    FILE *full = fopen("/dev/full", "w");

    (void)state;
    if (full == NULL)
        skip();
    assert_int_equal(replay_report_json(full, &result, 1), -1);
    fclose(full);
    full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(replay_report_html(full, &result, 1), -1);
    fclose(full);
}

static void table_is_aligned(void **state)
{
    struct replay_result results[] = {made_up("weighted", 1500),
                                      made_up("least_connections", 90)};
    char *text = output_of(replay_report_table, results, 2);

    (void)state;
    assert_string_equal(
        text, "                   first token                         per token"
              "  cache            inside  busiest / mean\n"
              "strategy              mean      p50      p90      p99       mean"
              "    hits  of pool     SLO  input     work  rejected\n"
              "weighted           1.50 s    750 ms  3.00 s   6.00 s     20.1 ms"
              "  33.3 %   66.7 %  75.0 %   1.25     1.12         1\n"
              "least_connections  90.0 ms  45.0 ms   180 ms   360 ms    20.1 ms"
              "  33.3 %   66.7 %  75.0 %   1.25     1.12         1\n");
    free(text);
}

static void table_shows_seeds_that_differ(void **state)
{
    struct replay_result results[] = {made_up("weighted", 1500),
                                      made_up("weighted", 1400)};
    char *text;

    (void)state;
    results[1].seed = UINT64_MAX;
    text = output_of(replay_report_table, results, 2);
    assert_non_null(strstr(text, "strategy                  seed  "));
    assert_non_null(strstr(text, "\nweighted                     7  "));
    assert_non_null(strstr(text, "\nweighted  18446744073709551615  "));
    free(text);
}

/* Only a terminal gets colours. */
static void table_in_a_file_is_plain(void **state)
{
    struct replay_result results[] = {made_up("weighted", 1500),
                                      made_up("random", 90)};
    char *text = output_of(replay_report_table, results, 2);

    (void)state;
    assert_null(strchr(text, '\033'));
    free(text);
}

static size_t occurrences(const char *text, const char *what)
{
    size_t count = 0;

    for (text = strstr(text, what); text != NULL; text = strstr(text + 1, what))
        count++;
    return count;
}

static void page_escapes_names(void **state)
{
    struct replay_result result = made_up("we<ighted", 1500);
    char *text = output_of(write_html, &result, 1);

    (void)state;
    assert_non_null(strstr(text, "<title>lbroute replay of a&lt;b&gt;.jsonl"));
    assert_non_null(strstr(text, "&lt;b&gt;&quot;&amp;&#39;gpu"));
    assert_null(strstr(text, "<b>\"&'gpu"));
    assert_null(strstr(text, "a<b>"));
    assert_null(strstr(text, "we<ighted"));
    free(text);
}

static void page_stands_alone(void **state)
{
    static const char *const outside[] = {"http:", "https:", "src=",
                                          "href=", "url(",   "@import",
                                          "<link", "<script"};
    struct replay_result results[] = {made_up("weighted", 1500),
                                      made_up("random", 90)};
    char *text = output_of(write_html, results, 2);

    (void)state;
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        assert_null(strstr(text, outside[i]));
    free(text);
}

/* Every element that is opened is closed. */
static void page_is_balanced(void **state)
{
    static const char *const elements[][2] = {
        {"<svg ", "</svg>"},        {"<figure>", "</figure>"},
        {"<table>", "</table>"},    {"<details>", "</details>"},
        {"<text ", "</text>"},      {"<title", "</title>"},
        {"<desc ", "</desc>"},      {"<tr>", "</tr>"},
        {"<td", "</td>"},           {"<thead>", "</thead>"},
        {"<tbody>", "</tbody>"},    {"<div ", "</div>"},
        {"<main>", "</main>"},      {"<ul ", "</ul>"},
        {"<summary>", "</summary>"}};
    struct replay_result results[] = {made_up("weighted", 1500),
                                      made_up("random", (double)NAN)};
    char *text = output_of(write_html, results, 2);

    (void)state;
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        assert_true(occurrences(text, elements[i][0]) > 0);
        assert_int_equal(occurrences(text, elements[i][0]),
                         occurrences(text, elements[i][1]));
    }
    free(text);
}

/* A chart has a title and a description, and its axis a name. */
static void page_is_accessible(void **state)
{
    struct replay_result results[] = {made_up("weighted", 1500),
                                      made_up("random", 90)};
    char *text = output_of(write_html, results, 2);
    size_t charts = occurrences(text, "<figure>");

    (void)state;
    assert_int_equal(charts, 3 + 3 + 2);
    assert_int_equal(occurrences(text, "role=\"img\""), charts);
    assert_int_equal(occurrences(text, "-title\">"), charts);
    assert_int_equal(occurrences(text, "<desc "), charts);
    assert_int_equal(occurrences(text, "class=\"axis\""), charts);
    assert_non_null(strstr(text, "<html lang=\"en\">"));
    free(text);
}

static void page_names_the_best(void **state)
{
    struct replay_result results[] = {made_up("weighted", 1500),
                                      made_up("random", 90)};
    char *text = output_of(write_html, results, 2);

    (void)state;
    assert_non_null(strstr(text, "90.0 ms with <b>random</b>, the shortest, "
                                 "against 1.50 s with <b>weighted</b>."));
    assert_non_null(strstr(text, "<td class=\"best\">90.0 ms</td>"));
    assert_null(strstr(text, "<td class=\"best\">1.50 s</td>"));
    free(text);
}

/* Nothing was served: no number exists, and nothing fails. */
static void page_without_numbers(void **state)
{
    struct replay_result result = made_up("weighted", (double)NAN);
    char *text;

    (void)state;
    result.requests = 0;
    result.tpot_ms = result.ttft_ms;
    result.total_ms = result.ttft_ms;
    result.hit_share = (double)NAN;
    result.pooled_hit_share = (double)NAN;
    result.goodput = (double)NAN;
    result.prediction_error = (double)NAN;
    result.busiest_over_mean = (double)NAN;
    result.busiest_work_over_mean = (double)NAN;
    result.duration_s = 0;
    result.target_count = 0;
    text = output_of(write_html, &result, 1);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_non_null(strstr(text, "<td>-</td>"));
    free(text);
}

static void same_results_same_bytes(void **state)
{
    struct replay_result results[] = {made_up("weighted", 1500),
                                      made_up("random", 90)};
    writer *const writers[] = {write_json, write_html, replay_report_table};

    (void)state;
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        char *first = output_of(writers[i], results, 2);
        char *second = output_of(writers[i], results, 2);

        assert_string_equal(first, second);
        free(first);
        free(second);
    }
}

static void numbers_are_readable(void **state)
{
    static const struct {
        report_printer *print;
        double value;
        const char *text;
    } rows[] = {
        {report_text_ms, 0.4234, "0.42 ms"},
        {report_text_ms, 9.996, "10.0 ms"},
        {report_text_ms, 842.4, "842 ms"},
        {report_text_ms, 999.6, "1.00 s"},
        {report_text_ms, 29100, "29.1 s"},
        {report_text_ms, 1848000, "1,848 s"},
        {report_text_ms, (double)NAN, "-"},
        {report_text_share, 0.33333, "33.3 %"},
        {report_text_ratio, 35, "35.0"},
        {report_text_count, 0, "0"},
        {report_text_count, 999, "999"},
        {report_text_count, 12031, "12,031"},
        {report_text_count, 1234567, "1,234,567"},
        {report_text_usd, 0, "$0.00"},
        {report_text_usd, 1.164e-8, "$1.16e-08"},
        {report_text_usd, 0.01234, "$0.0123"},
        {report_text_usd, 0.994, "$0.994"},
        {report_text_usd, 0.996, "$1.00"},
        {report_text_usd, 1234567.895, "$1,234,567.90"},
        {report_text_span, 45, "45 s"},
        {report_text_span, 3540, "59 min"},
        {report_text_span, 9000, "2.5 h"},
        {report_text_number, 1.6, "1.6"},
    };
    char text[REPORT_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rows[i].print(text, rows[i].value);
        assert_string_equal(text, rows[i].text);
    }
}

static void round_labels_are_trimmed(void **state)
{
    static const char *const rows[][2] = {{"40.0 %", "40 %"},
                                          {"1.50 s", "1.5 s"},
                                          {"100 ms", "100 ms"},
                                          {"2.00", "2"}};
    char text[REPORT_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        strcpy(text, rows[i][0]);
        report_text_trim(text);
        assert_string_equal(text, rows[i][1]);
    }
}

static void axes_end_at_round_values(void **state)
{
    struct report_axis axis = {.left = 100, .right = 200};

    (void)state;
    report_axis_linear(&axis, 1.3);
    assert_near(axis.high, 1.5, 1e-9);
    assert_near(report_axis_x(&axis, 0.75), 150, 1e-9);
    report_axis_log(&axis, 0.3, 45);
    assert_near(axis.low, 0.2, 1e-9);
    assert_near(axis.high, 50, 1e-9);
    assert_near(report_axis_x(&axis, 1e9), 200, 1e-9);
    report_axis_log(&axis, 5, 5);
    assert_near(axis.low, 5, 1e-9);
    assert_near(axis.high, 10, 1e-9);
    report_axis_time(&axis, 3560);
    assert_near(axis.high, 3560, 1e-9);
    assert_near(axis.ticks[1], 600, 1e-9);
}

static void groups_gather_seeds_and_rank(void **state)
{
    struct replay_result results[] = {
        made_up("weighted", 1500), made_up("random", 90),
        made_up("sticky_session", (double)NAN), made_up("weighted", 1700)};
    struct report_groups groups;
    struct report_spread spread;

    (void)state;
    assert_int_equal(report_groups_make(&groups, results, 4), 0);
    assert_int_equal(groups.count, 3);
    assert_string_equal(groups.list[0].strategy, "random");
    assert_string_equal(groups.list[1].strategy, "weighted");
    assert_int_equal(groups.list[1].run_count, 2);
    spread = report_spread_of(&groups.list[1], report_ttft_mean);
    assert_near(spread.mean, 1600, 1e-9);
    assert_near(spread.low, 1500, 1e-9);
    assert_near(spread.high, 1700, 1e-9);
    assert_string_equal(groups.list[2].strategy, "sticky_session");
    report_groups_free(&groups);
}

/* The bar belongs to people at a terminal; elsewhere not a byte appears. */
static void progress_is_silent_in_a_file(void **state)
{
    struct replay_progress progress;
    FILE *file = tmpfile();

    (void)state;
    assert_non_null(file);
    replay_progress_start(&progress, file);
    replay_progress_update(&progress, "weighted (1/1)", 1, 2);
    replay_progress_end(&progress);
    assert_int_equal(ftell(file), 0);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_exact),
        cmocka_unit_test(json_is_well_formed),
        cmocka_unit_test(json_keeps_large_seeds),
        cmocka_unit_test(json_without_runs),
        cmocka_unit_test(write_error_is_told),
        cmocka_unit_test(table_is_aligned),
        cmocka_unit_test(table_shows_seeds_that_differ),
        cmocka_unit_test(table_in_a_file_is_plain),
        cmocka_unit_test(page_escapes_names),
        cmocka_unit_test(page_stands_alone),
        cmocka_unit_test(page_is_balanced),
        cmocka_unit_test(page_is_accessible),
        cmocka_unit_test(page_names_the_best),
        cmocka_unit_test(page_without_numbers),
        cmocka_unit_test(same_results_same_bytes),
        cmocka_unit_test(numbers_are_readable),
        cmocka_unit_test(round_labels_are_trimmed),
        cmocka_unit_test(axes_end_at_round_values),
        cmocka_unit_test(groups_gather_seeds_and_rank),
        cmocka_unit_test(progress_is_silent_in_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
