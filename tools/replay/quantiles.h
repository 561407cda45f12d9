/* SPDX-License-Identifier: MIT */
/*
 * Mean and percentiles of measured values.
 */
#ifndef LBROUTE_REPLAY_QUANTILES_H
#define LBROUTE_REPLAY_QUANTILES_H

#include "report.h"

/** Sorts the values; all figures of none are NaN. */
struct replay_quantiles quantiles_of(double *values, size_t count);

#endif
