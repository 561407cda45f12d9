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

void lbr_ewma_save(const struct lbr_ewma *ewma, struct lbr_writer *writer)
{
    lbr_put_times(writer, ewma->samples);
    if (!ewma->samples)
        return;
    lbr_put_real(writer, ewma->value);
    lbr_put_age(writer, ewma->at);
}

void lbr_ewma_load(struct lbr_ewma *ewma, struct lbr_reader *reader)
{
    ewma->value = 0;
    ewma->at = 0;
    ewma->samples = lbr_get_times(reader);
    if (!ewma->samples)
        return;
    ewma->value = lbr_get_real(reader);
    ewma->at = lbr_get_age(reader);
    lbr_demand(reader, ewma->value > 0);
}
