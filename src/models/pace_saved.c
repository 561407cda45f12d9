/* SPDX-License-Identifier: MIT */
#include "models/pace.h"

#include "base/logarithm.h"

#include <math.h>
#include <string.h>

/* No logarithm of a factor is further from 0, no evidence and no mean more. */
#define MOST_LOG 300.0
#define MOST_SPREAD 100.0
#define MOST_EVIDENCE 64.0
#define MOST_MEAN 1e18
#define MOST_SLOWNESS 1e140

static int rate_is_sound(const struct lbr_pace_rate *rate)
{
    return fabs(rate->log) <= MOST_LOG && rate->evidence >= 0 &&
           rate->evidence <= MOST_EVIDENCE &&
           rate->slowness >= 1 / MOST_SLOWNESS &&
           rate->slowness <= MOST_SLOWNESS;
}

void lbr_pace_member_save(const struct lbr_pace_member *member,
                          struct lbr_writer *writer)
{
    struct lbr_pace_member fresh;
    int kind;

    lbr_pace_member_init(&fresh);
    for (kind = 0; kind < LBR_PACE_KINDS; kind++) {
        const struct lbr_pace_rate *rate = &member->rate[kind];

        if (!rate_is_sound(rate))
            rate = &fresh.rate[kind];
        lbr_put_real(writer, rate->log);
        lbr_put_real(writer, rate->evidence);
        lbr_put_real(writer, rate->slowness);
    }
}

void lbr_pace_member_load(struct lbr_pace_member *member,
                          struct lbr_reader *reader)
{
    int kind;

    lbr_pace_member_init(member);
    for (kind = 0; kind < LBR_PACE_KINDS; kind++) {
        struct lbr_pace_rate *rate = &member->rate[kind];

        rate->log = lbr_get_real_in(reader, -MOST_LOG, MOST_LOG);
        rate->measured = lbr_exp(rate->log);
        rate->evidence = lbr_get_real_in(reader, 0, MOST_EVIDENCE);
        rate->slowness =
            lbr_get_real_in(reader, 1 / MOST_SLOWNESS, MOST_SLOWNESS);
    }
}

static double within(double value, double least, double most)
{
    return fmin(most, fmax(least, value));
}

static void put_mean(const struct lbr_pace_mean *mean, double most,
                     struct lbr_writer *writer)
{
    lbr_put_real(writer, within(mean->value, 0, most));
    lbr_put_real(writer, within(mean->samples, 0, MOST_EVIDENCE));
}

static void get_mean(struct lbr_pace_mean *mean, double most,
                     struct lbr_reader *reader)
{
    mean->value = lbr_get_real_in(reader, 0, most);
    mean->samples = lbr_get_real_in(reader, 0, MOST_EVIDENCE);
}

void lbr_pace_save(const struct lbr_pace *pace, struct lbr_writer *writer)
{
    int kind;

    for (kind = 0; kind < LBR_PACE_KINDS; kind++) {
        lbr_put_real(writer, within(pace->lean[kind], -MOST_LOG, MOST_LOG));
        lbr_put_real(writer, within(pace->spread[kind], 0, MOST_SPREAD));
    }
    put_mean(&pace->output, MOST_MEAN, writer);
    put_mean(&pace->gone, 1, writer);
}

void lbr_pace_load(struct lbr_pace *pace, struct lbr_reader *reader)
{
    int kind;

    memset(pace, 0, sizeof *pace);
    for (kind = 0; kind < LBR_PACE_KINDS; kind++) {
        pace->lean[kind] = lbr_get_real_in(reader, -MOST_LOG, MOST_LOG);
        pace->spread[kind] = lbr_get_real_in(reader, 0, MOST_SPREAD);
    }
    get_mean(&pace->output, MOST_MEAN, reader);
    get_mean(&pace->gone, 1, reader);
}
