/* SPDX-License-Identifier: MIT */
#include "latency_rivals.h"

#include <math.h>

/* The middle of the range in which it converges. */
static const double step = 0.5;
static const double forgetting = 0.995;

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void by_tokens(const struct rival_point *point, double x[3])
{
    x[0] = 1;
    x[1] = point->waiting_tokens;
    x[2] = point->input;
}

static void by_requests(const struct rival_point *point, double x[3])
{
    x[0] = 1;
    x[1] = point->requests;
    x[2] = point->input;
}

double rival_nlms_predict(const struct rival *rival,
                          const struct rival_point *point)
{
    double x[3];

    by_tokens(point, x);
    return fmax(dot(rival->plane, x), 1);
}

void rival_nlms_teach(struct rival *rival, const struct rival_point *point,
                      double ms)
{
    double x[3];
    double error;

    by_tokens(point, x);
    error = ms - dot(rival->plane, x);
    for (int i = 0; i < 3; i++)
        rival->plane[i] += step * error * x[i] / dot(x, x);
    rival->samples++;
}

double rival_requests_predict(const struct rival *rival,
                              const struct rival_point *point)
{
    double x[3];

    by_requests(point, x);
    return fmax(dot(rival->plane, x), 1);
}

/* The textbook form; errors count relative to the prediction, as they do in the
 * library. */
void rival_requests_teach(struct rival *rival, const struct rival_point *point,
                          double ms)
{
    double x[3];
    double gain[3];
    double scale = ms;
    double spread;
    double error;

    if (rival->samples++ == 0)
        for (int i = 0; i < 3; i++)
            rival->p[i][i] = 1e6;
    else
        scale = fmax(rival_requests_predict(rival, point), ms / 4);
    by_requests(point, x);
    for (int i = 0; i < 3; i++)
        x[i] /= scale;
    for (int i = 0; i < 3; i++)
        gain[i] = dot(rival->p[i], x);
    spread = forgetting + dot(gain, x);
    error = ms / scale - dot(rival->plane, x);
    for (int i = 0; i < 3; i++) {
        rival->plane[i] += gain[i] / spread * error;
        for (int j = 0; j <= i; j++)
            rival->p[i][j] = rival->p[j][i] =
                (rival->p[i][j] - gain[i] * gain[j] / spread) / forgetting;
    }
}
