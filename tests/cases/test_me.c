/* SPDX-License-Identifier: MIT */
/* Field reports ME: metrics pages that readers misread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/page.h"
#include "support/state.h"
#include "support/test.h"

enum { A, B, C, D };

#define RUN LBROUTE_GAUGE_RUNNING
#define WAIT LBROUTE_GAUGE_WAITING
#define USE LBROUTE_GAUGE_KV_USAGE

static struct fleet fleet;

static void open_one(void)
{
    fleet_open(&fleet, "least_connections", 1, 1);
}

/* Feeds a page to a fresh target and checks two gauges. */
static void expect(const char *text, double running, double waiting)
{
    open_one();
    page_feed(&fleet, A, text);
    if (isnan(running))
        assert_true(isnan(page_gauge(&fleet, A, RUN)));
    else
        assert_near(page_gauge(&fleet, A, RUN), running, 0);
    if (isnan(waiting))
        assert_true(isnan(page_gauge(&fleet, A, WAIT)));
    else
        assert_near(page_gauge(&fleet, A, WAIT), waiting, 0);
    fleet_close(&fleet);
}

#define NONE ((double)NAN)

/* ---- ME-01 ---- */

static void me_01_renamed_gauge(void **state)
{
    static const char *const usage[] = {
        "vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.9\n",
        "vllm:kv_cache_usage_perc{model_name=\"m\"} 0.2\n",
        ("vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.5\n"
         "vllm:kv_cache_usage_perc{model_name=\"m\"} 0.5\n"),
        ""};
    const double wanted[] = {0.9, 0.2, 0.5, NONE};
    char page[512];
    (void)state;

    fleet_open(&fleet, "least_connections", 4, 1);
    for (size_t i = A; i <= D; i++) {
        snprintf(page, sizeof page,
                 "vllm:num_requests_running{model_name=\"m\"} %zu\n%s"
                 "vllm:num_requests_waiting{model_name=\"m\"} %zu\n",
                 i + 1, usage[i], i + 10);
        page_feed(&fleet, i, page);
        assert_near(page_gauge(&fleet, i, RUN), i + 1, 0);
        assert_near(page_gauge(&fleet, i, WAIT), i + 10, 0);
        if (i == D)
            assert_true(isnan(page_gauge(&fleet, i, USE)));
        else
            assert_near(page_gauge(&fleet, i, USE), wanted[i], 0);
    }
    fleet_close(&fleet);
}

/* Both spellings with different figures: the new one, in any order; and an
 * unknown new one leaves the old one. */
static void me_01_kind_new_name_first(void **state)
{
    (void)state;
    open_one();
    page_feed(&fleet, A,
              "vllm:gpu_cache_usage_perc 0.7\nvllm:kv_cache_usage_perc 0.3\n");
    assert_near(page_gauge(&fleet, A, USE), 0.3, 0);
    page_feed(&fleet, A,
              "vllm:kv_cache_usage_perc 0.3\nvllm:gpu_cache_usage_perc 0.7\n");
    assert_near(page_gauge(&fleet, A, USE), 0.3, 0);
    page_feed(&fleet, A,
              "vllm:kv_cache_usage_perc NaN\nvllm:gpu_cache_usage_perc 0.7\n");
    assert_near(page_gauge(&fleet, A, USE), 0.7, 0);
    page_feed(&fleet, A,
              "vllm:prefix_cache_queries 10\nvllm:prefix_cache_queries_total "
              "20\nvllm:gpu_prefix_cache_queries 30\n"
              "vllm:gpu_prefix_cache_hits_total 4\n");
    assert_near(page_gauge(&fleet, A, LBROUTE_GAUGE_PREFIX_QUERIES), 20, 0);
    assert_near(page_gauge(&fleet, A, LBROUTE_GAUGE_PREFIX_HITS), 4, 0);
    fleet_close(&fleet);
}

