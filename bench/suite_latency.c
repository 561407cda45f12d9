/* SPDX-License-Identifier: MIT */
/*
 * The latency models by themselves, through their internal headers:
 *
 *     model.rls.update     one sample of the recursive least squares
 *     model.rls.predict.N  what all of N targets would need for a request
 */
#include "fleet.h"

#include "models/forecast.h"
#include "models/least_squares.h"

#include <stdlib.h>

enum { POINTS = 1024 };

typedef struct learner {
    struct lbr_least_squares model;
    double queue[POINTS], input[POINTS], value[POINTS];
} learner;

/* A number from 0 up to |most|. */
static double draw(uint64_t *state, double most)
{
    return most * (double)bench_random(state, 1000000) / 1e6;
}

static void *open_learner(const bench_case *test)
{
    learner *self = bench_alloc(1, sizeof *self);
    uint64_t state = 1;

    (void)test;
    for (size_t i = 0; i < POINTS; i++) {
        self->queue[i] = draw(&state, 40);
        self->input[i] = draw(&state, 8);
        self->value[i] =
            (20e6 + 50e6 * self->queue[i] + 60e6 * self->input[i]) *
            (0.9 + draw(&state, 0.2));
    }
    return self;
}

static void work_learner(void *fixture, unsigned lane, uint64_t operations)
{
    learner *self = fixture;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++) {
        size_t k = i % POINTS;

        lbr_least_squares_add(&self->model, self->queue[k], self->input[k],
                              self->value[k], NULL);
    }
    bench_keep(self->model.samples);
}

static const bench_kind update = {
    .open = open_learner, .work = work_learner, .close = free};

typedef struct board {
    struct lbr_memory memory;
    struct lbr_forecast forecast;
} board;

static void fill_row(struct lbr_forecast *forecast, uint32_t row,
                     uint64_t *state)
{
    for (int kind = 0; kind < LBR_LATENCY_KINDS; kind++)
        for (int i = 0; i < LBR_PLANE_COLUMNS; i++)
            lbr_forecast_plane(forecast, (enum lbr_latency_kind)kind, i)[row] =
                draw(state, 1e8);
    *lbr_forecast_cell(forecast, LBR_COLUMN_QUEUE, row) = draw(state, 40);
}

static void *open_board(const bench_case *test)
{
    board *self = bench_alloc(1, sizeof *self);
    lbroute_allocator heap = {0};
    uint64_t state = 1;

    lbr_memory_init(&self->memory, &heap);
    if (!lbr_forecast_reserve(&self->forecast, &self->memory,
                              (uint32_t)test->targets))
        bench_die(test->name, "out of memory");
    for (uint32_t i = 0; i < test->targets; i++) {
        lbr_forecast_append(&self->forecast);
        fill_row(&self->forecast, i, &state);
    }
    return self;
}

static void work_board(void *fixture, unsigned lane, uint64_t operations)
{
    board *self = fixture;
    struct lbr_forecast_request request = {1e9, 2, 1};
    double sum = 0;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++) {
        request.input = (double)(i & 7);
        lbr_forecast_sweep(&self->forecast, LBR_FIRST_TOKEN, &request);
        sum += *lbr_forecast_cell(&self->forecast, LBR_COLUMN_EXPECTED,
                                  (uint32_t)(i % self->forecast.count));
    }
    bench_keep((uint64_t)sum);
}

static void close_board(void *fixture)
{
    board *self = fixture;

    lbr_forecast_destroy(&self->forecast, &self->memory);
    free(self);
}

static const bench_kind predict = {
    .open = open_board, .work = work_board, .close = close_board};

void bench_suite_latency(bench_list *list)
{
    bench_case *test = bench_list_add(list, &update, "model.rls.update");

    test->budget_ns = 40;
    for (size_t i = 0; i < BENCH_SIZES; i++) {
        test = bench_list_add_sized(list, &predict, "model.rls.predict",
                                    bench_sizes[i]);
        if (bench_sizes[i] == 100)
            test->budget_ns = 60;
    }
}
