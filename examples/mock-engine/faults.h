/* SPDX-License-Identifier: MIT */
/*
 * What goes wrong on purpose. A JSON object says it, given by --faults or to
 * POST /mock/faults, which replaces the whole of it; {} ends all:
 *
 *     "rate": 0.1           part of the requests that suffer (1): with 0.1 each
 *                           tenth, so that tests can count on it
 *     "count": N            ends after so many of them
 *     "scope": TEXT         whose requests: "generate" (default), "metrics"
 *                           or "all" but for /mock
 *
 *     "delay_ms": MS        begins to answer that much later
 *     "close_before_answer": true
 *                           closes the connection instead of answering
 *     "hang": true          never answers
 *     "status": 500         answers with an error …
 *     "retry_after": 2      … with this header: seconds, or a text as it stands
 *     "malformed": true     answers what is no HTTP; "json": what is no JSON
 *     "cut_after_chunks": N closes after so many tokens of a stream, or in the
 *                           middle of another answer
 *     "hang_after_chunks": N
 *                           goes on no more after so many tokens
 *
 * At once, and whatever rate and scope are:
 *
 *     "refuse": true        accepts no connections (but on the control port);
 *                           as a number: for so many seconds
 *     "drop_kv_events": N   loses that many batches of KV events
 */
#ifndef LBROUTE_MOCK_FAULTS_H
#define LBROUTE_MOCK_FAULTS_H

#include "dialect.h"

enum malformed { MALFORMED_NOT, MALFORMED_HTTP, MALFORMED_JSON };

/** What one request suffers; zeroed but for the -1s, nothing. */
struct fault_plan {
    double delay_ms;
    bool close_before_answer;
    bool hang;
    int status;           /**< 0: none. */
    char retry_after[64]; /**< Empty: no header. */
    enum malformed malformed;
    int64_t cut_after;  /**< -1: never. */
    int64_t hang_after; /**< -1: never. */
};

/** Nothing happens. */
extern const struct fault_plan fault_none;

enum fault_scope { FAULTS_GENERATE = 1, FAULTS_METRICS = 2, FAULTS_ALL = 4 };

struct faults {
    struct fault_plan plan;
    double rate;   /**< 0: nothing is planned. */
    double due;    /**< Part of the next sufferer that has passed. */
    int64_t count; /**< Left; -1: without end. */
    enum fault_scope scope;
    double refuse_s; /**< 0: not; -1: without end. */
    uint64_t drop_kv_events;
    uint64_t suffered; /**< Requests so far. */
    json_t *given;     /**< NULL: nothing. */
};

/** Nothing goes wrong. */
void faults_init(struct faults *faults);

void faults_release(struct faults *faults);

/** Replaces all. Returns false, and changes nothing, if it is malformed. */
bool faults_set(struct faults *faults, const json_t *given,
                struct refusal *refusal);

/** What the next request of a scope suffers. */
struct fault_plan faults_take(struct faults *faults, enum fault_scope scope);

#endif
