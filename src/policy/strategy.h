/* SPDX-License-Identifier: MIT */
/* A strategy: the rule by which a pool picks. One file each; strategies.c
 * lists them. */
#ifndef LBR_POLICY_STRATEGY_H
#define LBR_POLICY_STRATEGY_H

#include "policy/pick.h"

/* What a strategy promises about traffic shares. */
enum lbr_promise { LBR_PROMISE_NONE, LBR_PROMISE_EQUAL, LBR_PROMISE_BY_WEIGHT };

/* What a strategy pins to the target that served it. */
enum lbr_pins {
    LBR_PINS_NOTHING,
    LBR_PINS_SESSIONS,
    LBR_PINS_SESSIONS_OR_CLIENTS
};

struct lbr_strategy {
    const char *name;
    unsigned uses;          /* LBR_USES_ bits: what its groups keep, … */
    unsigned uses_for_work; /* … and where it falls back to least_work */
    enum lbr_promise promise;
    int needs_ring_key;  /* asks for the hash of session or conversation */
    enum lbr_pins pins;  /* what successes pin to their target */
    int shares_memory;   /* its trie is shared among clients */
    int calls_stages;    /* the pool's own filters and scorers take part */
    int learns_adapters; /* counts and learns which adapters targets serve */
    int asks_resident;   /* asks what is resident by KV events */

    /* Chooses among at least one eligible member. */
    void (*choose)(struct lbr_pick *pick, struct lbr_choice *choice);

    /* What it ranks a member by, for explanations; NULL: it does not rank. */
    double (*score)(const struct lbr_pick *pick, uint32_t position);
};

extern const struct lbr_strategy lbr_strategy_weighted;
extern const struct lbr_strategy lbr_strategy_round_robin;
extern const struct lbr_strategy lbr_strategy_random;
extern const struct lbr_strategy lbr_strategy_power_of_two;
extern const struct lbr_strategy lbr_strategy_least_connections;
extern const struct lbr_strategy lbr_strategy_consistent_hash;
extern const struct lbr_strategy lbr_strategy_sticky_session;
extern const struct lbr_strategy lbr_strategy_cache_aware;
extern const struct lbr_strategy lbr_strategy_kv_aware;
extern const struct lbr_strategy lbr_strategy_least_work;
extern const struct lbr_strategy lbr_strategy_precise_cache_aware;
extern const struct lbr_strategy lbr_strategy_lmcache_aware;
extern const struct lbr_strategy lbr_strategy_lora_aware;
extern const struct lbr_strategy lbr_strategy_pipeline;
extern const struct lbr_strategy lbr_strategy_cheapest;
extern const struct lbr_strategy lbr_strategy_adaptive;
extern const struct lbr_strategy lbr_strategy_fastest;
extern const struct lbr_strategy lbr_strategy_predicted_latency;

/* The strategy of a name (empty: the default), or NULL. */
const struct lbr_strategy *lbr_strategy_find(struct lbr_text name);

/* What the groups of a strategy with these parameters keep. */
unsigned lbr_strategy_uses(const struct lbr_strategy *strategy,
                           const struct lbr_params *params);

/* The kind of trie that a strategy keeps with these parameters. */
enum lbr_trie_kind lbr_strategy_trie_kind(const struct lbr_strategy *strategy,
                                          const struct lbr_params *params);

/* Whether a strategy with these parameters asks what is resident. */
int lbr_strategy_asks_resident(const struct lbr_strategy *strategy,
                               const struct lbr_params *params);

/* A commit that redraws the chosen member's rank among equally busy ones. */
void lbr_commit_rank(struct lbr_pick *pick, const struct lbr_choice *choice);

/* Least connections serves others as a fallback, too; they keep the order. */
void lbr_least_connections_choose(struct lbr_pick *pick,
                                  struct lbr_choice *choice);

/* The member that the pin in force names, or LBR_BITS_NONE when there is none
 * or it may not be chosen. */
uint32_t lbr_pick_pinned(const struct lbr_pick *pick);

/* The lowest relative load of the eligible members. */
double lbr_pick_lowest_load(const struct lbr_pick *pick);

/* The mean over the eligible members that have the score (it is not NaN); NaN
 * without any. Rounding does not put it above the highest or below the lowest:
 * unknown is neither best nor worst. */
double lbr_pick_mean(const struct lbr_pick *pick,
                     double (*score_of)(const struct lbr_pick *pick,
                                        uint32_t position));

/* Score of rules that rank by relative load. */
double lbr_score_load(const struct lbr_pick *pick, uint32_t position);

/* The eligible member of rank |rank| (below pick->eligible). */
uint32_t lbr_pick_nth(const struct lbr_pick *pick, uint32_t rank);

#endif
