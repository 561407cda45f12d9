/* SPDX-License-Identifier: MIT */
/*
 * Short forms of API calls that must succeed, for targets and requests with
 * the attributes that the models know.
 */
#ifndef LBROUTE_TESTS_PROPERTY_API_H
#define LBROUTE_TESTS_PROPERTY_API_H

#include <stddef.h>
#include <stdint.h>

#include <lbroute/lbroute.h>

#define MILLISECOND UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

/** A router for one thread with this seed and all else at its default. */
lbroute_router *api_router(uint64_t seed);

lbroute_pool api_pool(lbroute_router *router, const char *name,
                      const char *strategy);

void api_set(lbroute_router *router, lbroute_pool pool, const char *name,
             double value);

/** Name, pool and weight of a target; no limits, no tier, no model. */
void api_target_options(lbroute_target_options *options, lbroute_pool pool,
                        const char *name, double weight);

/** A target of that kind. */
lbroute_target api_target(lbroute_router *router, lbroute_pool pool,
                          const char *name, double weight);

/** `count` targets named t0, t1, … of weight 1. */
void api_targets(lbroute_router *router, lbroute_pool pool, size_t count,
                 lbroute_target *targets);

void api_gauges(lbroute_router *router, lbroute_target target, double running,
                double waiting, uint64_t now);

void api_request(lbroute_request *request, lbroute_pool pool);
void api_set_session(lbroute_request *request, const char *session);

/** A pick that must succeed. */
void api_pick(lbroute_router *router, const lbroute_request *request,
              uint64_t now, lbroute_decision *decision);

/** lbroute_observe() as it returns. */
int api_observe(lbroute_router *router, lbroute_ticket ticket, int kind,
                uint64_t now);

/** An observe that must succeed. */
void api_settle(lbroute_router *router, lbroute_ticket ticket, int kind,
                uint64_t now);

/** Picks and settles with `kind` at once; gives the target. */
lbroute_target api_serve(lbroute_router *router, const lbroute_request *request,
                         uint64_t now, int kind);

enum { API_KV_SIZE = 4, API_KV_BLOCKS = 8 };

/**
 * A batch of one KV event, as lbroute_kv_apply() returns: blocks `label`, …
 * of up to API_KV_BLOCKS * API_KV_SIZE tokens are stored or removed.
 */
int api_tell(lbroute_router *router, lbroute_target target, uint32_t source,
             uint64_t seq, int kind, uint64_t label, const uint32_t *tokens,
             size_t count, uint64_t now);

lbroute_target_stats api_target_stats(lbroute_router *router,
                                      lbroute_target target, uint64_t now);
lbroute_stats api_stats(lbroute_router *router);

/**
 * lbroute_explain() as it returns, with up to `capacity` candidates; each is
 * prepared here. `count` receives how many there are.
 */
int api_explain(lbroute_router *router, const lbroute_request *request,
                uint64_t now, lbroute_decision *decision,
                lbroute_candidate *candidates, size_t capacity, size_t *count);

/** Checks that both decisions are the same but for their tickets. */
void api_check_same_decision(const lbroute_decision *a,
                             const lbroute_decision *b);

#endif
