/* SPDX-License-Identifier: MIT */
/* ingest/series, ingest/metric_names and ingest/figures: from series to one
 * figure a gauge. */
#include "ingest/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lbroute/ingest.h>

#include "base/hash.h"
#include "ingest/figures.h"
#include "support/test.h"

static struct lbr_series_table table;
static struct lbr_series_total totals[LBR_METRICS];

static unsigned row_of(const char *name)
{
    return lbr_metric_find(lbr_text(name, strlen(name)));
}

/* ---- names ---- */

static void the_table_is_sound(void **state)
{
    (void)state;
    for (unsigned row = 0; row < LBR_METRICS; row++) {
        const struct lbr_metric *metric = &lbr_metrics[row];

        assert_non_null(metric->name.bytes);
        assert_int_equal(metric->name.length, strlen(metric->name.bytes));
        assert_in_range(metric->tells, 0, LBR_TELLS_ADAPTERS);
        assert_in_range(metric->total, LBR_TOTAL_SUM, LBR_TOTAL_ONE);
        assert_true(!metric->only || metric->label);
        /* Rows of one name follow each other, the first is found. */
        assert_true(lbr_metric_find(metric->name) <= row);
        for (unsigned r = lbr_metric_find(metric->name); r < row; r++)
            assert_true(lbr_metric_goes_on(r + 1));
    }
    assert_false(lbr_metric_goes_on(LBR_METRICS));
}

static void names_are_whole(void **state)
{
    (void)state;
    for (unsigned row = 0; row < LBR_METRICS; row++) {
        struct lbr_text name = lbr_metrics[row].name;
        char longer[128];

        memcpy(longer, name.bytes, name.length);
        longer[name.length] = '_';
        assert_int_equal(lbr_metric_find(lbr_text(longer, name.length + 1)),
                         LBR_METRICS);
        assert_true(lbr_metric_find(lbr_text(longer + 1, name.length - 1)) ==
                    LBR_METRICS);
    }
    assert_int_equal(row_of(""), LBR_METRICS);
}

/* ---- series ---- */

static void each_set_once(void **state)
{
    (void)state;
    lbr_series_init(&table);
    assert_int_equal(lbr_series_add(&table, 3, 10, 1), LBR_SERIES_ADDED);
    assert_int_equal(lbr_series_add(&table, 3, 11, 2), LBR_SERIES_ADDED);
    assert_int_equal(lbr_series_add(&table, 4, 10, 4), LBR_SERIES_ADDED);
    assert_int_equal(lbr_series_add(&table, 3, 10, 8), LBR_SERIES_REPEATED);
    assert_int_equal(lbr_series_add(&table, 3, 11, 1), LBR_SERIES_REPEATED);
    lbr_series_totals(&table, totals);
    assert_near(totals[3].sum, 10, 0);
    assert_near(totals[3].largest, 8, 0);
    assert_int_equal(totals[3].known, 2);
    assert_near(totals[4].sum, 4, 0);
    assert_int_equal(totals[5].known + totals[5].unknown, 0);
    assert_int_equal(lbr_series_add(&table, 3, 11, (double)NAN),
                     LBR_SERIES_REPEATED);
    assert_int_equal(lbr_series_add(&table, 3, 11, 9), LBR_SERIES_REPEATED);
    lbr_series_totals(&table, totals);
    assert_near(totals[3].sum, 8, 0);
    assert_int_equal(totals[3].unknown, 1);
}

/* What does not fit is unknown, for its own row alone. */
static void a_full_table(void **state)
{
    (void)state;
    lbr_series_init(&table);
    assert_int_equal(lbr_series_add(&table, 1, 0, 5), LBR_SERIES_ADDED);
    for (uint64_t i = 1; i < LBR_SERIES_MOST; i++)
        assert_int_equal(lbr_series_add(&table, 0, i << 20, 1),
                         LBR_SERIES_ADDED);
    assert_int_equal(lbr_series_add(&table, 0, 1, 1), LBR_SERIES_FULL);
    assert_int_equal(lbr_series_add(&table, 0, 1 << 20, 1),
                     LBR_SERIES_REPEATED);
    lbr_series_totals(&table, totals);
    assert_int_equal(totals[0].known, 0);
    assert_int_equal(totals[0].unknown, 1);
    assert_near(totals[1].sum, 5, 0);
    lbr_series_init(&table);
    lbr_series_totals(&table, totals);
    for (unsigned row = 0; row < LBR_METRICS; row++)
        assert_int_equal(totals[row].known + totals[row].unknown, 0);
}

