/* SPDX-License-Identifier: MIT */
/*
 * Decisions and candidates as JSON, the same for recent decisions and for
 * explanations.
 */
#ifndef LBROUTE_PROXY_DECISION_JSON_H
#define LBROUTE_PROXY_DECISION_JSON_H

#include <lbroute/lbroute.h>

#include <jansson.h>

/** Adds what a decision says to an object. */
void decision_json_put(json_t *object, const lbroute_decision *decision,
                       int result);

/** One candidate; `picked` is the decision's target. */
json_t *candidate_json(const lbroute_candidate *candidate, const char *name,
                       lbroute_target picked);

#endif
