/* SPDX-License-Identifier: MIT */
/*
 * A call: what the options ask for, strategy after strategy and seed after
 * seed.
 */
#ifndef LBROUTE_REPLAY_SESSION_H
#define LBROUTE_REPLAY_SESSION_H

#include "host.h"
#include "options.h"
#include "report.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/** A strategy of the caller's own: a pipeline to whose pool it adds what makes
 * the choice. */
struct session_strategy {
    const char *name; /**< In the report. */
    host_extend extend;
    void *context;
};

struct session {
    const struct options *options;
    /** Run after those of the options, or instead of them. */
    const struct session_strategy *own;
    size_t own_count;
    bool own_only;
    bool quiet; /**< No progress bar. */

    struct replay_result *results;
    size_t result_count; /**< Done. */
    size_t run_count;    /**< In all. */
    struct replay_progress progress;
    pthread_mutex_t lock; /**< Of the next two, and of the progress. */
    size_t run_requests;  /**< Of each run. */
    size_t requests_done; /**< Of all. */
};

/** Runs it all. Returns false after saying what is wrong with the traffic; what
 * was done is in the results even so. */
bool session_run(struct session *session);

/** Frees the results. */
void session_release(struct session *session);

#endif
