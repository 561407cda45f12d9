/* SPDX-License-Identifier: MIT */
#include "models/least_squares.h"

#include <math.h>
#include <string.h>

/* Weight that is left of a sample after one more. */
#define FORGETTING 0.995

/* So many samples weigh as much as all there will ever have been. */
#define MEMORY 200

/* The ridge, as a part of each coefficient's information; and, as a part of
 * that of the base, what a slope of which nothing was seen has. */
#define RIDGE 1e-4
#define LEAST_RIDGE 1e-9

/* What an unusual sample may count for. */
#define FIRST_ERROR 0.5
#define LEAST_ERROR 1e-4
#define MOST_ERROR 1e3
#define ERROR_STEP 0.05
#define CLIP 6.0
#define LEAST_CLIP 0.02
#define MOST_MOVE 0.03
#define HIGH_ERROR 0.25

/* A young model's samples weigh at least an even share each, those of one that
 * is mostly wrong four, others a tenth, as far as halving what was before can
 * make it so. */
#define YOUNG 50
#define DOUBTFUL_SHARES 4
#define LEAST_SHARE ((1 - FORGETTING) / 10)
#define MOST_FADING 0.5

/* Values up to this are latencies and tokens; beyond, arithmetic might end. */
#define LARGEST 1e30

/* Positions in a lower triangle by rows. */
enum { A00, A10, A11, A20, A21, A22 };
enum { L10, L20, L21 };

/* Slopes held at 0: bits of their numbers. */
enum { PIN_QUEUE = 1 << 1, PIN_INPUT = 1 << 2 };

struct equations {
    double a[6], r[3];
};

/* Coefficient |j| is held at 0. */
static void pin(struct equations *equations, unsigned j)
{
    static const int row[3][3] = {
        {A00, A10, A20}, {A10, A11, A21}, {A20, A21, A22}};
    unsigned i;

    for (i = 0; i < 3; i++)
        equations->a[row[j][i]] = i == j;
    equations->r[j] = 0;
}

/* Solves by L D L'. The ridge keeps every pivot far from 0. */
static void solve_all(struct lbr_least_squares *model,
                      const struct equations *equations, double b[3])
{
    const double *a = equations->a;
    const double *r = equations->r;
    double *l = model->lower;
    double *inverse = model->pivots;
    double y1, y2, c;

    inverse[0] = 1 / a[A00];
    l[L10] = a[A10] * inverse[0];
    l[L20] = a[A20] * inverse[0];
    inverse[1] = 1 / (a[A11] - l[L10] * a[A10]);
    c = a[A21] - l[L20] * a[A10];
    l[L21] = c * inverse[1];
    inverse[2] = 1 / (a[A22] - l[L20] * a[A20] - l[L21] * c);
    y1 = r[1] - l[L10] * r[0];
    y2 = r[2] - l[L20] * r[0] - l[L21] * y1;
    b[2] = y2 * inverse[2];
    b[1] = y1 * inverse[1] - l[L21] * b[2];
    b[0] = r[0] * inverse[0] - l[L10] * b[1] - l[L20] * b[2];
}

static void solve(struct lbr_least_squares *model,
                  const struct equations *equations, unsigned pinned,
                  double b[3])
{
    struct equations rest;

    model->pinned = pinned;
    if (!pinned) {
        solve_all(model, equations, b);
        return;
    }
    rest = *equations;
    if (pinned & PIN_QUEUE)
        pin(&rest, 1);
    if (pinned & PIN_INPUT)
        pin(&rest, 2);
    solve_all(model, &rest, b);
}

/* Whether neither slope is below 0 and none that is held at 0 would rise. */
static int is_best(const struct equations *equations, unsigned pinned,
                   const double b[3])
{
    const double *a = equations->a;
    const double *r = equations->r;

    if (b[1] < 0 || b[2] < 0)
        return 0;
    if (pinned & PIN_QUEUE &&
        a[A10] * b[0] + a[A11] * b[1] + a[A21] * b[2] < r[1])
        return 0;
    return !(pinned & PIN_INPUT) ||
           a[A20] * b[0] + a[A21] * b[1] + a[A22] * b[2] >= r[2];
}

/* The best plane among those with some slopes at 0 and none below. With both
 * at 0 it is one, so there is a best. */
