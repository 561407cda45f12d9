/* SPDX-License-Identifier: MIT */
/*
 * When a pool with `admission.mode` hybrid was busy and when quiet, and what
 * the replay itself counted at each change: requests that were under way, and
 * arrivals of the latest 5 s.
 *
 *     quiet ──── busy ─────── quiet ──── busy … end of the run
 *           change        change     change
 */
#ifndef LBROUTE_REPLAY_MODE_LOG_H
#define LBROUTE_REPLAY_MODE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Time over which arrivals are counted, ns. */
#define MODE_WINDOW_NS UINT64_C(5000000000)

struct mode_change {
    uint64_t at;
    bool busy;          /**< From then on. */
    uint64_t under_way; /**< In flight and waiting, before the request. */
    uint64_t arrivals;  /**< Of the latest 5 s, with the request. */
};

struct mode_log {
    bool busy;
    uint64_t since; /**< The latest change. */
    uint64_t busy_ns;
    uint64_t quiet_ns;
    struct mode_change *changes;
    size_t change_count;
    size_t capacity;
};

/** Notes the state after a pick. */
void mode_log_note(struct mode_log *log, const struct mode_change *now);

/** The run is over. */
void mode_log_end(struct mode_log *log, uint64_t now);

/** Frees the changes. */
void mode_log_release(struct mode_log *log);

#endif
