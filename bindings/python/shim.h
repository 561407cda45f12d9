/* SPDX-License-Identifier: MIT */
/*
 * What the Python package adds to the API to keep a pick cheap: the usual
 * request as plain arguments, so that Python neither makes a struct nor sets
 * its fields one by one.
 */
#ifndef LBROUTE_PYTHON_SHIM_H
#define LBROUTE_PYTHON_SHIM_H

#include <lbroute/ingest.h>

#ifdef __cplusplus
extern "C" {
#endif

/** lbroute_pick() with a decision that need not be prepared. */
int lbrpy_pick_request(lbroute_router *router, const lbroute_request *request,
                       uint64_t now, lbroute_decision *decision);

/** The same of a request that has nothing but these. */
int lbrpy_pick(lbroute_router *router, lbroute_pool pool, uint64_t now,
               const char *model, size_t model_len, const char *session,
               size_t session_len, const char *client, size_t client_len,
               const char *prompt, size_t prompt_len, int64_t input_tokens,
               const lbroute_target *exclude, size_t exclude_len,
               lbroute_decision *decision);

/** lbroute_observe() of a decision's ticket, nothing measured. */
int lbrpy_settle(lbroute_router *router, const lbroute_decision *decision,
                 int32_t kind, uint64_t now);

#ifdef __cplusplus
}
#endif

#endif
