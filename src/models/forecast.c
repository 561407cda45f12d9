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

/* A position whose oldest request is late will be late by as much again. */
static inline double predict(double base, double per_queue, double queue,
                             double per_input, double input, double late)
{
    return base + per_queue * queue + per_input * input + (late > 0 ? late : 0);
}

void lbr_forecast_sweep(struct lbr_forecast *forecast,
                        enum lbr_latency_kind kind,
                        const struct lbr_forecast_request *request)
{
    const double *base = lbr_forecast_plane(forecast, kind);
    const double *per_queue = base + forecast->capacity;
    const double *per_input = per_queue + forecast->capacity;
    const double *queue = lbr_forecast_column(forecast, LBR_COLUMN_QUEUE);
    const double *others = lbr_forecast_column(forecast, LBR_COLUMN_OTHERS);
    const double *due = lbr_forecast_column(forecast, LBR_COLUMN_DUE);
    double *restrict expected =
        lbr_forecast_column(forecast, LBR_COLUMN_EXPECTED);
    const struct lbr_forecast_request at = *request;
    uint32_t count = forecast->count;
    uint32_t i;

    for (i = 0; i < count; i++)
        expected[i] =
            predict(base[i], per_queue[i], queue[i] + others[i] * at.mean_input,
                    per_input[i], at.input, at.now - due[i]);
}

double lbr_forecast_one(const struct lbr_forecast *forecast,
                        enum lbr_latency_kind kind, uint32_t position,
                        const struct lbr_forecast_request *request)
{
    const double *plane = lbr_forecast_plane(forecast, kind) + position;
    const double *cell = lbr_forecast_cell(forecast, 0, position);
    size_t step = forecast->capacity;

    return predict(plane[0], plane[step],
                   cell[LBR_COLUMN_QUEUE * step] +
                       cell[LBR_COLUMN_OTHERS * step] * request->mean_input,
                   plane[2 * step], request->input,
                   request->now - cell[LBR_COLUMN_DUE * step]);
}

size_t lbr_forecast_estimate(void)
{
    return LBR_COLUMN_COUNT * sizeof(double);
}
