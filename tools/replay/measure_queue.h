/* SPDX-License-Identifier: MIT */
/*
 * What a run says about limits: waits, refusals, and who got how much.
 */
#ifndef LBROUTE_REPLAY_MEASURE_QUEUE_H
#define LBROUTE_REPLAY_MEASURE_QUEUE_H

#include "fleet.h"
#include "report.h"

/** Fills in all but what the caller has set. */
void measure_queue(const struct workload *workload, const struct fleet_log *log,
                   struct replay_queue *queue);

/** Frees what measure_queue() made. */
void measure_queue_release(struct replay_queue *queue);

#endif
