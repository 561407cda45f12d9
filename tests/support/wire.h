/* SPDX-License-Identifier: MIT */
/* Payloads of KV events for a fleet under test, and what it knows by them. */
#ifndef TESTS_SUPPORT_WIRE_H
#define TESTS_SUPPORT_WIRE_H

#include <lbroute/ingest.h>

#include "support/fleet.h"
#include "support/pack.h"

/* The payload being written, and what became of the one that was fed last. */
extern struct pack wire;
extern lbroute_kv_result wire_result;
extern lbroute_diag wire_diag;

/* Begins a batch in the form of an array. */
void wire_begin(size_t events);

/* Feeds |length| bytes about source 0 of a target, from memory of exactly that
 * size. Gives the code. */
int wire_feed_bytes(struct fleet *fleet, size_t index, uint64_t seq,
                    const void *bytes, size_t length);

/* Feeds what was written as the next batch of source 0, which must be taken,
 * and forgets it. Gives the outcome. */
int wire_feed(struct fleet *fleet, size_t index);

/* Statistics of source 0. */
lbroute_kv_source_stats wire_stats(struct fleet *fleet, size_t index);

/* The requests to come have |count| token ids from |first| on; at most
 * WIRE_TOKENS. */
#define WIRE_TOKENS 4096
void wire_tokens(struct fleet *fleet, uint32_t first, size_t count);

/* Leading blocks of the request that a target holds, by its explanation of a
 * pick that only it can take. */
int64_t wire_known(struct fleet *fleet, size_t index);

#endif
