/* SPDX-License-Identifier: MIT */
/* The latency that each position of a group would give a request: planes and
 * what stands before it, in columns, so that all are predicted in one sweep.
 *
 *     position        0     1     2   …
 *     base            │     │     │          a kind's four columns
 *     per_queue       │     │     │
 *     per_input       │     │     │
 *     least           ▼     ▼     ▼
 *     queue, others, due                     common to all kinds
 *     running, stretch, slowness             what work is judged by, too
 *     ─────────────────────────────
 *     expected                               result of the latest sweep
 *
 * Work can also be judged by one plane that all have in common, times what a
 * position's own slowness makes of it: what is left to do there, with the
 * request (see state/work_times.h).
 *
 * Unknown is NaN. Times are ns as real numbers, work is in kilotokens. */
#ifndef LBR_MODELS_FORECAST_H
#define LBR_MODELS_FORECAST_H

#include "base/memory.h"

enum lbr_latency_kind { LBR_FIRST_TOKEN, LBR_TOTAL, LBR_LATENCY_KINDS };

/* A kind's columns, one behind the other. */
enum {
    LBR_PLANE_BASE,
    LBR_PLANE_PER_QUEUE,
    LBR_PLANE_PER_INPUT,
    LBR_PLANE_LEAST, /* that is predicted */
    LBR_PLANE_COLUMNS
};

enum {
    LBR_COLUMN_QUEUE,   /* own requests that wait for their first token */
    LBR_COLUMN_OTHERS,  /* requests of others that wait, their number */
    LBR_COLUMN_DUE,     /* when the oldest own one should have had its; +inf */
    LBR_COLUMN_AVERAGE, /* moving average of the total */
    LBR_COLUMN_TAUGHT,  /* time of its latest sample */
    LBR_COLUMN_RUNNING, /* requests there, where pace is kept */
    LBR_COLUMN_STRETCH, /* 1 / part of its weight that it has by now */
    LBR_COLUMN_SLOW_FIRST, /* slowness to first tokens … */
    LBR_COLUMN_SLOW_EACH,  /* … and from token to token */
    LBR_COLUMN_EXPECTED,   /* scratch: of the latest sweep */
    LBR_COLUMN_LOAD,       /* scratch: relative load */
    LBR_COLUMN_UNCACHED,   /* scratch: part of a prompt to be computed there */
    LBR_COLUMN_PLANES,     /* first of each kind's */
    LBR_COLUMN_COUNT = LBR_COLUMN_PLANES + LBR_PLANE_COLUMNS * LBR_LATENCY_KINDS
};

struct lbr_forecast {
    double *columns; /* LBR_COLUMN_COUNT times |capacity| */
    uint32_t count, capacity;
};

/* A request as all positions see it. */
struct lbr_forecast_request {
    double now;
    double mean_input; /* of the pool's requests, kilotokens */
    double input;      /* own */
};

/* What work is judged by, the same for all positions:
 *
 *     work  = queue + others * usual + input * uncached
 *     first = base + per_running * running + per_work * work, at least `least`
 *     left  = stretch * (slow_first * first + slow_each * sharing * running)
 *           + late
 *
 * where late is by how much the oldest request that still waits for its first
 * token is overdue; slow start does not stretch what has been waited. */
struct lbr_work_terms {
    double usual; /* input of the pool's requests, kilotokens */
    double input; /* own, made dearer by what it drives out */
    double base, per_running, per_work;
    double least;   /* that the plane gives */
    double sharing; /* for each request that runs */
    double now;     /* who is late counts by it; 0: nobody does */
};

/* Makes room for |count| positions. Returns 0 without memory. */
int lbr_forecast_reserve(struct lbr_forecast *forecast,
                         struct lbr_memory *memory, uint32_t count);
void lbr_forecast_destroy(struct lbr_forecast *forecast,
                          struct lbr_memory *memory);

/* Adds position |count| of which nothing is known, or takes one out; later
 * ones move down by one. */
void lbr_forecast_append(struct lbr_forecast *forecast);
void lbr_forecast_delete(struct lbr_forecast *forecast, uint32_t position);

static inline double *lbr_forecast_column(const struct lbr_forecast *forecast,
                                          int column)
{
    return forecast->columns + (size_t)column * forecast->capacity;
}

static inline double *lbr_forecast_cell(const struct lbr_forecast *forecast,
                                        int column, uint32_t position)
{
    return lbr_forecast_column(forecast, column) + position;
}

/* A column of a kind's planes. */
static inline double *lbr_forecast_plane(const struct lbr_forecast *forecast,
                                         enum lbr_latency_kind kind, int which)
{
    return lbr_forecast_column(
        forecast, LBR_COLUMN_PLANES + LBR_PLANE_COLUMNS * (int)kind + which);
}

/* Fills in the expected column by one kind's planes. */
void lbr_forecast_sweep(struct lbr_forecast *forecast,
                        enum lbr_latency_kind kind,
                        const struct lbr_forecast_request *request);

/* The same for one position; nothing is written. */
double lbr_forecast_one(const struct lbr_forecast *forecast,
                        enum lbr_latency_kind kind, uint32_t position,
                        const struct lbr_forecast_request *request);

/* Fills in the expected column with the work left, by the uncached column. */
void lbr_forecast_sweep_work(struct lbr_forecast *forecast,
                             const struct lbr_work_terms *terms);

/* The same for one position; nothing is written. */
double lbr_forecast_work(const struct lbr_forecast *forecast, uint32_t position,
                         const struct lbr_work_terms *terms, double uncached);

/* Work before a new request there. */
static inline double lbr_forecast_queue(const struct lbr_forecast *forecast,
                                        uint32_t position, double mean_input)
{
    return *lbr_forecast_cell(forecast, LBR_COLUMN_QUEUE, position) +
           *lbr_forecast_cell(forecast, LBR_COLUMN_OTHERS, position) *
               mean_input;
}

/* By how much the oldest request there is late, 0 or more. */
static inline double lbr_forecast_late(const struct lbr_forecast *forecast,
                                       uint32_t position, double now)
{
    double late = now - *lbr_forecast_cell(forecast, LBR_COLUMN_DUE, position);

    return late > 0 ? late : 0;
}

/* Upper bound of the memory for each place. */
size_t lbr_forecast_estimate(void);

#endif
