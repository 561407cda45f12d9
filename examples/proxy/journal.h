/* SPDX-License-Identifier: MIT */
/*
 * The recent decisions, for the admin interface: a ring of records. Neither
 * prompts nor keys are in it, of clients and sessions only digests.
 */
#ifndef LBROUTE_PROXY_JOURNAL_H
#define LBROUTE_PROXY_JOURNAL_H

#include <lbroute/lbroute.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal_record {
    uint64_t number; /**< From 1, of all decisions. */
    int64_t unix_ms; /**< Wall clock. */
    char model[128]; /**< Cut if longer. */
    char path[64];
    int result;       /**< Of lbroute_pick() or lbroute_next_ready(). */
    uint32_t attempt; /**< 0: the first. */
    lbroute_decision decision;
    double decision_us; /**< What the pick took. */
    /** Set when it ends. */
    int outcome; /**< `LBROUTE_EVENT_`; 0: under way, or rejected. */
    int status;  /**< Of the answer; 0: none. */
    double first_token_ms, total_ms; /**< NaN: not yet, or none. */
    int64_t input_tokens, cached_tokens, output_tokens;
    /** Every candidate, where it was explained (a few a second are), as it was
     * just before the pick; names by `candidate_names`. */
    lbroute_candidate *candidates;
    char (*candidate_names)[64];
    size_t candidate_count;
};

struct journal;

struct journal *journal_create(size_t capacity, double explain_rate);
void journal_destroy(struct journal *journal);

/** Other bounds, on a reload; the newest records stay. */
void journal_resize(struct journal *journal, size_t capacity,
                    double explain_rate);

/** Whether the next decision should be explained: at most `explain_rate` a
 * second are, evenly. */
bool journal_wants_explanation(struct journal *journal, uint64_t now);

/** Explains a request for the record that follows: lbroute_explain() with room
 * for all candidates. Call before the pick. */
void journal_explain(struct journal *journal, lbroute_router *router,
                     const lbroute_request *request, uint64_t now);

/** Adds a record (what journal_explain() found goes in) and returns its number,
 * by which it can be completed. */
uint64_t journal_add(struct journal *journal,
                     const struct journal_record *record);

/** The record of a number to complete, or NULL if it is no longer there. */
struct journal_record *journal_find(struct journal *journal, uint64_t number);

/** Number of the newest record; 0: none. */
uint64_t journal_newest(const struct journal *journal);

#endif
