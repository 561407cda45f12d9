/* SPDX-License-Identifier: MIT */
/* What rules that follow latency share: how large a request is, what its
 * members would need for it, and who is cold. */
#ifndef LBR_POLICY_LATENCY_H
#define LBR_POLICY_LATENCY_H

#include "policy/strategy.h"

/* Whether the group of the pick learns latency. That of a model never does. */
static inline int lbr_latency_learns(const struct lbr_pick *pick)
{
    return (pick->group->uses & LBR_USES_FORECAST) != 0;
}

/* The request with its whole input; that of one of unknown size is the pool's
 * mean. */
struct lbr_forecast_request lbr_latency_request(const struct lbr_pick *pick);

/* The part of the prompt that a member must still compute, by KV events where
 * this pick has looked at them and they can be believed, else by what was sent
 * there; by whichever knows more while an engine is older than the router. */
double lbr_latency_uncached(const struct lbr_pick *pick, uint32_t position);

/* What a member is expected to need for the request, ns, less what it knows of
 * the prompt; NaN: unknown. */
double lbr_latency_expected(const struct lbr_pick *pick, uint32_t position,
                            enum lbr_latency_kind kind);

/* The kind by which members are ranked, known for at least half of them: first
 * tokens, unless total time is asked for or too few report first tokens;
 * LBR_LATENCY_KINDS when too little is known of either. */
enum lbr_latency_kind lbr_latency_rank(const struct lbr_pick *pick);

/* Samples from before this time are older than the pool's fastest.age. */
static inline double lbr_latency_fresh_since(const struct lbr_pick *pick)
{
    return (double)pick->now - (double)pick->scope.pool->params.fastest_age;
}

/* Whether a member has no sample as young as that. */
int lbr_latency_stale(const struct lbr_pick *pick, uint32_t position);

/* Relative loads by position, +inf of members that may not be chosen; until the
 * next pick. */
const double *lbr_latency_loads(const struct lbr_pick *pick);

/* Whether a stale member may be tried: one request at a time. */
int lbr_latency_idle(const struct lbr_pick *pick, uint32_t position);

/* Chooses a member in order to learn of it. */
void lbr_latency_try(struct lbr_choice *choice, uint32_t position);

/* Moves what the rules move: a rank is redrawn. */
void lbr_latency_commit(struct lbr_pick *pick, const struct lbr_choice *choice);

/* Notes in a choice what its member is expected to need. */
void lbr_latency_note(const struct lbr_pick *pick, struct lbr_choice *choice);

/* Opens the account of a request that is sent. */
void lbr_latency_send(struct lbr_pick *pick, const struct lbr_choice *choice,
                      struct lbr_task *task);

#endif
