/* SPDX-License-Identifier: MIT */
#include "least_squares_model.h"

#include <math.h>
#include <string.h>

static const long double forgetting = 0.995L;
static const long double ridge = 1e-4L;
static const long double least_ridge = 1e-9L;

void squares_init(struct squares_model *model)
{
    memset(model, 0, sizeof *model);
    model->usual_error = 0.5L;
}

long double squares_at(const struct squares_model *model, double queue,
                       double input)
{
    long double value = model->plane[0] + model->plane[1] * (long double)queue +
                        model->plane[2] * (long double)input;

    return fmaxl(value, model->level / 64);
}

/* Gaussian elimination with pivoting; coefficients that are held are 0. */
static void eliminate(long double a[3][3], long double r[3], const int held[3],
                      long double b[3])
{
    int order[3] = {0, 1, 2};

    for (int j = 0; j < 3; j++) {
        if (!held[j])
            continue;
        for (int i = 0; i < 3; i++)
            a[i][j] = a[j][i] = i == j;
        r[j] = 0;
    }
    for (int k = 0; k < 3; k++) {
        int best = k;
        for (int i = k + 1; i < 3; i++)
            if (fabsl(a[order[i]][k]) > fabsl(a[order[best]][k]))
                best = i;
        int swap = order[k];
        order[k] = order[best];
        order[best] = swap;
        for (int i = k + 1; i < 3; i++) {
            long double part = a[order[i]][k] / a[order[k]][k];
            for (int j = k; j < 3; j++)
                a[order[i]][j] -= part * a[order[k]][j];
            r[order[i]] -= part * r[order[k]];
        }
    }
    for (int k = 2; k >= 0; k--) {
        long double rest = r[order[k]];
        for (int j = k + 1; j < 3; j++)
            rest -= a[order[k]][j] * b[j];
        b[k] = rest / a[order[k]][k];
    }
}

static void solve(const long double a[3][3], const long double r[3],
                  const int held[3], long double b[3])
{
    long double left[3][3];
    long double right[3];

    memcpy(left, a, sizeof left);
    memcpy(right, r, sizeof right);
    eliminate(left, right, held, b);
}

static void sum_up(const struct squares_model *model, long double a[3][3],
                   long double r[3])
{
    memset(a, 0, 9 * sizeof(long double));
    memset(r, 0, 3 * sizeof(long double));
    for (size_t k = 0; k < model->count; k++) {
        const struct squares_sample *sample = &model->samples[k];
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++)
                a[i][j] += sample->weight * sample->x[i] * sample->x[j];
            r[i] += sample->weight * sample->x[i] * sample->value;
        }
    }
}

/* Of all ways to hold slopes at 0, the one without negative slopes that leaves
 * the least error. */
static void fit(struct squares_model *model, const double *prior)
{
    long double a[3][3];
    long double r[3];
    long double most = -1;
    long double centre[3];

    sum_up(model, a, r);
    for (int i = 0; i < 3; i++)
        centre[i] = prior ? (long double)prior[i] : model->plane[i];
    long double unseen = prior ? centre[1] : model->plane[2];
    long double least = least_ridge * a[0][0];
    for (int i = 0; i < 3; i++) {
        long double pull = ridge * a[i][i];
        long double rest = i > 0 ? least : 0;
        a[i][i] += pull + rest;
        r[i] += pull * centre[i] + rest * (i == 1 ? unseen : centre[i]);
    }
    for (int way = 0; way < 4; way++) {
        int held[3] = {0, way & 1, way >> 1 & 1};
        long double b[3];
        solve((const long double(*)[3])a, r, held, b);
        long double gain = b[0] * r[0] + b[1] * r[1] + b[2] * r[2];
        if (b[1] < 0 || b[2] < 0 || gain <= most)
            continue;
        most = gain;
        memcpy(model->plane, b, sizeof b);
        memcpy(model->pinned, held, sizeof held);
    }
    memcpy(model->whole, a, sizeof a);
}

/* x' A^-1 x over the coefficients that are not held. */
static long double leverage(const struct squares_model *model,
                            const long double x[3])
{
    long double point[3];
    long double b[3];
    long double sum = 0;

    for (int i = 0; i < 3; i++)
        point[i] = model->pinned[i] ? 0 : x[i];
    solve((const long double(*)[3])model->whole, point, model->pinned, b);
    for (int i = 0; i < 3; i++)
        sum += point[i] * b[i];
    return sum;
}

/* The value that a sample counts for. */
static long double tame(struct squares_model *model, long double value,
                        long double scale, long double gain)
{
    long double error = value / scale - 1;
    long double most = 6 * model->usual_error + 0.02L;

    long double move = 0.03L * fmaxl(1, model->usual_error / 0.25L);

    if (model->count >= 8 && most * gain > move)
        most = move / gain;
    long double step = 1 + fmaxl(0.05L, 1 / (long double)model->count);
    model->usual_error *= fabsl(error) > model->usual_error ? step : 1 / step;
    model->usual_error = fminl(fmaxl(model->usual_error, 1e-4L), 1e3L);
    if (fabsl(error) > most)
        error = error > 0 ? most : -most;
    return scale * (1 + error);
}

static void keep(struct squares_model *model, long double part)
{
    for (size_t k = 0; k < model->count; k++)
        model->samples[k].weight *= part;
}

void squares_add(struct squares_model *model, double queue, double input,
                 double value, const double *prior)
{
    struct squares_sample *sample = &model->samples[model->count];
    long double count = fminl((long double)model->count + 1, 200);
    long double scale = (long double)value;

    sample->x[0] = 1;
    sample->x[1] = (long double)queue;
    sample->x[2] = (long double)input;
    sample->value = (long double)value;
    if (model->count > 0) {
        scale = squares_at(model, queue, input);
        long double share =
            leverage(model, sample->x) / (scale * scale) / forgetting;
        long double part = forgetting;
        long double least = model->count < 50 ? 1 / count : 0.0005L;
        if (model->usual_error > 0.25L)
            least = 4 / count;
        if (share < least) {
            part *= fmaxl(share / least, 0.5L);
            share = least;
        }
        sample->value = tame(model, sample->value, scale, share / (1 + share));
        keep(model, part);
        model->level += (sample->value - model->level) / count;
    } else {
        model->level = scale;
    }
    sample->weight = 1 / (scale * scale);
    model->count++;
    fit(model, prior);
}
