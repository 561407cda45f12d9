/* SPDX-License-Identifier: MIT */
/*
 * Turns the record of a run into what is reported.
 */
#ifndef LBROUTE_REPLAY_MEASURE_H
#define LBROUTE_REPLAY_MEASURE_H

#include "fleet.h"
#include "report.h"

/** Fills in everything of `result` that is measured; strategy, seed, names,
 * load, SLOs and options are the caller's, and must be set before. The targets
 * belong to the result, the names in them to `fleet`. */
void measure_run(const struct workload *workload,
                 const struct fleet_spec *fleet, const struct fleet_log *log,
                 struct replay_result *result);

/** Frees what measure_run() made. */
void measure_release(struct replay_result *result);

#endif
