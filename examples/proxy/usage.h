/* SPDX-License-Identifier: MIT */
/*
 * Reads an answer while it passes through: when the first token came, and what
 * the engine says of usage. Nothing is changed, and nothing is kept but the
 * line under way (events) or the body (JSON), each up to a bound; beyond it
 * usage is unknown.
 *
 *     bytes ──▶ lines ──▶ "data: {…}" ──▶ usage, last one counts
 */
#ifndef LBROUTE_PROXY_USAGE_H
#define LBROUTE_PROXY_USAGE_H

#include "asked.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct usage {
    int64_t input_tokens;  /**< Cached ones included; -1: unknown. */
    int64_t cached_tokens; /**< -1: unknown. */
    int64_t output_tokens; /**< -1: unknown. */
    bool token_seen;       /**< Something of the answer itself has come. */
    bool failed;           /**< The engine sent an error as an event. */
    bool ended;            /**< Its last event has come ([DONE],
                            * message_stop, response.completed). */
};

struct usage_reader;

/** `events`: the answer is text/event-stream. NULL: out of memory. */
struct usage_reader *usage_reader_new(enum dialect dialect, bool events);

/** Takes the next piece. */
void usage_reader_feed(struct usage_reader *reader, const void *bytes,
                       size_t len);

/** What is known so far; of JSON only after usage_reader_finish(). */
const struct usage *usage_reader_state(const struct usage_reader *reader);

/** The answer is over. */
void usage_reader_finish(struct usage_reader *reader);

void usage_reader_free(struct usage_reader *reader);

#endif
