/* SPDX-License-Identifier: MIT */
/*
 * Reads a trace file into a workload. The format is told by the content:
 *
 * - JSON lines with one request each (Mooncake's schema): `timestamp` in ms,
 *   `input_length`, `output_length`, `hash_ids`, optional `session_id`.
 *   Replayed in open loop.
 * - JSON lines with one coding-agent session each: `id`, `block`, `models`,
 *   `tool_tokens`, `system_tokens`, `subagents`, `requests`. Replayed in closed
 *   loop; session starts are drawn.
 * - JSON lines with one request each and its text: `input`, `output`, optional
 *   `session_id`, and `timestamp` in ms in all lines or in none. Replayed in
 *   open loop; without time stamps in closed loop by session, with a constant
 *   think time and session starts that are drawn.
 * - CSV with the header TIMESTAMP,ContextTokens,GeneratedTokens (Azure).
 *
 * Each may be gzip or xz.
 */
#ifndef LBROUTE_REPLAY_TRACE_H
#define LBROUTE_REPLAY_TRACE_H

#include "workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_options {
    bool skip_bad;         /**< Leave out bad lines instead of failing. */
    bool keep_times;       /**< Do not spread the groups of a coarse clock. */
    uint32_t block_tokens; /**< Tokens an id of `hash_ids`; 0: infer. */
    double max_think_s;    /**< Longer pauses of a session are cut to this. */
    double think_s;        /**< Pause in sessions without recorded times. */
    uint64_t seed;         /**< Of the session starts. */
};

/** What reading a trace had to say. */
struct trace_report {
    size_t skipped;       /**< Bad lines left out. */
    double clock_step_s;  /**< Groups were spread over this; 0: no groups. */
    char first_bad[1024]; /**< The first of the skipped, as an error. */
    char error[1024];     /**< "file:line:column: what", if it failed. */
};

/** Reads a file. Returns false with `report->error` set if it cannot be read;
 * the workload is then empty. */
bool trace_read(const char *path, const struct trace_options *options,
                struct workload *workload, struct trace_report *report);

#endif
