/* SPDX-License-Identifier: MIT */
#include "measure_routers.h"

#include "grow.h"

#include <math.h>
#include <stdlib.h>

/* Bytes for each of something, NaN if there is none. */
static double rate(uint64_t bytes, double whole)
{
    return whole > 0.0 ? (double)bytes / whole : (double)NAN;
}

void measure_routers(const struct fleet_log *log, struct replay_result *result)
{
    struct replay_routers *routers = &result->routers;
    const struct delta_counts *deltas = &log->deltas;

    routers->count = log->router_count;
    routers->requests = grow_zeroed(routers->count, sizeof *routers->requests);
    for (size_t i = 0; i < routers->count; i++)
        routers->requests[i] = log->routers[i].requests;
    routers->deltas = deltas->written;
    routers->bytes = deltas->bytes;
    routers->bytes_per_request =
        rate(deltas->bytes, (double)log->request_count);
    routers->bytes_per_s = rate(deltas->bytes, result->duration_s);
    routers->applied = deltas->applied;
    routers->lost = deltas->lost;
    routers->gaps = deltas->missing;
    routers->prompts = deltas->prompts;
    routers->sessions = deltas->sessions;
    routers->skipped = deltas->skipped;
    routers->dropped = deltas->dropped;
}

void measure_routers_release(struct replay_routers *routers)
{
    free(routers->requests);
    routers->requests = NULL;
}