static void search(struct lbr_least_squares *model,
                   const struct equations *equations, double b[3])
{
    static const unsigned ways[] = {0, PIN_QUEUE, PIN_INPUT,
                                    PIN_QUEUE | PIN_INPUT};
    unsigned best = PIN_QUEUE | PIN_INPUT;
    double most = -1;
    int i;

    for (i = 0; i < 4; i++) {
        double gain;

        solve(model, equations, ways[i], b);
        if (b[1] < 0 || b[2] < 0)
            continue;
        gain = b[0] * equations->r[0] + b[1] * equations->r[1] +
               b[2] * equations->r[2];
        if (gain > most) {
            most = gain;
            best = ways[i];
        }
    }
    solve(model, equations, best, b);
}

/* Adds the ridge: towards |prior|, or else towards the plane as it is, where a
 * queue of which nothing was seen costs as much as own input. */
static struct equations with_ridge(const struct lbr_least_squares *model,
                                   const struct lbr_plane *prior)
{
    const struct lbr_plane *centre = prior ? prior : &model->plane;
    double unseen = prior ? prior->per_queue : model->plane.per_input;
    double least = LEAST_RIDGE * model->info[A00];
    double base = RIDGE * model->info[A00];
    double queue = RIDGE * model->info[A11];
    double input = RIDGE * model->info[A22] + least;
    struct equations equations;

    memcpy(equations.a, model->info, sizeof equations.a);
    memcpy(equations.r, model->moments, sizeof equations.r);
    equations.a[A00] += base;
    equations.a[A11] += queue + least;
    equations.a[A22] += input;
    equations.r[0] += base * centre->base;
    equations.r[1] += queue * centre->per_queue + least * unseen;
    equations.r[2] += input * centre->per_input;
    return equations;
}

static void renew_plane(struct lbr_least_squares *model,
                        const struct lbr_plane *prior)
{
    struct equations equations = with_ridge(model, prior);
    double b[3];

    solve(model, &equations, model->pinned, b);
    if (!is_best(&equations, model->pinned, b))
        search(model, &equations, b);
    model->plane.base = b[0];
    model->plane.per_queue = b[1];
    model->plane.per_input = b[2];
}

/* What a sample of weight 1 at this point weighs against all so far. */
static double leverage(const struct lbr_least_squares *model, double queue,
                       double input)
{
    const double *l = model->lower;
    double z1 = (model->pinned & PIN_QUEUE ? 0 : queue) - l[L10];
    double z2 = (model->pinned & PIN_INPUT ? 0 : input) - l[L20] - l[L21] * z1;

    return model->pivots[0] + z1 * z1 * model->pivots[1] +
           z2 * z2 * model->pivots[2];
}

/* Forgets by the factor |keep|, and adds a sample of weight |weight|. */
static void accumulate(struct lbr_least_squares *model, double keep,
                       double weight, double queue, double input, double value)
{
    double *a = model->info;
    double *r = model->moments;

    a[A00] = keep * a[A00] + weight;
    a[A10] = keep * a[A10] + weight * queue;
    a[A11] = keep * a[A11] + weight * queue * queue;
    a[A20] = keep * a[A20] + weight * input;
    a[A21] = keep * a[A21] + weight * input * queue;
    a[A22] = keep * a[A22] + weight * input * input;
    r[0] = keep * r[0] + weight * value;
    r[1] = keep * r[1] + weight * queue * value;
    r[2] = keep * r[2] + weight * input * value;
}

/* fmin() and fmax() would be calls: they must heed NaN. */
static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* An even share of the samples that are not forgotten. */
static double even_share(const struct lbr_least_squares *model)
{
    return model->samples < MEMORY ? 1 / ((double)model->samples + 1)
                                   : 1 - FORGETTING;
}

/* What a sample weighs at least, against all before it. */
static double least_share(const struct lbr_least_squares *model, double even)
{
    if (model->usual_error > HIGH_ERROR)
        return even * DOUBTFUL_SHARES;
    return model->samples < YOUNG ? even : LEAST_SHARE;
}

/* Lets the usual error follow the size of one more. */
static void learn_error(struct lbr_least_squares *model, double size)
{
    double step = 1 + ERROR_STEP;

    if ((double)model->samples * ERROR_STEP < 1)
        step = 1 + 1 / (double)model->samples;
    model->usual_error = size > model->usual_error
                             ? smaller(model->usual_error * step, MOST_ERROR)
                             : larger(model->usual_error / step, LEAST_ERROR);
}