/* Every engine, with the names of reference pages. */
static void me_01_kind_engines(void **state)
{
    static const struct {
        const char *page;
        double gauges[LBROUTE_GAUGE_COUNT];
    } engines[] = {
        {"vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n"
         "vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 2.0\n"
         "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.25\n"
         "vllm:prefix_cache_queries_total{engine=\"0\"} 1000.0\n"
         "vllm:prefix_cache_hits_total{engine=\"0\"} 400.0\n"
         "vllm:external_prefix_cache_hits_total{engine=\"0\"} 7.0\n"
         "vllm:cache_config_info{block_size=\"16\",engine=\"0\","
         "num_gpu_blocks=\"27000\"} 1.0\n",
         {3, 2, 0.25, 1000, 400, 27000, 16}},
        {"sglang:num_running_reqs{model_name=\"m\",tp_rank=\"0\"} 5.0\n"
         "sglang:num_queue_reqs{model_name=\"m\",tp_rank=\"0\"} 1.0\n"
         "sglang:token_usage{model_name=\"m\",tp_rank=\"0\"} 0.52\n"
         "sglang:prompt_tokens_total{model_name=\"m\"} 8.128902e+06\n"
         "sglang:cached_tokens_total{cache_source=\"device\"} 4e+06\n"
         "sglang:cached_tokens_total{cache_source=\"host\"} 1e+06\n"
         "sglang:cache_hit_rate{model_name=\"m\"} 0.6\n"
         "sglang:max_total_num_tokens{model_name=\"m\"} 443072.0\n",
         {5, 1, 0.52, 8128902, 5e6, 443072, 1}},
        {"trtllm_num_requests_running{model_name=\"m\"} 4\n"
         "trtllm_num_requests_waiting{model_name=\"m\"} 0\n"
         "trtllm_kv_cache_utilization{model_name=\"m\"} 0.1\n"
         "trtllm_prompt_cached_tokens_total{model_name=\"m\"} 99\n"
         "trtllm_kv_cache_max_blocks{model_name=\"m\"} 512\n"
         "trtllm_kv_cache_tokens_per_block{model_name=\"m\"} 32\n",
         {4, 0, 0.1, NONE, 99, 512, 32}},
        {"nv_trt_llm_request_metrics{request_type=\"waiting\",version=\"1\"} "
         "1\n"
         "nv_trt_llm_request_metrics{request_type=\"max\",version=\"1\"} 512\n"
         "nv_trt_llm_request_metrics{request_type=\"scheduled\"} 6\n"
         "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\"} "
         "0.5\n"
         "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\"} 800\n"
         "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"free\"} 400\n"
         "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"tokens_per\"}"
         " 64\n",
         {6, 1, 0.5, NONE, NONE, 800, 64}},
        {"# TYPE tgi_queue_size gauge\ntgi_queue_size 7\n"
         "tgi_batch_current_size 9\ntgi_batch_current_max_tokens 4000\n",
         {9, 7, NONE, NONE, NONE, NONE, NONE}},
        {"llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\n"
         "llamacpp:kv_cache_usage_ratio 0.75\n",
         {1, 0, 0.75, NONE, NONE, NONE, NONE}},
    };
    (void)state;

    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        open_one();
        page_feed(&fleet, A, engines[i].page);
        for (int gauge = 0; gauge < LBROUTE_GAUGE_COUNT; gauge++) {
            if (isnan(engines[i].gauges[gauge]))
                assert_true(isnan(page_gauge(&fleet, A, gauge)));
            else
                assert_near(page_gauge(&fleet, A, gauge),
                            engines[i].gauges[gauge], 0);
        }
        assert_int_equal(page_diag.broken, 0);
        fleet_close(&fleet);
    }
}

/* An engine that prints what it uses and what it has, but no ratio. */
static void me_01_kind_usage_from_blocks(void **state)
{
    (void)state;
    open_one();
    page_feed(&fleet, A,
              "trtllm_kv_cache_used_blocks 128\n"
              "trtllm_kv_cache_max_blocks 512\n");
    assert_near(page_gauge(&fleet, A, USE), 0.25, 0);
    page_feed(&fleet, A,
              "sglang:num_used_tokens 30\nsglang:max_total_num_tokens 40\n");
    assert_near(page_gauge(&fleet, A, USE), 0.75, 0);
    fleet.now += 60 * TEST_S;
    page_feed(&fleet, A,
              "sglang:num_used_tokens 30\nsglang:max_total_num_tokens 0\n");
    assert_true(isnan(page_gauge(&fleet, A, USE)));
    fleet_close(&fleet);
}

/* Sizes stand in labels; what is no number there is not known. */
static void me_01_kind_sizes_in_labels(void **state)
{
    (void)state;
    open_one();
    page_feed(&fleet, A,
              "vllm:cache_config_info{block_size=\"auto\","
              "num_gpu_blocks=\"27000 \"} 1.0\n");
    assert_true(isnan(page_gauge(&fleet, A, LBROUTE_GAUGE_BLOCK_TOKENS)));
    assert_true(isnan(page_gauge(&fleet, A, LBROUTE_GAUGE_KV_BLOCKS)));
    page_feed(&fleet, A,
              "vllm:cache_config_info{block_size=\"16\","
              "num_gpu_blocks=\"None\"} 1.0\n");
    assert_near(page_gauge(&fleet, A, LBROUTE_GAUGE_BLOCK_TOKENS), 16, 0);
    assert_true(isnan(page_gauge(&fleet, A, LBROUTE_GAUGE_KV_BLOCKS)));
    fleet_close(&fleet);
}

