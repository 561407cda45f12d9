/* SPDX-License-Identifier: MIT */
#include "models/pace.h"

#include <math.h>
#include <stddef.h>

/* Samples that weigh in a mean. */
#define MEMORY 64

/* Samples of "as all others" that a new member begins with. */
#define FIRST_EVIDENCE 8

/* The most that one sample says. */
#define MOST_RATIO 4

/* Standard errors that are doubt, which is never less than a hundredth. */
#define DOUBT 2
#define LEAST_DOUBT 0.01

void lbr_pace_member_init(struct lbr_pace_member *member)
{
    int kind;

    for (kind = 0; kind < LBR_PACE_KINDS; kind++) {
        member->rate[kind].log = 0;
        member->rate[kind].evidence = FIRST_EVIDENCE;
        member->rate[kind].slowness = 1;
    }
}

static double beyond(double value, double doubt)
{
    if (value > doubt)
        return value - doubt;
    return value < -doubt ? value + doubt : 0;
}

/* Without the lean, an error that all have in common would drive the factors
 * and the plane apart for ever. */
static void judge(struct lbr_pace *pace, struct lbr_pace_rate *rate,
                  enum lbr_pace_kind kind, double ratio)
{
    double off =
        log(fmax(1.0 / MOST_RATIO, fmin(MOST_RATIO, ratio))) - pace->lean[kind];
    double doubt;

    if (rate->evidence < MEMORY)
        rate->evidence += 1;
    rate->log += off / rate->evidence;
    pace->lean[kind] += off / (4 * MEMORY);
    pace->spread[kind] += (off * off - pace->spread[kind]) / MEMORY;
    doubt =
        fmax(LEAST_DOUBT, DOUBT * sqrt(pace->spread[kind] / rate->evidence));
    rate->slowness = exp(beyond(rate->log, doubt));
}

static int makes_sense(double value)
{
    return value >= 0 && value < 1e18;
}

void lbr_pace_learn(struct lbr_pace *pace, struct lbr_pace_member *member,
                    enum lbr_pace_kind kind, double running, double work,
                    double ns)
{
    struct lbr_least_squares *plane = &pace->plane[kind];
    struct lbr_pace_rate *rate = &member->rate[kind];

    if (!(ns > 0) || !makes_sense(ns) || !makes_sense(running) ||
        !makes_sense(work))
        return;
    if (lbr_least_squares_known(plane))
        judge(
            pace, rate, kind,
            ns / (exp(rate->log) * lbr_least_squares_at(plane, running, work)));
    lbr_least_squares_add(plane, running, work, ns / rate->slowness, NULL);
}

static void average(struct lbr_pace_mean *mean, double value)
{
    if (mean->samples < MEMORY)
        mean->samples += 1;
    mean->value += (value - mean->value) / mean->samples;
}

void lbr_pace_learn_output(struct lbr_pace *pace, double tokens)
{
    if (tokens > 0 && makes_sense(tokens))
        average(&pace->output, tokens);
}

void lbr_pace_learn_found(struct lbr_pace *pace, double expected, double found)
{
    if (expected > 0 && found >= 0)
        average(&pace->gone, fmax(0, 1 - found / expected));
}
