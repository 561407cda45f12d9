/* SPDX-License-Identifier: MIT */
/* Recursive least squares of a plane through a latency:
 *
 *     value = base + per_queue * queue + per_input * input
 *
 * with slopes that are not below 0. The base may be: long prompts cost more
 * than in proportion. Where the plane is below a 64th of the usual value, that
 * is predicted.
 *
 * What is kept is the information of the samples so far, each weighted by
 * 1 / prediction², so that errors count relative to the value, and forgotten by
 * 0.995 with each further sample:
 *
 *     info    = sum of  w x x'      (x = 1, queue, input)
 *     moments = sum of  w x value
 *
 * and the plane is solved from both at each update. Sums that fade keep no
 * rounding error for longer than samples, and six numbers of a symmetric matrix
 * are symmetric: there is nothing that could drift in 10^9 updates. The ridge
 * that pulls to a prior is a part of each variance: weak where there is
 * evidence, all there is where there is none (constant or collinear input).
 *
 * A sample far off is taken for one at six times the usual error, and moves the
 * prediction of its own point by at most 3 %, once the plane is known and as
 * long as errors of 25 % are unusual. Usual is the median of the errors, which
 * grows by 5 % (at first by more) with each sample beyond it. Once errors of
 * 25 % are usual, what was before fades faster: a lasting change is followed
 * within 100 to 250 samples, a wild sample is not. */
#ifndef LBR_MODELS_LEAST_SQUARES_H
#define LBR_MODELS_LEAST_SQUARES_H

#include "base/bytes.h"

#include <stdint.h>

/* Samples from which on a plane counts as known. */
#define LBR_PLANE_KNOWN 8

struct lbr_plane {
    double base, per_queue, per_input;
};

struct lbr_least_squares {
    struct lbr_plane plane;
    double info[6]; /* lower triangle by rows */
    double moments[3];
    double pivots[3];   /* of the latest solution, inverted … */
    double lower[3];    /* … and its unit lower triangle by rows */
    double usual_error; /* median of |value / prediction - 1| */
    double level;       /* recent mean of the values */
    uint64_t samples;
    unsigned pinned; /* bits: coefficients held at 0 */
};

static inline double lbr_plane_at(const struct lbr_plane *plane, double queue,
                                  double input)
{
    return plane->base + plane->per_queue * queue + plane->per_input * input;
}

/* The least that is predicted. */
static inline double lbr_least_squares_floor(
    const struct lbr_least_squares *model)
{
    return model->level / 64;
}

/* The prediction; there must be a sample. */
static inline double lbr_least_squares_at(const struct lbr_least_squares *model,
                                          double queue, double input)
{
    double value = lbr_plane_at(&model->plane, queue, input);
    double least = lbr_least_squares_floor(model);

    return value < least ? least : value;
}

static inline int lbr_least_squares_known(const struct lbr_least_squares *model)
{
    return model->samples >= LBR_PLANE_KNOWN;
}

/* Takes in a sample. |prior| is what the ridge pulls to; NULL: the plane as it
 * is, where a queue of which nothing was seen costs as much as own input. A
 * value that is not
 * positive, and anything that is not finite or out of all proportion, changes
 * nothing. */
void lbr_least_squares_add(struct lbr_least_squares *model, double queue,
                           double input, double value,
                           const struct lbr_plane *prior);

/* Whether everything about a model with samples is as samples make it: then no
 * further one can lead out of the finite numbers. */
int lbr_least_squares_is_sound(const struct lbr_least_squares *model);

/* As bytes, and back. One that is not sound is saved as one without samples. */
void lbr_least_squares_save(const struct lbr_least_squares *model,
                            struct lbr_writer *writer);
void lbr_least_squares_load(struct lbr_least_squares *model,
                            struct lbr_reader *reader);
/* Likewise of a plane alone. */
int lbr_plane_is_sound(const struct lbr_plane *plane);
void lbr_plane_save(const struct lbr_plane *plane, struct lbr_writer *writer);
void lbr_plane_load(struct lbr_plane *plane, struct lbr_reader *reader);

#endif
