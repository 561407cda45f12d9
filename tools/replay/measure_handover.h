/* SPDX-License-Identifier: MIT */
/*
 * What a run says about a new router: what was served before and after it came.
 */
#ifndef LBROUTE_REPLAY_MEASURE_HANDOVER_H
#define LBROUTE_REPLAY_MEASURE_HANDOVER_H

#include "fleet.h"
#include "report.h"

/** Fills in all but what the caller has set. */
void measure_handover(const struct workload *workload,
                      const struct fleet_log *log,
                      struct replay_handover *handover);

#endif
