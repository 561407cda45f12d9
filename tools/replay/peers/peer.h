/* SPDX-License-Identifier: MIT */
/*
 * Peers: policies of other routers, written from their published rules, to
 * compare lbroute's strategies with.
 *
 *     host ─▶ peer_host ──view──▶ rule: choose ─▶ target
 *                │  ▲                ▲
 *                │  ╰ scrapes        │ sent, first token, done
 *                ╰───────────────────╯
 *
 * A rule sees what a host sees and nothing else: what it sent itself and what
 * came back, gauges that were scraped, and KV events that have arrived.
 */
#ifndef LBROUTE_REPLAY_PEER_H
#define LBROUTE_REPLAY_PEER_H

#include "../draw.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What the names of all peers, and of their parameters, begin with. */
#define PEER_PREFIX "peer:"

/** What is asked for. An id names a block of the prompt together with
 * everything before it, as the hashes do that routers make of prompts. */
struct peer_request {
    uint32_t number; /**< Of the workload. */
    uint32_t input_tokens;
    const uint32_t *ids; /**< Of the prompt's full blocks. */
    uint32_t id_count;
};

/** What a target's metrics said. */
struct peer_gauges {
    uint32_t running;
    uint32_t waiting;
    double kv_usage; /**< 0 to 1. */
    uint32_t blocks; /**< Of its KV cache. */
};

/** What the host knows of a target. */
struct peer_target {
    bool open;               /**< May be chosen: neither drained nor full. */
    uint32_t in_flight;      /**< Sent there and not done. */
    uint64_t waiting_tokens; /**< Input of those without a first token, less
                              * what the rule said is cached. */
    uint64_t sent;           /**< In all. */
    bool scraped;
    struct peer_gauges gauges; /**< Of the latest scrape. */
    uint64_t cache_tokens;     /**< Size of its KV cache. */
    double token_s; /**< Time to compute a token of a prompt, as profiled. */
};

/** Leading run of blocks that are at a target by the KV events that arrived. */
typedef uint32_t (*peer_events_run)(void *context, uint32_t target,
                                    const uint32_t *ids, uint32_t count);

struct peer_view {
    size_t target_count;
    struct peer_target *targets;
    uint32_t block_tokens;
    uint32_t distinct_ids; /**< Ids are below this. */
    uint64_t now;
    peer_events_run run; /**< NULL: no events arrive. */
    void *run_context;
};

/** A request that was sent, and what the host knew when it was. */
struct peer_flight {
    struct peer_request request;
    uint32_t target;
    uint32_t new_tokens;     /**< Input less what the rule said is cached. */
    uint32_t in_flight;      /**< Others there. */
    uint64_t waiting_tokens; /**< Of those others. */
    uint64_t sent_at;
    uint64_t first_at;      /**< Of its first token; 0: none yet. */
    uint32_t output_tokens; /**< Once it is done. */
};

struct peer_choice {
    uint32_t target;
    uint32_t matched_tokens; /**< Of the prompt that it takes to be there. */
};

/** A figure of a rule that can be set as `<peer>.<name>`. */
struct peer_param {
    const char *name;
    double value; /**< As published. */
    double minimum;
    double maximum;
    const char *text;
};

/** What a rule is created with. */
struct peer_setup {
    const struct peer_view *view; /**< Outlives the rule. */
    const double *values;         /**< Of its parameters, in their order. */
    uint64_t seed;
};

struct peer_rule {
    const char *name;   /**< With the prefix. */
    const char *text;   /**< The rule in one line. */
    const char *source; /**< Where it is published. */
    const struct peer_param *params;
    size_t param_count;
    bool reads_events; /**< Knows caches by KV events, if there are any. */
    /** Index of the parameter that is the time between two scrapes, s; -1: as
     * often as the host reads metrics. */
    int scrape_param;

    void *(*create)(const struct peer_setup *setup);
    void (*destroy)(void *state);
    /** At least one target is open. */
    struct peer_choice (*choose)(void *state,
                                 const struct peer_request *request);
    /** Each may be NULL. `sent` comes right after the choice, when the view
     * counts the request. */
    void (*sent)(void *state, const struct peer_flight *flight);
    void (*first_token)(void *state, const struct peer_flight *flight);
    void (*done)(void *state, const struct peer_flight *flight);
};

/** The index-th rule, or NULL past the last. */
const struct peer_rule *peer_rule_at(size_t index);

/** Its name, or NULL past the last. */
const char *peer_rule_name(size_t index);

/** The rule of a name, or NULL: it is no peer's. */
const struct peer_rule *peer_rule_find(const char *name, size_t length);

/** The parameter of a full name like `peer:smg.cache_threshold`, or NULL. */
const struct peer_param *peer_param_find(const char *name, size_t length);

/** The best of several targets: least score, then least second score; each of
 * the rest is as likely as the others. */
struct peer_best {
    uint32_t target;
    uint32_t ties; /**< 0: none was offered. */
    double score;
    double second;
};

void peer_best_offer(struct peer_best *best, struct draw *draw, uint32_t target,
                     double score, double second);

extern const struct peer_rule peer_dynamo;
extern const struct peer_rule peer_half_match;
extern const struct peer_rule peer_llm_d;
extern const struct peer_rule peer_lmetric;
extern const struct peer_rule peer_longest_match;
extern const struct peer_rule peer_preble;
extern const struct peer_rule peer_prequal;
extern const struct peer_rule peer_rolter;
extern const struct peer_rule peer_rolter_nlms;
extern const struct peer_rule peer_smg;

#endif
