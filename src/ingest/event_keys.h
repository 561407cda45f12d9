/* SPDX-License-Identifier: MIT */
/* The extra keys of the blocks in a KV event: what else than its tokens tells
 * each of them from others.
 *
 *     [nil, ["adapter", ["image 1", -3], "salt"], [["image 1", -19]]]
 *       |      |            |      |        block 2: the rest of image 1
 *       |      |            |      where it begins: not read
 *       |      |            identifier: folded
 *       |      the adapter: not folded, it is known by itself
 *       block 0: nothing
 */
#ifndef LBR_INGEST_EVENT_KEYS_H
#define LBR_INGEST_EVENT_KEYS_H

#include "ingest/msgpack.h"

struct lbr_event_keys {
    struct lbr_msgpack in;
    size_t left; /* blocks to come */
    struct lbr_text adapter;
};

/* Begins with the array of extra keys. Returns 0 if there is something in it
 * that is not as it should be. */
int lbr_event_keys_begin(struct lbr_event_keys *keys, struct lbr_msgpack in,
                         struct lbr_text adapter);

/* The folded keys of the next block; 0: none. */
uint64_t lbr_event_keys_next(struct lbr_event_keys *keys);

#endif