/* ---- ME-02 ---- */

/* Lines of a page in any of their orders. */
static void feed_rotated(size_t index, const char *const *lines, size_t count,
                         size_t shift, int reversed)
{
    char page[4096] = "";

    for (size_t i = 0; i < count; i++) {
        size_t which = (i + shift) % count;

        strcat(page, lines[reversed ? count - 1 - which : which]);
        strcat(page, "\n");
    }
    page_feed(&fleet, index, page);
}

static void me_02_series_of_engines(void **state)
{
    static const char *const lines[] = {
        "vllm:num_requests_running{engine=\"0\",model_name=\"a\"} 3",
        "vllm:num_requests_running{engine=\"1\",model_name=\"a\"} 5",
        "vllm:num_requests_waiting{engine=\"0\",model_name=\"a\"} 2",
        "vllm:num_requests_waiting{engine=\"1\",model_name=\"a\"} 4",
        "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"a\"} 0.4",
        "vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"a\"} 0.8"};
    (void)state;

    for (size_t shift = 0; shift < 6; shift++)
        for (int reversed = 0; reversed < 2; reversed++) {
            open_one();
            feed_rotated(A, lines, 6, shift, reversed);
            assert_near(page_gauge(&fleet, A, RUN), 8, 0);
            assert_near(page_gauge(&fleet, A, WAIT), 6, 0);
            assert_near(page_gauge(&fleet, A, USE), 0.6, 1e-12);
            fleet_close(&fleet);
        }
}

static void me_02_kind_models_and_ranks(void **state)
{
    (void)state;
    expect("vllm:num_requests_running{model_name=\"a\"} 3\n"
           "vllm:num_requests_running{model_name=\"b\"} 4\n"
           "vllm:num_requests_waiting{model_name=\"a\"} 0\n"
           "vllm:num_requests_waiting{model_name=\"b\"} 1\n",
           7, 1);
    /* The same set of labels in another order is the same series. */
    expect("vllm:num_requests_running{model_name=\"a\",engine=\"0\"} 3\n"
           "vllm:num_requests_running{ engine = \"0\" , model_name=\"a\", } 3\n"
           "vllm:num_requests_waiting 2\nvllm:num_requests_waiting{} 2\n",
           3, 2);
    /* Swapped values are another set. */
    expect("vllm:num_requests_running{x=\"a\",y=\"b\"} 3\n"
           "vllm:num_requests_running{x=\"b\",y=\"a\"} 3\n"
           "vllm:num_requests_waiting 0\n",
           6, 0);
    open_one();
    page_feed(&fleet, A,
              "sglang:token_usage{tp_rank=\"0\"} 0.2\n"
              "sglang:token_usage{tp_rank=\"1\"} 0.9\n"
              "sglang:token_usage{tp_rank=\"2\"} 0.5\n");
    assert_near(page_gauge(&fleet, A, USE), 0.9, 0);
    fleet_close(&fleet);
}

/* The same series twice counts once, by its larger value in either order. */
static void me_02_kind_repeated_series(void **state)
{
    (void)state;
    expect("vllm:num_requests_running 3\nvllm:num_requests_running 5\n"
           "vllm:num_requests_waiting 0\n",
           5, 0);
    assert_int_equal(page_diag.reasons[LBROUTE_DIAG_REPEATED], 1);
    expect("vllm:num_requests_running 5\nvllm:num_requests_running 3\n"
           "vllm:num_requests_waiting 0\n",
           5, 0);
    expect("vllm:num_requests_running 5\nvllm:num_requests_running NaN\n"
           "vllm:num_requests_waiting 1\n",
           NONE, 1);
    expect("vllm:num_requests_running NaN\nvllm:num_requests_running 5\n"
           "vllm:num_requests_waiting 1\n",
           NONE, 1);
}

