/* SPDX-License-Identifier: MIT */
#include "models/forecast.h"

#include <math.h>
#include <string.h>

#define FIRST_CAPACITY 8

int lbr_forecast_reserve(struct lbr_forecast *forecast,
                         struct lbr_memory *memory, uint32_t count)
{
    struct lbr_forecast grown = *forecast;
    int i;

    if (count <= forecast->capacity)
        return 1;
    if (!grown.capacity)
        grown.capacity = FIRST_CAPACITY;
    while (grown.capacity < count)
        grown.capacity *= 2;
    grown.columns = lbr_memory_new(memory, grown.capacity,
                                   LBR_COLUMN_COUNT * sizeof(double));
    if (!grown.columns)
        return 0;
    for (i = 0; i < LBR_COLUMN_COUNT && forecast->count; i++)
        memcpy(lbr_forecast_column(&grown, i), lbr_forecast_column(forecast, i),
               forecast->count * sizeof(double));
    lbr_forecast_destroy(forecast, memory);
    *forecast = grown;
    return 1;
}

void lbr_forecast_destroy(struct lbr_forecast *forecast,
                          struct lbr_memory *memory)
{
    lbr_memory_free(memory, forecast->columns, forecast->capacity,
                    LBR_COLUMN_COUNT * sizeof(double));
}

void lbr_forecast_append(struct lbr_forecast *forecast)
{
    uint32_t position = forecast->count++;
    int i;

    for (i = 0; i < LBR_COLUMN_COUNT; i++)
        *lbr_forecast_cell(forecast, i, position) = (double)NAN;
    *lbr_forecast_cell(forecast, LBR_COLUMN_QUEUE, position) = 0;
    *lbr_forecast_cell(forecast, LBR_COLUMN_OTHERS, position) = 0;
    *lbr_forecast_cell(forecast, LBR_COLUMN_DUE, position) = (double)INFINITY;
}

void lbr_forecast_delete(struct lbr_forecast *forecast, uint32_t position)
{
    size_t moved = forecast->count - 1 - position;
    int i;

    for (i = 0; i < LBR_COLUMN_COUNT; i++) {
        double *cell = lbr_forecast_cell(forecast, i, position);

        memmove(cell, cell + 1, moved * sizeof *cell);
    }
    forecast->count--;
}

/* A position's row of one kind, with the work before a new request. */
struct row {
    double base, per_queue, per_input, least;
    double queue, late;
};

/* Whoever's oldest request is late will be late by as much again. NaN stays. */
static inline double predict(struct row row, double input)
{
    double value = row.base + row.per_queue * row.queue + row.per_input * input;

    value = value < row.least ? row.least : value;
    return value + (row.late > 0 ? row.late : 0);
}

void lbr_forecast_sweep(struct lbr_forecast *forecast,
                        enum lbr_latency_kind kind,
                        const struct lbr_forecast_request *request)
{
    const double *base = lbr_forecast_plane(forecast, kind, LBR_PLANE_BASE);
    const double *per_queue =
        lbr_forecast_plane(forecast, kind, LBR_PLANE_PER_QUEUE);
    const double *per_input =
        lbr_forecast_plane(forecast, kind, LBR_PLANE_PER_INPUT);
    const double *least = lbr_forecast_plane(forecast, kind, LBR_PLANE_LEAST);
    const double *queue = lbr_forecast_column(forecast, LBR_COLUMN_QUEUE);
    const double *others = lbr_forecast_column(forecast, LBR_COLUMN_OTHERS);
    const double *due = lbr_forecast_column(forecast, LBR_COLUMN_DUE);
    double *restrict expected =
        lbr_forecast_column(forecast, LBR_COLUMN_EXPECTED);
    const struct lbr_forecast_request at = *request;
    uint32_t count = forecast->count;
    uint32_t i;

    for (i = 0; i < count; i++) {
        struct row row = {base[i],
                          per_queue[i],
                          per_input[i],
                          least[i],
                          queue[i] + others[i] * at.mean_input,
                          at.now - due[i]};

        expected[i] = predict(row, at.input);
    }
}

