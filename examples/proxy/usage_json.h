/* SPDX-License-Identifier: MIT */
/*
 * What one JSON text of an answer, or one event of a stream, says of usage.
 */
#ifndef LBROUTE_PROXY_USAGE_JSON_H
#define LBROUTE_PROXY_USAGE_JSON_H

#include "usage.h"

/** As an engine says them, each the last that came; -1: not yet. */
struct usage_counts {
    int64_t input, output, cached;
    int64_t created; /**< Anthropic: written to the cache. There `input` is
                      * only what was neither read from it nor written. */
};

void usage_counts_init(struct usage_counts *counts);

/** Works out the usage. */
void usage_counts_sum(const struct usage_counts *counts, enum dialect dialect,
                      struct usage *usage);

/** Reads the data of an event: sets the flags of `usage`. Most events are only
 * searched for the names that matter. Returns whether it was read as JSON, and
 * counts may have changed. */
bool usage_event(struct usage_counts *counts, struct usage *usage,
                 const char *data, size_t len);

/** Reads a whole answer. */
void usage_body(struct usage_counts *counts, const char *body, size_t len);

#endif