/* 64 engines on one page, ten figures each. */
static void me_02_kind_many_engines(void **state)
{
    char *page = malloc(1 << 16);
    size_t length = 0;
    (void)state;

    assert_non_null(page);
    for (int engine = 0; engine < 64; engine++)
        length +=
            (size_t)snprintf(page + length, (1 << 16) - length,
                             "vllm:num_requests_running{engine=\"%d\"} %d\n"
                             "vllm:num_requests_waiting{engine=\"%d\"} 1\n"
                             "vllm:kv_cache_usage_perc{engine=\"%d\"} 0.5\n",
                             engine, engine, engine, engine);
    open_one();
    page_feed(&fleet, A, page);
    assert_near(page_gauge(&fleet, A, RUN), 63 * 64 / 2, 0);
    assert_near(page_gauge(&fleet, A, WAIT), 64, 0);
    assert_near(page_gauge(&fleet, A, USE), 0.5, 0);
    fleet_close(&fleet);
    free(page);
}

/* ---- ME-03, ME-11 ---- */

static void me_03_trailing_blanks(void **state)
{
    (void)state;
    expect("vllm:num_requests_running 4424 \nvllm:num_requests_waiting\t7\t\n",
           4424, 7);
    expect("  vllm:num_requests_running   8  \n\n   \t \n"
           "vllm:num_requests_waiting{a=\"b\"}   9  1700000000000\n",
           8, 9);
    assert_int_equal(page_diag.broken, 0);
    assert_int_equal(page_diag.accepted, 2);
    assert_int_equal(page_diag.skipped, 0);
}

static void me_11_no_blank_before_the_value(void **state)
{
    (void)state;
    expect("vllm:num_requests_running{a=\"b\"}123\n"
           "vllm:num_requests_waiting{}5\n",
           123, 5);
    expect("vllm:num_requests_running{a=\"b\"}-4\n"
           "vllm:num_requests_waiting{ a = \"b\" , } 6\n",
           0, 6);
    assert_int_equal(page_diag.reasons[LBROUTE_DIAG_RANGE], 1);
    assert_int_equal(page_diag.broken, 0);
}

/* ---- ME-04 ---- */

static void me_04_crlf(void **state)
{
    static const char page[] =
        "# HELP vllm:num_requests_running Number of\r requests.\r\n"
        "# TYPE vllm:num_requests_running gauge\r\n"
        "vllm:num_requests_running{engine=\"0\"} 25.88\r\n"
        "\r\n"
        "vllm:num_requests_waiting{engine=\"0\"} 3\n"
        "vllm:kv_cache_usage_perc{engine=\"0\"} 0.5 1700000000000\r\n"
        "# EOF\r\n"
        "vllm:num_requests_running{engine=\"1\"} 100\r\n";
    (void)state;

    expect(page, 25.88, 3);
    assert_int_equal(page_diag.broken, 0);
    assert_int_equal(page_diag.accepted, 3);
}

/* ---- ME-06 ---- */

static void me_06_counts_as_floats(void **state)
{
    (void)state;
    expect("vllm:num_requests_running 17.0\nvllm:num_requests_waiting 3.\n"
           "vllm:e2e_request_latency_seconds_count 5.0\n",
           17, 3);
    assert_int_equal(page_diag.broken, 0);
    expect("vllm:num_requests_running 2.5\nvllm:num_requests_waiting -1\n", 2.5,
           0);
    assert_int_equal(page_diag.reasons[LBROUTE_DIAG_RANGE], 1);
    assert_int_equal(page_diag.accepted, 2);
    expect("vllm:num_requests_running 1e300\nvllm:num_requests_waiting 1.2e1\n",
           NONE, 12);
    assert_int_equal(page_diag.reasons[LBROUTE_DIAG_RANGE], 1);
}

/* A use of more than all is full by rounding; far more is no such figure. */
/* More digits than 64 bits hold count by their place. */
static void me_06_kind_long_numbers(void **state)
{
    (void)state;
    expect("vllm:num_requests_running 30000000000000000000000000e-25\n"
           "vllm:num_requests_waiting 2.0000000000000000000000000000000\n",
           3, 2);
    expect("vllm:num_requests_running 0.00000000000000000000000007e26\n"
           "vllm:num_requests_waiting 5000000000000000000000000000e-27\n",
           7, 5);
}

static void me_06_kind_usage_range(void **state)
{
    (void)state;
    open_one();
    page_feed(&fleet, A, "vllm:kv_cache_usage_perc 1.0000001\n");
    assert_near(page_gauge(&fleet, A, USE), 1, 0);
    page_feed(&fleet, A, "vllm:kv_cache_usage_perc -0.0001\n");
    assert_near(page_gauge(&fleet, A, USE), 0, 0);
    page_feed(&fleet, A, "vllm:kv_cache_usage_perc 42\n");
    assert_true(isnan(page_gauge(&fleet, A, USE)));
    assert_int_equal(page_diag.reasons[LBROUTE_DIAG_RANGE], 1);
    fleet_close(&fleet);
}