double lbr_forecast_one(const struct lbr_forecast *forecast,
                        enum lbr_latency_kind kind, uint32_t position,
                        const struct lbr_forecast_request *request)
{
    size_t step = forecast->capacity;
    const double *plane =
        lbr_forecast_plane(forecast, kind, LBR_PLANE_BASE) + position;
    struct row row = {
        plane[LBR_PLANE_BASE * step],
        plane[LBR_PLANE_PER_QUEUE * step],
        plane[LBR_PLANE_PER_INPUT * step],
        plane[LBR_PLANE_LEAST * step],
        lbr_forecast_queue(forecast, position, request->mean_input),
        request->now - *lbr_forecast_cell(forecast, LBR_COLUMN_DUE, position)};

    return predict(row, request->input);
}

/* What is known of a position. */
struct place {
    double queue, others, running, stretch, slow_first, slow_each;
    double due;
};

static inline double left(struct place place,
                          const struct lbr_work_terms *terms, double uncached)
{
    double work =
        place.queue + place.others * terms->usual + terms->input * uncached;
    double first = terms->base + terms->per_running * place.running +
                   terms->per_work * work;

    double late = terms->now - place.due;

    first = first < terms->least ? terms->least : first;
    return (place.slow_first * first +
            place.slow_each * (terms->sharing * place.running)) *
               place.stretch +
           (late > 0 ? late : 0);
}

void lbr_forecast_sweep_work(struct lbr_forecast *forecast,
                             const struct lbr_work_terms *terms)
{
    const double *queue = lbr_forecast_column(forecast, LBR_COLUMN_QUEUE);
    const double *others = lbr_forecast_column(forecast, LBR_COLUMN_OTHERS);
    const double *running = lbr_forecast_column(forecast, LBR_COLUMN_RUNNING);
    const double *stretch = lbr_forecast_column(forecast, LBR_COLUMN_STRETCH);
    const double *slow_first =
        lbr_forecast_column(forecast, LBR_COLUMN_SLOW_FIRST);
    const double *slow_each =
        lbr_forecast_column(forecast, LBR_COLUMN_SLOW_EACH);
    const double *uncached = lbr_forecast_column(forecast, LBR_COLUMN_UNCACHED);
    const double *due = lbr_forecast_column(forecast, LBR_COLUMN_DUE);
    double *restrict expected =
        lbr_forecast_column(forecast, LBR_COLUMN_EXPECTED);
    const struct lbr_work_terms by = *terms;
    uint32_t count = forecast->count;
    uint32_t i;

    for (i = 0; i < count; i++) {
        struct place place = {queue[i],   others[i],     running[i],
                              stretch[i], slow_first[i], slow_each[i],
                              due[i]};

        expected[i] = left(place, &by, uncached[i]);
    }
}

double lbr_forecast_work(const struct lbr_forecast *forecast, uint32_t position,
                         const struct lbr_work_terms *terms, double uncached)
{
    struct place place = {
        *lbr_forecast_cell(forecast, LBR_COLUMN_QUEUE, position),
        *lbr_forecast_cell(forecast, LBR_COLUMN_OTHERS, position),
        *lbr_forecast_cell(forecast, LBR_COLUMN_RUNNING, position),
        *lbr_forecast_cell(forecast, LBR_COLUMN_STRETCH, position),
        *lbr_forecast_cell(forecast, LBR_COLUMN_SLOW_FIRST, position),
        *lbr_forecast_cell(forecast, LBR_COLUMN_SLOW_EACH, position),
        *lbr_forecast_cell(forecast, LBR_COLUMN_DUE, position)};

    return left(place, terms, uncached);
}

size_t lbr_forecast_estimate(void)
{
    return LBR_COLUMN_COUNT * sizeof(double);
}