/* ---- figures ---- */

static double clean(unsigned tells, double value, int wanted)
{
    int reason = 0;
    double result = lbr_figure_clean(tells, value, &reason);

    assert_int_equal(reason, wanted);
    return result;
}

static void cleaning(void **state)
{
    (void)state;
    for (unsigned tells = 0; tells <= LBR_TELLS_USED; tells++) {
        assert_near(clean(tells, 0, 0), 0, 0);
        assert_near(clean(tells, 0.5, 0), 0.5, 0);
        assert_near(clean(tells, 1, 0), 1, 0);
        assert_near(clean(tells, -1, LBROUTE_DIAG_RANGE), 0, 0);
        assert_true(isnan(clean(tells, 1e300, LBROUTE_DIAG_RANGE)));
        assert_true(isnan(clean(tells, (double)NAN, LBROUTE_DIAG_NOT_FINITE)));
        assert_true(
            isnan(clean(tells, -(double)INFINITY, LBROUTE_DIAG_NOT_FINITE)));
    }
    assert_near(clean(LBROUTE_GAUGE_KV_USAGE, 1.01, LBROUTE_DIAG_RANGE), 1, 0);
    assert_true(isnan(clean(LBROUTE_GAUGE_KV_USAGE, 42, LBROUTE_DIAG_RANGE)));
}

static void add(const char *name, uint64_t labels, double value)
{
    (void)lbr_series_add(&table, row_of(name), labels, value);
}

static void resolving(void **state)
{
    struct lbr_figures figures;
    (void)state;

    lbr_series_init(&table);
    lbr_figures_resolve(&table, &figures);
    assert_int_equal(figures.given, 0);
    add("vllm:num_requests_running", 1, 3);
    add("vllm:num_requests_running", 2, 4);
    add("vllm:num_requests_waiting", 1, (double)NAN);
    add("vllm:num_requests_waiting", 2, 4);
    add("vllm:gpu_cache_usage_perc", 1, 0.9);
    add("vllm:kv_cache_usage_perc", 1, 0.25);
    add("vllm:kv_cache_usage_perc", 2, 0.75);
    add("vllm:kv_cache_usage_perc", 3, (double)NAN);
    lbr_figures_resolve(&table, &figures);
    assert_int_equal(figures.given, 7);
    assert_near(figures.values[LBROUTE_GAUGE_RUNNING], 7, 0);
    assert_true(isnan(figures.values[LBROUTE_GAUGE_WAITING]));
    assert_near(figures.values[LBROUTE_GAUGE_KV_USAGE], 0.5, 0);
}

/* A sum beyond the range of its gauge is unknown, so that it can be reported.
 */
static void sums_stay_in_range(void **state)
{
    struct lbr_figures figures;
    (void)state;

    lbr_series_init(&table);
    add("vllm:num_requests_running", 1, 9e8);
    add("vllm:num_requests_running", 2, 9e8);
    lbr_figures_resolve(&table, &figures);
    assert_int_equal(figures.given, 1);
    assert_true(isnan(figures.values[LBROUTE_GAUGE_RUNNING]));
}

/* Labels chosen to share one place: what is not found within some steps is as
 * if there were no room, so that a page costs what its length says. */
static void chosen_labels(void **state)
{
    uint64_t labels = 0;
    unsigned added = 0;
    enum lbr_series_result result;
    (void)state;

    lbr_series_init(&table);
    do {
        while (lbr_hash_pair(++labels << 6 | 3, 0) % LBR_SERIES_INDEX != 7)
            ;
        result = lbr_series_add(&table, 3, labels, 1);
        added += result == LBR_SERIES_ADDED;
    } while (result == LBR_SERIES_ADDED);
    assert_int_equal(result, LBR_SERIES_FULL);
    assert_in_range(added, 16, 100);
    lbr_series_totals(&table, totals);
    assert_int_equal(totals[3].known, 0);
    assert_int_equal(totals[3].unknown, 1);
    assert_int_equal(lbr_series_add(&table, 4, 1, 5), LBR_SERIES_ADDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_sound), cmocka_unit_test(names_are_whole),
        cmocka_unit_test(each_set_once),      cmocka_unit_test(a_full_table),
        cmocka_unit_test(cleaning),           cmocka_unit_test(resolving),
        cmocka_unit_test(sums_stay_in_range), cmocka_unit_test(chosen_labels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