/* ---- ME-07, ME-08 ---- */

static void me_07_braces_in_labels(void **state)
{
    (void)state;
    expect("vllm:num_requests_waiting{model_name=\"org/{x}, y=1} 99\","
           "engine=\"0\"} 4\n"
           "vllm:num_requests_running{model_name=\"# } 5\"} 6 # {x=\"}\"} 1\n",
           6, 4);
    /* The whole text tells two models apart. */
    expect("vllm:num_requests_waiting{model_name=\"a, b=1\"} 4\n"
           "vllm:num_requests_waiting{model_name=\"a, b=2\"} 4\n"
           "vllm:num_requests_running 0\n",
           0, 8);
}

static const char escapes[] =
    "vllm:num_requests_running{path=\"F:\\\\\",vm=\"X\"} 21\n"
    "vllm:num_requests_waiting{a=\"q\\\"uote\"} 2\n"
    "vllm:num_requests_waiting{a=\"line\\nbreak\"} 3\n"
    "vllm:num_requests_waiting{a=\"unterminated 4\n"
    "vllm:num_requests_waiting{a=\"\\\n"
    "vllm:kv_cache_usage_perc 0.5\n";

static void me_08_escapes(void **state)
{
    (void)state;
    expect(escapes, 21, 5);
    assert_int_equal(page_diag.broken, 2);
    assert_int_equal(page_diag.reasons[LBROUTE_DIAG_LABELS], 2);
    assert_int_equal(page_diag.line, 4);
    assert_int_equal(page_diag.offset, strstr(escapes, "4\n") - escapes + 1 -
                                           (long)strlen("vllm:num_requests_"
                                                        "waiting{a=\""
                                                        "unterminated 4"));
    assert_int_equal(page_diag.accepted, 4);
}

/* Every truncation is read without a look beyond the end, and nothing is
 * found but what is complete. */
static void me_08_kind_truncations(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof escapes; length++) {
        int result;

        open_one();
        result = page_feed_bytes(&fleet, A, escapes, length);
        assert_true(result == LBROUTE_OK || result == LBROUTE_ERR_NO_NEWS);
        assert_true(page_diag.accepted + page_diag.broken <= 6);
        assert_int_equal(result == LBROUTE_OK, page_diag.accepted > 0);
        fleet_close(&fleet);
    }
}

/* ---- ME-09 ---- */

static void me_09_exemplars(void **state)
{
    (void)state;
    expect("# TYPE vllm:e2e_request_latency_seconds histogram\n"
           "vllm:e2e_request_latency_seconds_bucket{le=\"1\"} 4 "
           "# {trace_id=\"x\"} 5.9 1.69e9\n"
           "vllm:e2e_request_latency_seconds_bucket{le=\"2\"} 5 #  5.9 1.69e9\n"
           "vllm:num_requests_running 2 # {trace_id=\"x\"} 5.9 1.69e9\n"
           "vllm:num_requests_waiting 6 1.69e9 # {} 1\n"
           "# EOF\n"
           "vllm:num_requests_waiting 100\n",
           2, 6);
    assert_int_equal(page_diag.broken, 0);
    assert_int_equal(page_diag.skipped, 2);
}

/* Only the mark itself ends a page. */
static void me_09_kind_end_mark(void **state)
{
    (void)state;
    expect("# EOF is no mark\n# EOFs\n#EOF\nvllm:num_requests_running 1\n"
           "vllm:num_requests_waiting 2\n",
           1, 2);
    expect(
        "vllm:num_requests_running 1\nvllm:num_requests_waiting 2\n# EOF  \t\n"
        "junk {\n",
        1, 2);
    assert_int_equal(page_diag.broken, 0);
}

/* ---- ME-10 ---- */

static void me_10_whole_names(void **state)
{
    static const char *const lines[] = {
        "# HELP vllm:num_requests_waiting 5 things",
        "vllm:num_requests_waiting_by_reason{reason=\"capacity\"} 40",
        "vllm:num_requests_waiting{engine=\"0\"} 3",
        "xvllm:num_requests_waiting 77",
        "vllm:num_requests_waitin 78",
        "VLLM:num_requests_waiting 79",
        "vllm:num_requests_running 1"};
    (void)state;

    for (size_t shift = 0; shift < 7; shift++)
        for (int reversed = 0; reversed < 2; reversed++) {
            open_one();
            feed_rotated(A, lines, 7, shift, reversed);
            assert_near(page_gauge(&fleet, A, WAIT), 3, 0);
            assert_near(page_gauge(&fleet, A, RUN), 1, 0);
            assert_int_equal(page_diag.skipped, 4);
            assert_int_equal(page_diag.accepted, 2);
            fleet_close(&fleet);
        }
}

