/* SPDX-License-Identifier: MIT */
#include "mode_log.h"

#include "grow.h"

#include <stdlib.h>

void mode_log_end(struct mode_log *log, uint64_t now)
{
    if (log->busy)
        log->busy_ns += now - log->since;
    else
        log->quiet_ns += now - log->since;
    log->since = now;
}

void mode_log_note(struct mode_log *log, const struct mode_change *now)
{
    if (now->busy == log->busy)
        return;
    mode_log_end(log, now->at);
    log->busy = now->busy;
    log->changes = grow_array(log->changes, &log->capacity,
                              log->change_count + 1, sizeof *log->changes);
    log->changes[log->change_count++] = *now;
}

void mode_log_release(struct mode_log *log)
{
    free(log->changes);
    *log = (struct mode_log){0};
}
