/* SPDX-License-Identifier: MIT */
/* The token ids of a KV event, and the hashes of their blocks. Ids are kept
 * until the size of the blocks is known, which stands behind them; of events
 * with more than there is room for they are read again, part by part.
 *
 *     | used | next block … | not a whole block |        room |
 *     ids              ^ LBR_EVENT_TOKENS at most       then |rest| on the wire
 */
#ifndef LBR_INGEST_EVENT_TOKENS_H
#define LBR_INGEST_EVENT_TOKENS_H

#include "ingest/msgpack.h"

#define LBR_EVENT_TOKENS 4096

/* Arrays and maps around the fields of an event: itself, the events, the batch.
 */
#define LBR_EVENT_DEPTH 3

struct lbr_event_tokens {
    uint32_t ids[LBR_EVENT_TOKENS];
    size_t total;            /* ids in the event */
    size_t used, ready;      /* of |ids|: hashed, and read */
    size_t unread;           /* ids of |rest| */
    struct lbr_msgpack rest; /* where to go on reading */
};

/* Takes the array of token ids of an event; nil is an empty one. A token may be
 * an array, of which the first element counts (pairs of tokens). Returns 0,
 * with the cursor as it was, if there is anything else, or an id that does not
 * fit in 32 bits. */
int lbr_event_tokens_take(struct lbr_event_tokens *tokens,
                          struct lbr_msgpack *in);

/* Hashes the next |count| blocks of |block_size| tokens, which there must be,
 * as lbroute_hash_blocks() does. */
void lbr_event_tokens_hash(struct lbr_event_tokens *tokens, size_t block_size,
                           size_t count, uint64_t *blocks);

#endif
