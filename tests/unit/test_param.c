/* SPDX-License-Identifier: MIT */
/* state/param: one table of names, defaults and ranges. */
#include "state/param.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "support/test.h"

static lbroute_param_info info_of(size_t index)
{
    lbroute_param_info info;

    lbroute_param_info_init(&info, sizeof info);
    assert_int_equal(lbroute_param_get_info(index, &info), LBROUTE_OK);
    return info;
}

/* What the documentation promises. */
static const struct {
    const char *name;
    double value;
} documented[] = {
    {"cache_aware.threshold", 0.5},
    {"cache_aware.budget", 16777216},
    {"cache_aware.mode", 0},
    {"consistent_hash.bounded", 0},
    {"consistent_hash.load_bound", 1.25},
    {"consistent_hash.weighted_points", 0},
    {"health.bench_after", 5},
    {"health.bench_time", 30},
    {"health.bench_max", 300},
    {"health.slow_start", 0},
    {"kv_aware.capacity", 32768},
    {"kv_aware.clients", 1024},
    {"kv_aware.client_idle", 600},
    {"kv_aware.fallback", 0},
    {"kv_aware.spread", 4},
    {"kv_aware.threshold", 0.05},
    {"load.signal_ttl", 10},
    {"pipeline.session", 1},
    {"pipeline.weight", 1},
    {"pipeline.load", 1},
    {"pipeline.prefix", 1},
    {"prefix.block_bytes", 256},
    {"prefix.block_tokens", 16},
    {"prefix.common", 0.9},
    {"session.ttl", 300},
    {"shares.window", 60},
    {"cost.input_tokens", 1000},
    {"cost.output_tokens", 250},
    {"adaptive.latency", 1},
    {"adaptive.cost", 0.5},
    {"adaptive.load", 0.25},
    {"adaptive.exploration", 0.05},
    {"adaptive.min_picks", 50},
    {"pipeline.cost", 0},
    {"lmcache_aware.ttl", 10},
    {"lora_aware.ttl", 60},
    {"fastest.alpha", 0.3},
    {"fastest.age", 60},
    {"predicted_latency.rank", 0},
    {"pipeline.latency", 0},
    {"pipeline.predicted_latency", 0},
    {"pipeline.adapter", 0},
    {"pipeline.occupancy", 0},
    {"precise_cache_aware.gpu", 1},
    {"precise_cache_aware.host", 0.8},
    {"precise_cache_aware.disk", 0.5},
    {"precise_cache_aware.threshold", 0.05},
    {"precise_cache_aware.ttl", 60},
    {"precise_cache_aware.count_copies", 0},
    {"precise_cache_aware.speculate", 0},
    {"precise_cache_aware.speculation_ttl", 2},
    {"pipeline.resident", 0},
    {"admission.mode", 0},
    {"admission.fast_limit", 4},
    {"admission.busy_in_flight", 10},
    {"admission.busy_rate", 10},
    {"admission.calm", 0.8},
    {"admission.retry_max", 300},
    {"queue.enabled", 0},
    {"queue.depth", 4},
    {"queue.timeout", 30},
    {"queue.aging", 10},
    {"queue.input_cost", 1},
    {"queue.output_cost", 2},
    {"queue.fair", 1},
};

#define DOCUMENTED (sizeof documented / sizeof documented[0])

static void defaults_are_the_documented_ones(void **state)
{
    struct lbr_params params;
    (void)state;

    lbr_params_init(&params);
    assert_int_equal(DOCUMENTED, LBR_PARAM_COUNT);
    for (size_t i = 0; i < DOCUMENTED; i++) {
        enum lbr_param param = lbr_param_find(documented[i].name);

        assert_in_range(param, 0, LBR_PARAM_COUNT - 1);
        assert_near(params.value[param], documented[i].value, 0);
        assert_near(info_of(param).default_value, documented[i].value, 0);
    }
}

static void the_table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < LBR_PARAM_COUNT; i++) {
        lbroute_param_info info = info_of(i);

        assert_true(info.minimum < info.maximum);
        assert_in_real_range(info.default_value, info.minimum, info.maximum);
        assert_non_null(strchr(info.name, '.'));
        assert_true(strlen(info.text) > 10);
        assert_null(strchr(info.text, '\n'));
        assert_int_equal(lbr_param_find(info.name), i);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(info_of(j).name, info.name);
    }
}

