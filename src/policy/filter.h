/* SPDX-License-Identifier: MIT */
/* Which targets may take a request, and why the others may not. */
#ifndef LBR_POLICY_FILTER_H
#define LBR_POLICY_FILTER_H

#include "policy/pick.h"

/* Resolves pool or model of a request to sets of targets. Returns 0 or
 * LBROUTE_ERR_NOT_FOUND for a stale pool. */
int lbr_scope_resolve(struct lbroute_router *router,
                      const lbroute_request *request, struct lbr_scope *scope);

/* Marks the targets that the request excludes. */
void lbr_filter_exclude(struct lbr_pick *pick);

/* The first reason that keeps a target from this request, NONE if it is
 * eligible. Benching does not count once the pick ignores it. */
int lbr_filter_verdict(const struct lbr_pick *pick,
                       const struct lbr_target *target);

/* Finds the members that may be chosen: mask, eligible, filtered. */
void lbr_filter_apply(struct lbr_pick *pick);

/* After lbr_filter_apply() found nobody: ignores benching if that alone is
 * in the way, whereupon somebody may be eligible. */
void lbr_filter_ignore_benching(struct lbr_pick *pick);

/* Says why nobody is eligible. Returns LBROUTE_ERR_SATURATED if waiting helps,
 * else LBROUTE_ERR_NO_TARGET. */
int lbr_filter_explain(const struct lbr_pick *pick,
                       struct lbr_rejection *rejection);

#endif
