/* SPDX-License-Identifier: MIT */
#include "models/pace.h"

#include "base/logarithm.h"

#include <math.h>

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
        member->rate[kind].measured = 1;
        member->rate[kind].evidence = FIRST_EVIDENCE;
        member->rate[kind].slowness = 1;
    }
}

static double beyond(double value, double doubt)
{
    return value > 0 ? value - doubt : value + doubt;
}

/* Without the lean, an error that all have in common would drive the factors
 * and what is expected apart for ever. */
void lbr_pace_judge(struct lbr_pace *pace, struct lbr_pace_member *member,
                    enum lbr_pace_kind kind, double ratio)
{
    struct lbr_pace_rate *rate = &member->rate[kind];
    double surprise = ratio / rate->measured;
    double off = lbr_log(fmax(1.0 / MOST_RATIO, fmin(MOST_RATIO, surprise))) -
                 pace->lean[kind];
    double doubt;

    if (rate->evidence < MEMORY)
        rate->evidence += 1;
    rate->log += off / rate->evidence;
    rate->measured = lbr_exp(rate->log);
    pace->lean[kind] += off / (4 * MEMORY);
    pace->spread[kind] += (off * off - pace->spread[kind]) / MEMORY;
    doubt =
        fmax(LEAST_DOUBT, DOUBT * sqrt(pace->spread[kind] / rate->evidence));
    rate->slowness = 1;
    if (fabs(rate->log) > doubt)
        rate->slowness = lbr_exp(beyond(rate->log, doubt));
}

static void average(struct lbr_pace_mean *mean, double value)
{
    if (mean->samples < MEMORY)
        mean->samples += 1;
    mean->value += (value - mean->value) / mean->samples;
}

void lbr_pace_learn_output(struct lbr_pace *pace, double tokens)
{
    if (tokens > 0 && lbr_pace_makes_sense(tokens))
        average(&pace->output, tokens);
}

void lbr_pace_learn_found(struct lbr_pace *pace, double expected, double found)
{
    if (expected > 0 && found >= 0)
        average(&pace->gone, fmax(0, 1 - found / expected));
}
