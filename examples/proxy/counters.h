/* SPDX-License-Identifier: MIT */
/*
 * What the gateway counts of itself, for its metrics page.
 */
#ifndef LBROUTE_PROXY_COUNTERS_H
#define LBROUTE_PROXY_COUNTERS_H

#include <lbroute/lbroute.h>

#include <stdint.h>

enum { COUNTER_BUCKETS = 16, COUNTER_STATUSES = 6 };

/** Durations by upper bound: 1 ms, 2.5, 5, 10, 25, … 60 s and above. */
struct histogram {
    uint64_t buckets[COUNTER_BUCKETS];
    uint64_t count;
    double sum; /**< Seconds. */
};

struct counters {
    uint64_t requests;                  /**< Of clients, on the public port. */
    uint64_t answers[COUNTER_STATUSES]; /**< By status / 100; 0: none was
                                         * sent, the client was gone. */
    uint64_t refused;                   /**< Malformed: never routed. */
    uint64_t retries;                   /**< Further targets tried. */
    uint64_t queued;                    /**< Had to wait. */
    uint64_t client_gone;               /**< Before the end of their answer. */
    uint64_t cut_short;                 /**< Answers that an engine broke off
                                         * after the first byte. */
    uint64_t rejected[LBROUTE_REASON_COUNT];
    uint64_t rules[LBROUTE_RULE_COUNT];
    uint64_t bytes_in, bytes_out;                        /**< Bodies. */
    uint64_t input_tokens, cached_tokens, output_tokens; /**< As engines say. */
    uint64_t tokenize_failures; /**< Prompts whose ids did not come. */
    uint64_t reloads, reload_failures;
    uint64_t state_saves, state_save_failures;
    struct histogram decision;    /**< The pick itself. */
    struct histogram first_token; /**< From the request's arrival. */
    struct histogram total;
    struct histogram wait; /**< Of those that had to. */
};

/** Upper bound of a bucket, seconds; infinity for the last. The decision's are
 * a thousandth of that. */
double histogram_bound(unsigned bucket);

/** Adds a duration, given in seconds (for `decision`: a thousand times it). */
void histogram_add(struct histogram *histogram, double seconds);

#endif