/* ---- ME-13 ---- */

static void me_13_no_newline_at_the_end(void **state)
{
    static const char cut[] = "vllm:num_requests_waiting 12";
    (void)state;

    expect("vllm:num_requests_running 1\nvllm:num_requests_waiting 9", 1, 9);
    open_one();
    page_feed(&fleet, A, "vllm:num_requests_waiting 9");
    assert_near(page_gauge(&fleet, A, WAIT), 9, 0);
    page_no_news(&fleet, A, "");
    assert_int_equal(page_feed_bytes(&fleet, A, NULL, 0), LBROUTE_ERR_NO_NEWS);
    assert_int_equal(page_diag.broken, 0);
    assert_near(page_gauge(&fleet, A, WAIT), 9, 0);
    /* Cut in the middle of 1234: it cannot be known. */
    assert_int_equal(page_feed_bytes(&fleet, A, cut, sizeof cut - 1),
                     LBROUTE_OK);
    assert_near(page_gauge(&fleet, A, WAIT), 12, 0);
    fleet_close(&fleet);
}

/* A failed or empty scrape changes nothing: an error page, another service, a
 * page of metrics that nobody reads. */
static void me_13_kind_no_news_is_not_idle(void **state)
{
    static const char *const pages[] = {
        "",
        "\n\n",
        "# EOF\n",
        "404 page not found\n",
        "<html><body><h1>502 Bad Gateway</h1></body></html>",
        "{\"detail\":\"Not Found\"}",
        "process_cpu_seconds_total 12.5\n",
        "# EOF\nvllm:num_requests_running 0\nvllm:num_requests_waiting 0\n",
        "vllm:num_requests_running\nvllm:num_requests_waiting{\n"};
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    page_feed(&fleet, A,
              "vllm:num_requests_running 7\nvllm:num_requests_waiting 5\n");
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        char *before = state_text(fleet.router, fleet.now, STATE_FULL);

        page_no_news(&fleet, A, pages[i]);
        page_no_news(&fleet, B, pages[i]);
        state_check(fleet.router, fleet.now, STATE_FULL, before);
        assert_int_equal(page_diag.accepted, 0);
    }
    assert_near(fleet_stats(&fleet, A).load, 12, 0);
    /* What was never scraped is told apart from what was. */
    fleet.now += TEST_S;
    assert_int_equal(fleet_stats(&fleet, A).gauge_age_ns[RUN], TEST_S);
    assert_int_equal(fleet_stats(&fleet, B).gauge_age_ns[RUN], -1);
    fleet_close(&fleet);
}

/* ---- ME-17 ---- */

/* 200 lines, three of them bad. */
static size_t write_bad_page(char *page, size_t room)
{
    size_t length = 0;

    for (int line = 1; line <= 200; line++) {
        const char *text = "gitlab_token_expiry{name=\"t\"} 1";

        if (line == 10)
            text = "vllm:num_requests_waiting{engine=\"0\"} 4";
        else if (line == 57)
            text = "gitlab_token_expiry{name=\"a \"quoted\" one\"} 3";
        else if (line == 120)
            text = "gitlab_token_expiry{name=\"no value\"}";
        else if (line == 121)
            text = "\x01\x02\xff\xfe junk \x80";
        else if (line == 190)
            text = "vllm:num_requests_running{engine=\"0\"} 6";
        length += (size_t)snprintf(page + length, room - length, "%s\n", text);
    }
    return length;
}

static void me_17_one_bad_line(void **state)
{
    char page[16384];
    size_t length = write_bad_page(page, sizeof page);
    (void)state;

    open_one();
    page_feed(&fleet, A, "vllm:kv_cache_usage_perc 0.3\n");
    assert_int_equal(page_feed_bytes(&fleet, A, page, length), LBROUTE_OK);
    assert_near(page_gauge(&fleet, A, RUN), 6, 0);
    assert_near(page_gauge(&fleet, A, WAIT), 4, 0);
    assert_near(page_gauge(&fleet, A, USE), 0.3, 0); /* as it was */
    assert_int_equal(page_diag.broken, 3);
    assert_int_equal(page_diag.line, 57);
    assert_int_equal(page_diag.accepted, 2);
    assert_int_equal(page_diag.skipped, 195);
    assert_int_equal(page_diag.reasons[LBROUTE_DIAG_LABELS], 1);
    assert_int_equal(page_diag.reasons[LBROUTE_DIAG_VALUE], 1);
    assert_int_equal(page_diag.reasons[LBROUTE_DIAG_NAME], 1);
    fleet_close(&fleet);
}

