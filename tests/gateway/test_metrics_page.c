/* SPDX-License-Identifier: MIT */
#include "admin_stage.h"
#include "exposition.h"
#include "metrics_page.h"
#include "metrics_text.h"

#include "support/test.h"

#include <lbroute/ingest.h>

#include <event2/buffer.h>

#include <math.h>
#include <string.h>

static struct stage stage;
static struct evbuffer *out;

static int open_stage(void **state)
{
    (void)state;
    stage_open(&stage, 4, 50.0);
    out = evbuffer_new();
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    evbuffer_free(out);
    stage_close(&stage);
    return 0;
}

/* What is in the buffer, as a string. */
static const char *text(void)
{
    evbuffer_add(out, "", 1);
    return (const char *)evbuffer_pullup(out, -1);
}

static const char *page(void)
{
    assert_true(metrics_page_write(&stage.gateway, gateway_now(), out));
    return text();
}

static void test_a_page_is_well_formed(void **state)
{
    (void)state;
    assert_true(exposition_check(page()) > 500);
}

static void test_a_page_after_traffic_is_well_formed(void **state)
{
    (void)state;
    for (int i = 0; i < 400; i++)
        stage_step(&stage, 0.1);
    assert_true(exposition_check(page()) > 500);
}

static void test_numbers_are_the_router_s(void **state)
{
    const char *at;
    lbroute_stats stats;

    (void)state;
    for (int i = 0; i < 50; i++)
        stage_step(&stage, 0.1);
    lbroute_stats_init(&stats, sizeof(stats));
    lbroute_get_stats(stage.gateway.router, &stats);
    lbroute_target_drain(stage.gateway.router,
                         fleet_find(&stage.fleet, "chat-2")->target, 1,
                         gateway_now());
    at = page();
    assert_true(exposition_value(at, "lbroute_router_picks_total") ==
                (double)stats.picks);
    assert_true(exposition_value(at, "lbroute_router_open_tickets") ==
                (double)stats.open_tickets);
    assert_true(exposition_value(at, "lbroute_pool_targets{pool=\"chat\"}") ==
                4.0);
    assert_true(
        exposition_value(
            at, "lbroute_target_draining{target=\"chat-2\",pool=\"chat\"}") ==
        1.0);
    assert_true(exposition_value(at,
                                 "lbroute_target_state{target=\"chat-2\","
                                 "pool=\"chat\",state=\"draining\"}") == 1.0);
    assert_true(exposition_value(
                    at, "lbroute_target_weight{target=\"even-3\",pool=\"even"
                        "\"}") == 3.0);
}

/* A name with all that has to be escaped, and bytes that are no UTF-8. */
static void test_labels_are_escaped(void **state)
{
    const struct metrics_label labels[] = {{"a", "x\"y\\z\n\xFF"}, {"b", ""}};

    (void)state;
    metrics_family(out, "m", "gauge", "Text.");
    metrics_sample(out, "m", labels, 2, 0.5);
    assert_string_equal(text(), "# HELP m Text.\n# TYPE m gauge\n"
                                "m{a=\"x\\\"y\\\\z\\n?\",b=\"\"} 0.5\n");
}

static void test_hostile_names_stay_labels(void **state)
{
    const char *at = page();

    (void)state;
    assert_non_null(
        strstr(at, "target=\"<b>\\\"even\\\"\\\\two</b>\",pool=\"even\""));
    assert_non_null(
        strstr(at, "model=\"<img src=x onerror=\\\"document.title='hurt'\\\">"
                   "\""));
}

static void test_numbers(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "m 0\n"},
        {1234567890123.0, "m 1234567890123\n"},
        {0.1, "m 0.1\n"},
        {-3.0, "m -3\n"},
        {(double)INFINITY, "m +Inf\n"},
        {(double)NAN, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        metrics_sample(out, "m", NULL, 0, cases[i].value);
        assert_string_equal(text(), cases[i].text);
        evbuffer_drain(out, evbuffer_get_length(out));
    }
    metrics_count(out, "m", NULL, 0, UINT64_MAX);
    assert_string_equal(text(), "m 18446744073709551615\n");
}

static void test_histograms_add_up(void **state)
{
    struct histogram histogram;
    const char *at;

    (void)state;
    memset(&histogram, 0, sizeof(histogram));
    histogram_add(&histogram, 0.0005);
    histogram_add(&histogram, 0.3);
    histogram_add(&histogram, 100.0);
    metrics_histogram(out, "h", "Text.", &histogram, 1.0);
    at = text();
    assert_int_equal(exposition_check(at), COUNTER_BUCKETS + 2);
    assert_true(exposition_value(at, "h_bucket{le=\"0.001\"}") == 1.0);
    assert_true(exposition_value(at, "h_bucket{le=\"0.25\"}") == 1.0);
    assert_true(exposition_value(at, "h_bucket{le=\"0.5\"}") == 2.0);
    assert_true(exposition_value(at, "h_bucket{le=\"60\"}") == 2.0);
    assert_true(exposition_value(at, "h_bucket{le=\"+Inf\"}") == 3.0);
    assert_true(exposition_value(at, "h_count") == 3.0);
    assert_near(exposition_value(at, "h_sum"), 100.3005, 1e-9);
}

/* The decision's are a thousandth. */
static void test_histograms_of_decisions(void **state)
{
    struct histogram histogram;
    const char *at;

    (void)state;
    memset(&histogram, 0, sizeof(histogram));
    histogram_add(&histogram, 0.004); /* 4 µs */
    metrics_histogram(out, "h", "Text.", &histogram, 1000.0);
    at = text();
    assert_true(exposition_value(at, "h_bucket{le=\"2.5e-06\"}") == 0.0);
    assert_true(exposition_value(at, "h_bucket{le=\"5e-06\"}") == 1.0);
    assert_near(exposition_value(at, "h_sum"), 4e-6, 1e-12);
}

/* Somebody points a scrape at a gateway instead of an engine. */
static void test_it_is_no_news_of_an_engine(void **state)
{
    lbroute_target target = fleet_find(&stage.fleet, "chat-1")->target;
    const char *at = page();
    lbroute_diag diag;

    (void)state;
    lbroute_diag_init(&diag, sizeof(diag));
    assert_int_equal(lbroute_ingest_metrics(stage.gateway.router, target, at,
                                            strlen(at), gateway_now(), &diag),
                     LBROUTE_ERR_NO_NEWS);
    assert_int_equal(diag.accepted, 0);
    assert_int_equal(diag.broken, 0);
    assert_true(diag.skipped > 500);
}

/* As many targets as a page may show, and some more. */
static void test_it_is_bounded(void **state)
{
    struct stage large;
    const char *at;

    (void)state;
    stage_open(&large, 2100, 0.0);
    assert_true(metrics_targets_write(&large.gateway, gateway_now(), out));
    at = text();
    assert_true(exposition_value(at, "lbroute_targets_left_out") == 111.0);
    stage_close(&large);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_stage, close_stage)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_page_is_well_formed),
        TEST(test_a_page_after_traffic_is_well_formed),
        TEST(test_numbers_are_the_router_s),
        TEST(test_labels_are_escaped),
        TEST(test_hostile_names_stay_labels),
        TEST(test_numbers),
        TEST(test_histograms_add_up),
        TEST(test_histograms_of_decisions),
        TEST(test_it_is_no_news_of_an_engine),
        TEST(test_it_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