static void there_is_an_end(void **state)
{
    lbroute_param_info info;
    (void)state;

    lbroute_param_info_init(&info, sizeof info);
    assert_int_equal(lbroute_param_get_info(LBR_PARAM_COUNT, &info),
                     LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(lbroute_param_get_info(SIZE_MAX, &info),
                     LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(lbroute_param_get_info(0, NULL), LBROUTE_ERR_INVALID);
    info.size = 3;
    assert_int_equal(lbroute_param_get_info(0, &info), LBROUTE_ERR_INVALID);
}

static void unknown_names(void **state)
{
    static const char *const names[] = {"",
                                        "health",
                                        "health.",
                                        "bench_after",
                                        "health.bench_after ",
                                        "HEALTH.BENCH_AFTER"};
    (void)state;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(lbr_param_find(names[i]), LBR_PARAM_COUNT);
}

/* Refuses |value|; everything stays as it was. */
static void check_refused(size_t param, double value)
{
    struct lbr_params params;
    struct lbr_params before;

    memset(&params, 0, sizeof params);
    lbr_params_init(&params);
    before = params;
    assert_false(lbr_params_set(&params, (enum lbr_param)param, value));
    assert_memory_equal(&params, &before, sizeof params);
}

static void ranges_are_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < LBR_PARAM_COUNT; i++) {
        lbroute_param_info info = info_of(i);
        struct lbr_params params;

        lbr_params_init(&params);
        assert_true(lbr_params_set(&params, (enum lbr_param)i, info.minimum));
        assert_true(lbr_params_set(&params, (enum lbr_param)i, info.maximum));
        assert_near(params.value[i], info.maximum, 0);
        check_refused(i, nextafter(info.minimum, -DBL_MAX));
        check_refused(i, nextafter(info.maximum, DBL_MAX));
        check_refused(i, (double)NAN);
        check_refused(i, (double)INFINITY);
        check_refused(i, (double)-INFINITY);
    }
}

static void switches_take_zero_or_one(void **state)
{
    (void)state;
    check_refused(LBR_PARAM_RING_BOUNDED, 0.5);
    check_refused(LBR_PARAM_RING_WEIGHTED_POINTS, 0.5);
    check_refused(LBR_PARAM_BENCH_AFTER, 2.5);
    check_refused(LBR_PARAM_CACHE_BUDGET, 1024.5);
}

static void setting_one_leaves_the_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < LBR_PARAM_COUNT; i++) {
        struct lbr_params params;

        lbr_params_init(&params);
        assert_true(
            lbr_params_set(&params, (enum lbr_param)i, info_of(i).maximum));
        for (size_t j = 0; j < LBR_PARAM_COUNT; j++)
            if (j != i)
                assert_near(params.value[j], info_of(j).default_value, 0);
    }
}

static void times_are_kept_in_nanoseconds(void **state)
{
    struct lbr_params params;
    (void)state;

    lbr_params_init(&params);
    assert_int_equal(params.health.bench_after, 5);
    assert_true(params.health.bench_time == 30 * TEST_S);
    assert_true(params.health.bench_max == 300 * TEST_S);
    assert_true(params.slow_start == 0);
    assert_true(params.signal_ttl == 10 * TEST_S);
    assert_true(params.session_ttl == 300 * TEST_S);
    assert_true(params.share_bucket == 5 * TEST_S);

    assert_true(lbr_params_set(&params, LBR_PARAM_SLOW_START, 1.5));
    assert_true(params.slow_start == 1500 * TEST_MS);
    assert_true(lbr_params_set(&params, LBR_PARAM_SHARES_WINDOW, 0.012));
    assert_true(params.share_bucket == TEST_MS);
}

static void the_load_bound_needs_its_switch(void **state)
{
    struct lbr_params params;
    (void)state;

    lbr_params_init(&params);
    assert_true(lbr_params_set(&params, LBR_PARAM_RING_LOAD_BOUND, 2));
    assert_near(params.load_bound, 0, 0);
    assert_true(lbr_params_set(&params, LBR_PARAM_RING_BOUNDED, 1));
    assert_near(params.load_bound, 2, 0);
    assert_true(lbr_params_set(&params, LBR_PARAM_RING_BOUNDED, 0));
    assert_near(params.load_bound, 0, 0);

    assert_int_equal(params.weighted_points, 0);
    assert_true(lbr_params_set(&params, LBR_PARAM_RING_WEIGHTED_POINTS, 1));
    assert_int_equal(params.weighted_points, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_the_documented_ones),
        cmocka_unit_test(the_table_is_sound),
        cmocka_unit_test(there_is_an_end),
        cmocka_unit_test(unknown_names),
        cmocka_unit_test(ranges_are_kept),
        cmocka_unit_test(switches_take_zero_or_one),
        cmocka_unit_test(setting_one_leaves_the_others),
        cmocka_unit_test(times_are_kept_in_nanoseconds),
        cmocka_unit_test(the_load_bound_needs_its_switch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
