/* SPDX-License-Identifier: MIT */
/* The rules of models/least_squares.h written down once more, the slow way: all
 * samples are kept with their weights, and at each step the plane is fitted to
 * all of them at once in long double. */
#ifndef TESTS_UNIT_LEAST_SQUARES_MODEL_H
#define TESTS_UNIT_LEAST_SQUARES_MODEL_H

#include <stddef.h>

enum { SQUARES_MOST = 4096 };

struct squares_sample {
    long double x[3]; /* 1, queue, input */
    long double value, weight;
};

struct squares_model {
    size_t count;
    struct squares_sample samples[SQUARES_MOST];
    long double plane[3];
    long double usual_error, level;
    int pinned[3];
    long double whole[3][3]; /* normal equations with the ridge */
};

void squares_init(struct squares_model *model);

/* |prior|: base, per queue, per input; NULL: none. */
void squares_add(struct squares_model *model, double queue, double input,
                 double value, const double *prior);

long double squares_at(const struct squares_model *model, double queue,
                       double input);

#endif
