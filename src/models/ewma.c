/* SPDX-License-Identifier: MIT */
#include "models/ewma.h"

#include "base/clock.h"

#include <math.h>

int lbr_ewma_fresh(const struct lbr_ewma *ewma, uint64_t now, uint64_t age)
{
    return ewma->samples && lbr_time_since(now, ewma->at) <= age;
}

void lbr_ewma_add(struct lbr_ewma *ewma, double value, double alpha,
                  uint64_t now, uint64_t age)
{
    if (!(value > 0) || !isfinite(value))
        return;
    if (lbr_ewma_fresh(ewma, now, age))
        ewma->value += alpha * (value - ewma->value);
    else
        ewma->value = value;
    ewma->at = now;
    ewma->samples++;
}
