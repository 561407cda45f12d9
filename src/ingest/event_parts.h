/* SPDX-License-Identifier: MIT */
/* Decoded events on their way out: collected in buffers of a fixed size, which
 * are handed over as a part of the batch whenever something does not fit. An
 * event with more blocks than there is room for is cut in pieces, each of which
 * names the last block of the one before as its parent.
 *
 *     events   STORED     REMOVED      STORED (piece)
 *                |           |             |
 *     hashes   h h h h h | h h h h | h h h h h h h      … LBR_PART_BLOCKS
 *     blocks   c c c c c | - - - - | c c c c c c c
 *     keys     k k k k k | - - - - | k k k k k k k
 */
#ifndef LBR_INGEST_EVENT_PARTS_H
#define LBR_INGEST_EVENT_PARTS_H

#include "ingest/event_keys.h"
#include "ingest/event_values.h"

#define LBR_PART_EVENTS 24
#define LBR_PART_BLOCKS 448

/* Takes a part of a batch, without its sequence number. What is returned, if
 * not 0, ends it all. */
typedef int lbr_event_sink(void *context, lbroute_kv_batch *part);

struct lbr_event_parts {
    lbr_event_sink *sink;
    void *context;
    int result; /* of the sink, the first that is not 0 */
    lbroute_kv_batch part;
    size_t used; /* of hashes, blocks and keys */
    lbroute_kv_event events[LBR_PART_EVENTS];
    uint64_t hashes[LBR_PART_BLOCKS];
    uint64_t blocks[LBR_PART_BLOCKS];
    uint64_t keys[LBR_PART_BLOCKS];
    char adapters[LBR_PART_EVENTS]
                 [LBR_EVENT_DIGITS]; /* those given by number */
};

/* The blocks of an event, still as they came; all checked to be readable. */
struct lbr_event_blocks {
    struct lbr_msgpack hashes;
    size_t hash_count;
    struct lbr_event_tokens *tokens; /* NULL: none are told */
    struct lbr_event_keys keys;
};

void lbr_event_parts_begin(struct lbr_event_parts *parts, lbr_event_sink *sink,
                           void *context, double timestamp);

/* Add an event, which is copied, with its blocks. Short adapter names are
 * copied, too; other strings must stay. Nothing happens after a failure. */
void lbr_event_parts_store(struct lbr_event_parts *parts,
                           const lbroute_kv_event *event,
                           struct lbr_event_blocks *blocks);
void lbr_event_parts_remove(struct lbr_event_parts *parts,
                            const lbroute_kv_event *event,
                            struct lbr_event_blocks *blocks);
void lbr_event_parts_clear(struct lbr_event_parts *parts,
                           const lbroute_kv_event *event);

/* Ends it with a failure. */
void lbr_event_parts_fail(struct lbr_event_parts *parts, int result);

/* Hands over the last part, which may be empty. Returns what became of it all:
 * 0, or what the sink returned. */
int lbr_event_parts_end(struct lbr_event_parts *parts);

#endif
