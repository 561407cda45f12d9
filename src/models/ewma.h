/* SPDX-License-Identifier: MIT */
/* A moving average of positive values that knows how old it is. One that was
 * not fed for long starts anew: an old outlier does not outlive its age. */
#ifndef LBR_MODELS_EWMA_H
#define LBR_MODELS_EWMA_H

#include "base/bytes.h"

#include <stdint.h>

struct lbr_ewma {
    double value;     /* meaningless without samples */
    uint64_t at;      /* time of the latest sample */
    uint64_t samples; /* ever */
};

/* Takes in a |value| with the weight |alpha| (0 to 1) at |now|; alone when the
 * latest one is older than |age|. A value that is not positive and finite
 * changes nothing. */
void lbr_ewma_add(struct lbr_ewma *ewma, double value, double alpha,
                  uint64_t now, uint64_t age);

/* Whether there is a sample not older than |age|. */
int lbr_ewma_fresh(const struct lbr_ewma *ewma, uint64_t now, uint64_t age);

/* As bytes, and back. */
void lbr_ewma_save(const struct lbr_ewma *ewma, struct lbr_writer *writer);
void lbr_ewma_load(struct lbr_ewma *ewma, struct lbr_reader *reader);

#endif
