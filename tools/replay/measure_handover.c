/* SPDX-License-Identifier: MIT */
#include "measure_handover.h"

#include "grow.h"
#include "quantiles.h"

#include <math.h>
#include <stdlib.h>

/* Times from `begin` up to `end`, s. */
static bool is_within(const struct fleet_outcome *outcome, double begin,
                      double end)
{
    double at = (double)outcome->dispatched / 1e9;

    return outcome->target != FLEET_NO_TARGET && at >= begin && at < end;
}

static void measure_span(const struct workload *workload,
                         const struct fleet_log *log, double begin, double end,
                         struct replay_span *span)
{
    double *first = grow_zeroed(log->request_count, sizeof *first);
    double hits = 0.0;
    double input = 0.0;
    size_t count = 0;

    for (size_t i = 0; i < log->request_count; i++) {
        const struct fleet_outcome *outcome = &log->outcomes[i];

        if (!is_within(outcome, begin, end))
            continue;
        hits += outcome->hit_tokens;
        input += workload->requests[i].input_tokens;
        first[count++] =
            (double)(outcome->first_token - outcome->arrived) / 1e6;
    }
    span->requests = count;
    span->hit_share = input > 0.0 ? hits / input : (double)NAN;
    span->ttft_ms = quantiles_of(first, count);
    free(first);
}

void measure_handover(const struct workload *workload,
                      const struct fleet_log *log,
                      struct replay_handover *handover)
{
    double at = (double)log->handover.at_ns / 1e9;
    double window = handover->window_s;

    handover->done = log->handover.done;
    handover->at_s = handover->done ? at : (double)NAN;
    handover->forgotten = log->handover.forgotten;
    handover->snapshot_bytes = log->handover.snapshot_bytes;
    if (!handover->done)
        at = (double)INFINITY;
    measure_span(workload, log, at - window, at, &handover->before);
    measure_span(workload, log, at, at + window, &handover->after);
    measure_span(workload, log, at + window, (double)INFINITY, &handover->rest);
}
