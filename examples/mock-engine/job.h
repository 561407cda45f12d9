/* SPDX-License-Identifier: MIT */
/*
 * A request for an answer, from its body to its last byte.
 *
 *     read ──▶ in the engine ──first token──▶ telling ──▶ told
 *                   │                            │
 *                   ╰──────── client gone ───────┴──▶ cancelled
 */
#ifndef LBROUTE_MOCK_JOB_H
#define LBROUTE_MOCK_JOB_H

#include "mock.h"

/** Takes a request, which suffers what the plan says from here on. */
void job_start(struct mock *mock, struct evhttp_request *http,
               const struct dialect *dialect, const struct fault_plan *plan);

/** Tells all jobs' clients what the engine has produced for them. */
void job_tell_all(struct mock *mock);

/** Notes that the engine has let go of a request. */
void job_done(struct engine_request *request);

/** Ends all jobs, answered or not. */
void job_drop_all(struct mock *mock);

#endif