/* Bytes of all kinds, zeros among them. */
static void me_17_kind_binary(void **state)
{
    unsigned char page[4096];
    (void)state;

    open_one();
    for (unsigned seed = 0; seed < 500; seed++) {
        int result;

        for (size_t i = 0; i < sizeof page; i++)
            page[i] = (unsigned char)((i * 2654435761U + seed * 40503U) >>
                                      (seed % 13));
        result = page_feed_bytes(&fleet, A, page, sizeof page);
        assert_int_equal(result, LBROUTE_ERR_NO_NEWS);
    }
    memset(page, 0, sizeof page);
    assert_int_equal(page_feed_bytes(&fleet, A, page, sizeof page),
                     LBROUTE_ERR_NO_NEWS);
    assert_int_equal(page_diag.broken, 1);
    fleet_close(&fleet);
}

/* A million series of names that are read: the figure is unknown then, the
 * others are not touched by it. */
static void me_17_kind_million_series(void **state)
{
    size_t room = (size_t)48 << 20;
    char *page = malloc(room);
    size_t length = 0;
    (void)state;

    assert_non_null(page);
    length += (size_t)snprintf(page, room, "vllm:num_requests_waiting 3\n");
    for (int i = 0; i < 1000000; i++)
        length +=
            (size_t)snprintf(page + length, room - length,
                             "vllm:num_requests_running{e=\"%d\"} 1\n", i);
    open_one();
    assert_int_equal(page_feed_bytes(&fleet, A, page, length), LBROUTE_OK);
    assert_true(isnan(page_gauge(&fleet, A, RUN)));
    assert_near(page_gauge(&fleet, A, WAIT), 3, 0);
    assert_int_equal(page_diag.accepted, 1000001);
    assert_true(page_diag.reasons[LBROUTE_DIAG_LIMIT] > 900000);
    /* One line of 10 MB. */
    memset(page, '"', (size_t)10 << 20);
    memcpy(page, "x{a=", 4);
    assert_int_equal(page_feed_bytes(&fleet, A, page, (size_t)10 << 20),
                     LBROUTE_ERR_NO_NEWS);
    assert_int_equal(page_diag.broken, 1);
    fleet_close(&fleet);
    free(page);
}

/* ---- ME-18 ---- */

static void me_18_not_finite(void **state)
{
    (void)state;
    expect("vllm:num_requests_running NaN\n"
           "vllm:num_requests_waiting +Inf -3982045\n"
           "vllm:kv_cache_usage_perc -Inf\n",
           NONE, NONE);
    assert_int_equal(page_diag.broken, 0);
    assert_int_equal(page_diag.reasons[LBROUTE_DIAG_NOT_FINITE], 3);
    expect("vllm:num_requests_running nan 1\nvllm:num_requests_waiting Inf\n",
           NONE, NONE);
    expect("vllm:num_requests_running{e=\"0\"} 3\n"
           "other 1\n"
           "vllm:num_requests_waiting 1 -3982045\n"
           "vllm:num_requests_running{e=\"1\"} 4\n",
           7, 1);
    /* A sum with an unknown part is unknown; a mean is not. */
    open_one();
    page_feed(&fleet, A,
              "vllm:num_requests_running{e=\"0\"} 3\n"
              "vllm:num_requests_running{e=\"1\"} NaN\n"
              "vllm:kv_cache_usage_perc{e=\"0\"} 0.25\n"
              "vllm:kv_cache_usage_perc{e=\"1\"} NaN\n");
    assert_true(isnan(page_gauge(&fleet, A, RUN)));
    assert_near(page_gauge(&fleet, A, USE), 0.25, 0);
    fleet_close(&fleet);
}

/* An unknown load is the mean of the others, never idle: A is unknown, or half
 * of it is; B and C are busy; nobody flocks to A. */
