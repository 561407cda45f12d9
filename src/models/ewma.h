/* SPDX-License-Identifier: MIT */
/* Exponentially weighted moving average of positive samples, with the time of
 * the latest. */
#ifndef LBR_MODELS_EWMA_H
#define LBR_MODELS_EWMA_H

#include "base/clock.h"

struct lbr_ewma {
    double value;
    uint64_t updated_at;
    uint64_t samples;
};

/* Adds a sample at |now|. One that is not above 0 is no measurement and is left
 * out. */
static inline void lbr_ewma_add(struct lbr_ewma *ewma, double sample,
                                double alpha, uint64_t now)
{
    if (!(sample > 0))
        return;
    /* As a step, so that equal samples leave exactly their value. */
    ewma->value =
        ewma->samples ? ewma->value + alpha * (sample - ewma->value) : sample;
    ewma->updated_at = now;
    ewma->samples++;
}

/* Whether there is a sample of at most |age| before |now|. */
static inline int lbr_ewma_known(const struct lbr_ewma *ewma, uint64_t now,
                                 uint64_t age)
{
    return ewma->samples && lbr_time_since(now, ewma->updated_at) <= age;
}

#endif