/* The part of an error that counts, of a sample of this share. */
static double clipped(const struct lbr_least_squares *model, double error,
                      double share)
{
    double most = CLIP * model->usual_error + LEAST_CLIP;
    double move = MOST_MOVE * larger(1, model->usual_error / HIGH_ERROR);

    /* it moves its own point by share / (1 + share) of the error */
    if (lbr_least_squares_known(model) && most * share > move * (1 + share))
        most = move * (1 + share) / share;
    return fabs(error) > most ? copysign(most, error) : error;
}

static void add_first(struct lbr_least_squares *model, double queue,
                      double input, double value)
{
    memset(model, 0, sizeof *model);
    model->usual_error = FIRST_ERROR;
    model->level = value;
    accumulate(model, 0, 1 / (value * value), queue, input, value);
}

/* A sample that would count for less than its due makes those before fade
 * faster: what came first may have been the odd one. */
static void add_further(struct lbr_least_squares *model, double queue,
                        double input, double value)
{
    double scale = lbr_least_squares_at(model, queue, input);
    double inverse = 1 / scale;
    double weight = inverse * inverse;
    double share = weight * leverage(model, queue, input) / FORGETTING;
    double even = even_share(model);
    double least = least_share(model, even);
    double error = value * inverse - 1;
    double keep = FORGETTING;

    if (share < least) {
        keep *= larger(share / least, MOST_FADING);
        share = least;
    }
    value = scale * (1 + clipped(model, error, share));
    learn_error(model, fabs(error));
    model->level += (value - model->level) * even;
    accumulate(model, keep, weight, queue, input, value);
}

static int is_sane(double value)
{
    return value >= 0 && value <= LARGEST;
}

void lbr_least_squares_add(struct lbr_least_squares *model, double queue,
                           double input, double value,
                           const struct lbr_plane *prior)
{
    if (!is_sane(queue) || !is_sane(input) || !is_sane(value) || value <= 0)
        return;
    if (model->samples)
        add_further(model, queue, input, value);
    else
        add_first(model, queue, input, value);
    model->samples++;
    renew_plane(model, prior);
}

/* ---- sound or not ---- */

/* Of coefficients and sums, of their inverses, and of ratios. */
#define LARGEST_SUM 1e100
#define LARGEST_RATIO 1e40
#define LEAST_LEVEL 1e-30

static int are_within(const double *values, size_t count, double least,
                      double most)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (!(values[i] >= least && values[i] <= most))
            return 0;
    return 1;
}

/* Whether the sums are those of some samples: then every pivot is positive
 * once the ridge is there. */
static int are_sums(const struct lbr_least_squares *model)
{
    struct lbr_least_squares scratch = *model;
    struct equations equations = with_ridge(model, NULL);
    double b[3];

    if (!(model->info[A00] > 0) || model->info[A11] < 0 || model->info[A22] < 0)
        return 0;
    solve_all(&scratch, &equations, b);
    return are_within(scratch.pivots, 3, 0, LARGEST_SUM) &&
           scratch.pivots[0] > 0 && scratch.pivots[1] > 0 &&
           scratch.pivots[2] > 0;
}

int lbr_plane_is_sound(const struct lbr_plane *plane)
{
    return are_within(&plane->base, 1, -LARGEST_RATIO, LARGEST_RATIO) &&
           are_within(&plane->per_queue, 1, 0, LARGEST_RATIO) &&
           are_within(&plane->per_input, 1, 0, LARGEST_RATIO);
}

int lbr_least_squares_is_sound(const struct lbr_least_squares *model)
{
    return are_within(model->info, 6, -LARGEST_SUM, LARGEST_SUM) &&
           are_within(model->moments, 3, -LARGEST_SUM, LARGEST_SUM) &&
           are_within(model->pivots, 3, 0, LARGEST_SUM) &&
           are_within(model->lower, 3, -LARGEST_RATIO, LARGEST_RATIO) &&
           lbr_plane_is_sound(&model->plane) &&
           are_within(&model->usual_error, 1, LEAST_ERROR, MOST_ERROR) &&
           are_within(&model->level, 1, LEAST_LEVEL, LARGEST) &&
           !(model->pinned & ~(unsigned)(PIN_QUEUE | PIN_INPUT)) &&
           are_sums(model);
}
