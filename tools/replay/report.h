/* SPDX-License-Identifier: MIT */
/*
 * What one replay measured, and the writers that show it.
 *
 * The simulation fills one `replay_result` per run (a strategy and a seed).
 * Everything in it is a function of the options and the trace alone: no
 * wall-clock time, no path beyond a base name. The writers keep that property,
 * so that the same seed gives the same bytes.
 *
 * A number that does not exist (no answer had a second token, no request was
 * served) is NaN: "-" in the table, null in JSON.
 */
#ifndef LBROUTE_REPLAY_REPORT_H
#define LBROUTE_REPLAY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Time buckets of equal length in which dispatches are counted. */
enum { REPLAY_BUCKETS = 60 };

/** Mean and percentiles (nearest rank) of one measure. */
struct replay_quantiles {
    double mean;
    double p50;
    double p90;
    double p99;
};

/** One option in force, given or default, in the order of --help. */
struct replay_option {
    const char *name;  /**< Without the dashes, for example "cache-tokens". */
    const char *value; /**< As one would type it. */
};

/** What one target did. */
struct replay_target_result {
    const char *name;       /**< As the router knows it. */
    const char *engine;     /**< Engine by name. */
    double weight;          /**< Configured weight. */
    uint32_t limit;         /**< Max concurrency; 0: none. */
    uint64_t cache_tokens;  /**< Tokens its KV cache holds. */
    uint64_t requests;      /**< Dispatched to it. */
    uint64_t preemptions;   /**< Requests put back for lack of cache blocks. */
    uint64_t adapter_loads; /**< LoRA adapters it loaded. */
    double hit_share;       /**< Cached tokens / input tokens. */
    double busy_share;      /**< Part of the run in which it computed. */
    uint64_t work_tokens;   /**< Input tokens it had to compute, those of a
                             * preempted request again. */
    uint64_t output_tokens; /**< Of the answers it gave. */
    const char *price_key;  /**< Key of its price. */
    double cost_usd;        /**< What it served, in dollars; NaN: unknown. */
    /** Requests dispatched to it in each bucket of `bucket_s` seconds. */
    uint32_t dispatched[REPLAY_BUCKETS];
};

/** What KV events told the router in a run. */
struct replay_kv {
    bool read;           /**< There were events. */
    uint64_t batches;    /**< Published by engines. */
    uint64_t stored;     /**< Blocks in them. */
    uint64_t removed;    /**< Likewise. */
    uint64_t lost;       /**< Batches that did not arrive by themselves. */
    uint64_t delivered;  /**< Batches handed over, those sent again included. */
    uint64_t bytes;      /**< In them. */
    uint64_t replays;    /**< Times that an engine was asked to send again. */
    uint64_t clears;     /**< Times that it could not. */
    uint64_t gaps;       /**< As the router counts them, and the next three. */
    uint64_t restarts;   /**< Of engines. */
    uint64_t duplicates; /**< Batches. */
    uint64_t evicted;    /**< Blocks for which it had no room. */
    uint64_t picks;
    uint64_t unknown_picks; /**< While events of any target were missing. */
    double unknown_share;   /**< Of `picks`. */
    uint64_t credited;      /**< Blocks that picks were told are there. */
    uint64_t justified;     /**< Blocks of which events had said so. */
    uint64_t guessed_picks; /**< Told of more, which the router had sent. */
    uint64_t wrong_picks;   /**< Told of more than that, too, ... */
    uint64_t wrong_blocks;  /**< ... and by how many blocks. */
};

/** What became of some of the requests: a client's, or those of a priority. */
struct replay_group {
    char name[64];
    uint64_t requests;
    uint64_t rejected;
    /** Arrival to dispatch, of the served ones; 0 where they went at once. */
    struct replay_quantiles wait_ms;
    /** Parts of all virtual tokens while requests arrived: what was asked for,
     * of all that was; what was dispatched, of all that was; and what the group
     * would have got of the latter, had it been shared out so that nobody gets
     * more than he asks for and all who want more get the same. */
    double demand_share;
    double service_share;
    double fair_share;
};

/** How often a reason was given. */
struct replay_reason {
    const char *name;
    uint64_t count;
};

/** A hybrid pool became busy or quiet. */
struct replay_mode_change {
    double at_s;
    bool busy;
    uint64_t under_way; /**< In flight and waiting at that time ... */
    uint64_t arrivals;  /**< ... and arrivals of the latest 5 s. */
};

/** What became of a run that is about limits. Virtual tokens are input tokens
 * and output tokens, each times what the pool's parameters say. */
struct replay_queue {
    bool asked; /**< By the caller, as the next three. */
    double input_cost;
    double output_cost;
    bool hybrid;                     /**< The pool's mode. */
    struct replay_quantiles wait_ms; /**< As of a group. */
    size_t reason_count;
    struct replay_reason *reasons; /**< Those that were given. */
    /** Done while requests arrived. */
    double requests_per_s;
    double tokens_per_s;   /**< Virtual ones. */
    uint64_t estimates;    /**< Requests that waited and were told how long. */
    double estimate_error; /**< Median of |told / real - 1| */
    double estimate_bias;  /**< All that was told / all that was real - 1. */
    struct replay_group heaviest; /**< The client that asked for most. */
    struct replay_group others;   /**< All other clients. */
    size_t client_count;          /**< 0: unknown, and so are those two. */
    struct replay_group *clients;
    size_t priority_count; /**< 0: all have the same. */
    struct replay_group *priorities;
    double busy_s; /**< Time in which a hybrid pool was busy. */
    double quiet_s;
    size_t change_count;
    struct replay_mode_change *changes;
};

