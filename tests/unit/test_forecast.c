/* SPDX-License-Identifier: MIT */
/* The forecast: rows that come and go, and a sweep that is the formula. */
#include "models/forecast.h"

#include <math.h>
#include <string.h>

#include "heap.h"
#include "support/rng.h"
#include "support/test.h"

enum { MOST = 200 };

/* A row as a test knows it. */
struct row {
    double plane[LBR_LATENCY_KINDS][LBR_PLANE_COLUMNS];
    double queue, others, due;
    double running, stretch, slow_first, slow_each, uncached;
};

static double some(struct test_rng *rng)
{
    return (double)test_rng_below(rng, 1000);
}

static struct row random_row(struct test_rng *rng)
{
    struct row row;

    for (int kind = 0; kind < LBR_LATENCY_KINDS; kind++)
        for (int i = 0; i < LBR_PLANE_COLUMNS; i++)
            row.plane[kind][i] = some(rng);
    if (test_rng_below(rng, 4) == 0)
        row.plane[LBR_FIRST_TOKEN][LBR_PLANE_BASE] = (double)NAN;
    row.plane[LBR_TOTAL][LBR_PLANE_LEAST] *= 1000;
    row.queue = some(rng);
    row.others = some(rng);
    row.due = test_rng_below(rng, 2) ? some(rng) : (double)INFINITY;
    row.running = some(rng);
    row.stretch = 1 + some(rng) / 100;
    row.slow_first = (1 + some(rng)) / 100;
    row.slow_each = (1 + some(rng)) / 100;
    row.uncached = some(rng) / 1000;
    return row;
}

static void store(struct lbr_forecast *forecast, uint32_t at,
                  const struct row *row)
{
    for (int kind = 0; kind < LBR_LATENCY_KINDS; kind++)
        for (int i = 0; i < LBR_PLANE_COLUMNS; i++)
            lbr_forecast_plane(forecast, (enum lbr_latency_kind)kind, i)[at] =
                row->plane[kind][i];
    *lbr_forecast_cell(forecast, LBR_COLUMN_QUEUE, at) = row->queue;
    *lbr_forecast_cell(forecast, LBR_COLUMN_OTHERS, at) = row->others;
    *lbr_forecast_cell(forecast, LBR_COLUMN_DUE, at) = row->due;
    *lbr_forecast_cell(forecast, LBR_COLUMN_RUNNING, at) = row->running;
    *lbr_forecast_cell(forecast, LBR_COLUMN_STRETCH, at) = row->stretch;
    *lbr_forecast_cell(forecast, LBR_COLUMN_SLOW_FIRST, at) = row->slow_first;
    *lbr_forecast_cell(forecast, LBR_COLUMN_SLOW_EACH, at) = row->slow_each;
    *lbr_forecast_cell(forecast, LBR_COLUMN_UNCACHED, at) = row->uncached;
}

static double formula(const struct row *row, int kind,
                      const struct lbr_forecast_request *request)
{
    double work = row->queue + row->others * request->mean_input;
    double late = request->now > row->due ? request->now - row->due : 0;

    double value = row->plane[kind][0] + row->plane[kind][1] * work +
                   row->plane[kind][2] * request->input;

    return value < row->plane[kind][3] ? row->plane[kind][3] + late
                                       : value + late;
}

static void check_same(double value, double wanted)
{
    assert_int_equal(isnan(value), isnan(wanted));
    if (!isnan(wanted))
        assert_near(value, wanted, 1e-9 * (1 + fabs(wanted)));
}

static double work_left(const struct row *row,
                        const struct lbr_work_terms *terms)
{
    double work =
        row->queue + row->others * terms->usual + row->uncached * terms->input;
    double first = terms->base + terms->per_running * row->running +
                   terms->per_work * work;

    return (fmax(first, terms->least) * row->slow_first +
            terms->sharing * row->running * row->slow_each) *
               row->stretch +
           (terms->now > row->due ? terms->now - row->due : 0);
}

static void check_work(struct lbr_forecast *forecast, const struct row *rows,
                       uint32_t count, struct test_rng *rng)
{
    struct lbr_work_terms terms = {some(rng) / 100, some(rng) / 10, some(rng),
                                   some(rng),       some(rng),      0,
                                   some(rng),       some(rng)};

    terms.least = test_rng_below(rng, 2) ? some(rng) * 1000 : 0;
    lbr_forecast_sweep_work(forecast, &terms);
    for (uint32_t i = 0; i < count; i++) {
        double wanted = work_left(&rows[i], &terms);

        check_same(*lbr_forecast_cell(forecast, LBR_COLUMN_EXPECTED, i),
                   wanted);
        assert_true(lbr_forecast_work(forecast, i, &terms, rows[i].uncached) ==
                    *lbr_forecast_cell(forecast, LBR_COLUMN_EXPECTED, i));
    }
}

static void check(struct lbr_forecast *forecast, const struct row *rows,
                  uint32_t count, struct test_rng *rng)
{
    struct lbr_forecast_request request = {some(rng), some(rng) / 100,
                                           some(rng) / 10};

    assert_int_equal(forecast->count, count);
    for (int kind = 0; kind < LBR_LATENCY_KINDS; kind++) {
        lbr_forecast_sweep(forecast, (enum lbr_latency_kind)kind, &request);
        for (uint32_t i = 0; i < count; i++) {
            double wanted = formula(&rows[i], kind, &request);

            check_same(*lbr_forecast_cell(forecast, LBR_COLUMN_EXPECTED, i),
                       wanted);
            check_same(lbr_forecast_one(forecast, (enum lbr_latency_kind)kind,
                                        i, &request),
                       wanted);
        }
    }
}

static void rows_come_and_go(void **state)
{
    static struct row rows[MOST];
    struct test_rng rng = {1};
    struct lbr_forecast forecast = {NULL, 0, 0};
    struct unit_heap heap;
    uint32_t count = 0;
    (void)state;

    unit_heap_open(&heap);
    for (int step = 0; step < 2000; step++) {
        if (count < MOST && (count == 0 || test_rng_below(&rng, 3))) {
            assert_true(
                lbr_forecast_reserve(&forecast, &heap.memory, count + 1));
            lbr_forecast_append(&forecast);
            rows[count] = random_row(&rng);
            store(&forecast, count, &rows[count]);
            count++;
        } else {
            uint32_t at = (uint32_t)test_rng_below(&rng, count);

            lbr_forecast_delete(&forecast, at);
            memmove(&rows[at], &rows[at + 1],
                    (count - 1 - at) * sizeof rows[0]);
            count--;
        }
        check(&forecast, rows, count, &rng);
        check_work(&forecast, rows, count, &rng);
    }
    lbr_forecast_destroy(&forecast, &heap.memory);
    unit_heap_close(&heap);
}

static void new_rows_are_unknown(void **state)
{
    struct lbr_forecast forecast = {NULL, 0, 0};
    struct lbr_forecast_request request = {1e18, 1, 1};
    struct unit_heap heap;
    (void)state;

    unit_heap_open(&heap);
    assert_true(lbr_forecast_reserve(&forecast, &heap.memory, 1));
    lbr_forecast_append(&forecast);
    assert_true(
        isnan(lbr_forecast_one(&forecast, LBR_FIRST_TOKEN, 0, &request)));
    assert_true(isnan(lbr_forecast_one(&forecast, LBR_TOTAL, 0, &request)));
    assert_near(lbr_forecast_queue(&forecast, 0, 1), 0, 0);
    lbr_forecast_destroy(&forecast, &heap.memory);
    unit_heap_close(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_and_go),
        cmocka_unit_test(new_rows_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
