/* SPDX-License-Identifier: MIT */
/*
 * What a run says about its routers: who got what, and what went over between
 * them.
 */
#ifndef LBROUTE_REPLAY_MEASURE_ROUTERS_H
#define LBROUTE_REPLAY_MEASURE_ROUTERS_H

#include "fleet.h"
#include "report.h"

/** Fills in the result's routers but for what the caller has set; its duration
 * is known. */
void measure_routers(const struct fleet_log *log, struct replay_result *result);

/** Frees what that made. */
void measure_routers_release(struct replay_routers *routers);

#endif