/** What was served in a part of a run. */
struct replay_span {
    uint64_t requests; /**< Dispatched in it. */
    double hit_share;  /**< Cached tokens / input tokens. */
    struct replay_quantiles ttft_ms;
};

/** The router was replaced. */
struct replay_handover {
    bool asked;      /**< By the caller. */
    double window_s; /**< Likewise: length of the next two. */
    struct replay_span before;
    struct replay_span after;
    struct replay_span rest; /**< All after that. */
    bool done;
    double at_s;
    uint64_t forgotten;      /**< Requests under way. */
    uint64_t snapshot_bytes; /**< 0: it began cold. */
};

/** Several routers in front of one fleet, and what went over between them. */
struct replay_routers {
    bool share;        /**< By deltas; as the caller says, and the next. */
    double interval_s; /**< Between two deltas of a router. */
    size_t count;
    uint64_t *requests; /**< By router, those that came to it. */
    uint64_t deltas;    /**< Written by all of them. */
    uint64_t bytes;     /**< In these; each goes to all others. */
    double bytes_per_request;
    double bytes_per_s;
    uint64_t applied;  /**< Deltas, once for each router that got them. */
    uint64_t lost;     /**< Likewise, for each that did not. */
    uint64_t gaps;     /**< Times that a router saw that some are missing. */
    uint64_t prompts;  /**< Taken over, by all of them. */
    uint64_t sessions; /**< Likewise. */
    uint64_t skipped;  /**< Prompts and sessions that were not. */
    uint64_t dropped;  /**< Those that there was no room to tell of. */
};

/** One run: one strategy, one seed. Owned by whoever made it. */
struct replay_result {
    const char *strategy; /**< Name of lbroute_strategy_name(). */
    uint64_t seed;        /**< Of the router and of a generated workload. */
    const char *trace;    /**< Base name of the trace, or the workload. */
    const char *engine;   /**< One name, or "mixed" when targets differ. */
    const char *fleet;    /**< The --targets text as given. */
    double load;          /**< Multiplier on the arrival rate. */
    bool swept;           /**< One of several loads of a sweep ... */
    double sweep_load;    /**< ... which multiplies what --load says. */
    double slo_ttft_ms;   /**< First token counts as good up to here. */
    double slo_tpot_ms;   /**< Time per output token likewise. */

    uint64_t requests; /**< In the run; each was served or rejected. */
    uint64_t rejected; /**< Refused for good. */
    uint64_t waited;   /**< Held back because every target was full. */
    uint64_t skipped;  /**< Bad trace lines left out by --skip-bad. */

    /** Arrival at the router to first token, of the served requests. */
    struct replay_quantiles ttft_ms;
    /** (last token - first token) / (output tokens - 1), of the served
     * requests with two output tokens or more. */
    struct replay_quantiles tpot_ms;
    /** Arrival at the router to last token. */
    struct replay_quantiles total_ms;

    double hit_share; /**< Cached tokens / input tokens, whole fleet. */
    /** The same of one perfect LRU cache of all targets' size: the mark. */
    double pooled_hit_share;
    /** Median of |predicted / real time to first token - 1|, where the router
     * predicted it; NaN: nowhere. */
    double prediction_error;
    double goodput; /**< Share of all requests inside both SLOs. */
    /** Largest work_tokens / weight over their mean; 1 is even. */
    double busiest_over_mean;
    /** The same of work_tokens + output_tokens. */
    double busiest_work_over_mean;
    bool priced;       /**< Prices were given. */
    double cost_usd;   /**< What was served, in dollars; NaN: unknown of any. */
    uint64_t unpriced; /**< Requests served at an unknown price. */
    bool adapters;     /**< Requests ask for LoRA adapters. */
    uint64_t adapter_loads;
    double adapter_load_share; /**< Loads / served requests. */
    bool kv_asked;             /**< A strategy of the call reads KV events. */
    struct replay_kv kv;
    struct replay_queue queue;
    struct replay_handover handover;
    struct replay_routers routers;
    double duration_s; /**< Virtual time to the last token. */
    double bucket_s;   /**< duration_s / REPLAY_BUCKETS. */

    size_t target_count;
    const struct replay_target_result *targets;
    size_t option_count;
    const struct replay_option *options;
};

/** Prints a table, one line a run, best mean first-token time marked; of a
 * sweep one table a measure, and the regret. */
void replay_report_table(FILE *out, const struct replay_result *results,
                         size_t count);

/** Writes `{"runs":[…]}`, of a sweep with `"sweep":{…}`. Returns 0, or -1 when
 * writing failed (errno). */
int replay_report_json(FILE *out, const struct replay_result *results,
                       size_t count);

/** Writes one self-contained page with charts. Returns 0, or -1 (errno). */
int replay_report_html(FILE *out, const struct replay_result *results,
                       size_t count);

/** A progress bar. Shows nothing unless its stream is a terminal. */
struct replay_progress {
    FILE *out;
    bool shown;            /**< The stream is a terminal. */
    uint64_t started_ns;   /**< Monotonic wall clock at the start. */
    uint64_t repainted_ns; /**< And at the last repaint. */
};

/** Starts a bar on a stream, usually stderr. */
void replay_progress_start(struct replay_progress *progress, FILE *out);

/** Repaints the bar, at most a few times a second; cheap to call often.
 * `label` says what is running, for example "least_connections (3/7)". `done`
 * and `total` count requests over all runs. */
void replay_progress_update(struct replay_progress *progress, const char *label,
                            uint64_t done, uint64_t total);

/** Wipes the bar. */
void replay_progress_end(struct replay_progress *progress);

#endif