static void unknown_is_not_idle(const char *strategy)
{
    static const char *const pages[] = {
        "vllm:num_requests_running NaN\nvllm:num_requests_waiting +Inf\n",
        "vllm:num_requests_running NaN\nvllm:num_requests_waiting 0\n",
        "vllm:num_requests_running 0\nvllm:num_requests_waiting NaN\n",
        "vllm:num_requests_waiting 0\n", "vllm:num_requests_running 0\n"};

    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        fleet_open(&fleet, strategy, 3, 1);
        page_feed(&fleet, A, pages[i]);
        page_feed(&fleet, B,
                  "vllm:num_requests_running 4\nvllm:num_requests_waiting 1\n");
        page_feed(&fleet, C,
                  "vllm:num_requests_running 6\nvllm:num_requests_waiting 1\n");
        assert_near(fleet_stats(&fleet, A).load, 6, 0);
        assert_near(fleet_stats(&fleet, B).load, 5, 0);
        fleet_close(&fleet);
    }
}

static void me_18_kind_unknown_is_not_idle(void **state)
{
    (void)state;
    unknown_is_not_idle("power_of_two");
    unknown_is_not_idle("least_connections");
}

/* Half of a load is the least that runs there. */
static void me_18_kind_half_is_the_least(void **state)
{
    (void)state;
    fleet_open(&fleet, "least_connections", 3, 1);
    page_feed(&fleet, A, "vllm:num_requests_waiting 50\n");
    page_feed(&fleet, B,
              "vllm:num_requests_running 4\nvllm:num_requests_waiting 0\n");
    assert_near(fleet_stats(&fleet, A).load, 50, 0);
    assert_near(fleet_stats(&fleet, C).load, 4, 0);
    /* A half that vanished from the page counts as long as it is fresh. */
    page_feed(&fleet, A,
              "vllm:num_requests_running 2\nvllm:num_requests_waiting 1\n");
    fleet.now += 5 * TEST_S;
    page_feed(&fleet, A, "vllm:num_requests_waiting 0\n");
    assert_near(fleet_stats(&fleet, A).load, 2, 0);
    fleet.now += 6 * TEST_S;
    page_feed(&fleet, A, "vllm:num_requests_waiting 0\n");
    page_feed(&fleet, B,
              "vllm:num_requests_running 4\nvllm:num_requests_waiting 0\n");
    assert_near(fleet_stats(&fleet, A).load, 4, 0);
    fleet_close(&fleet);
}

/* Without a complete report to compare with, halves are what there is. */
static void me_18_kind_halves_alone(void **state)
{
    (void)state;
    fleet_open(&fleet, "least_connections", 3, 1);
    page_feed(&fleet, A, "tgi_batch_current_size 9\n");
    page_feed(&fleet, B, "tgi_batch_current_size 1\n");
    assert_near(fleet_stats(&fleet, A).load, 9, 0);
    assert_near(fleet_stats(&fleet, B).load, 1, 0);
    assert_near(fleet_stats(&fleet, C).load, 5, 0);
    assert_int_equal(fleet_pick_frozen(&fleet), B);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(me_01_renamed_gauge),
        cmocka_unit_test(me_01_kind_new_name_first),
        cmocka_unit_test(me_01_kind_engines),
        cmocka_unit_test(me_01_kind_usage_from_blocks),
        cmocka_unit_test(me_01_kind_sizes_in_labels),
        cmocka_unit_test(me_02_series_of_engines),
        cmocka_unit_test(me_02_kind_models_and_ranks),
        cmocka_unit_test(me_02_kind_repeated_series),
        cmocka_unit_test(me_02_kind_many_engines),
        cmocka_unit_test(me_03_trailing_blanks),
        cmocka_unit_test(me_04_crlf),
        cmocka_unit_test(me_06_counts_as_floats),
        cmocka_unit_test(me_06_kind_usage_range),
        cmocka_unit_test(me_06_kind_long_numbers),
        cmocka_unit_test(me_07_braces_in_labels),
        cmocka_unit_test(me_08_escapes),
        cmocka_unit_test(me_08_kind_truncations),
        cmocka_unit_test(me_09_exemplars),
        cmocka_unit_test(me_09_kind_end_mark),
        cmocka_unit_test(me_10_whole_names),
        cmocka_unit_test(me_11_no_blank_before_the_value),
        cmocka_unit_test(me_13_no_newline_at_the_end),
        cmocka_unit_test(me_13_kind_no_news_is_not_idle),
        cmocka_unit_test(me_17_one_bad_line),
        cmocka_unit_test(me_17_kind_binary),
        cmocka_unit_test(me_17_kind_million_series),
        cmocka_unit_test(me_18_not_finite),
        cmocka_unit_test(me_18_kind_unknown_is_not_idle),
        cmocka_unit_test(me_18_kind_half_is_the_least),
        cmocka_unit_test(me_18_kind_halves_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
