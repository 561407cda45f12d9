/* SPDX-License-Identifier: MIT */
/* A cursor over msgpack. It takes any bytes: it never reads beyond the end,
 * never allocates, and believes a length only as far as there are bytes. A call
 * that fails leaves the cursor where it was.
 *
 *     82 | a2 "ts" | cb 8 bytes | a6 "events" | 90
 *     ^at                                         ^end
 */
#ifndef LBR_INGEST_MSGPACK_H
#define LBR_INGEST_MSGPACK_H

#include "base/text.h"

/* Arrays and maps in one another that lbr_msgpack_skip() follows. */
#define LBR_MSGPACK_DEPTH 16

struct lbr_msgpack {
    const unsigned char *at, *end;
};

enum lbr_msgpack_kind {
    LBR_MSGPACK_NONE, /* no bytes, or the byte that msgpack never uses */
    LBR_MSGPACK_NIL,
    LBR_MSGPACK_BOOL,
    LBR_MSGPACK_INT,
    LBR_MSGPACK_FLOAT,
    LBR_MSGPACK_BYTES, /* str or bin */
    LBR_MSGPACK_ARRAY,
    LBR_MSGPACK_MAP,
    LBR_MSGPACK_EXT
};

struct lbr_msgpack lbr_msgpack(const void *bytes, size_t length);

/* What comes next, by its first byte; it may still be cut short. */
enum lbr_msgpack_kind lbr_msgpack_peek(const struct lbr_msgpack *in);

/* Passes over one value of any kind, which stands in so many arrays and maps
 * around it. Returns 0 if it is cut short, malformed or, all in all, nested
 * deeper than LBR_MSGPACK_DEPTH. */
int lbr_msgpack_skip(struct lbr_msgpack *in, unsigned depth);

/* Each of the following takes one value of its kind; 0: it is none. */

int lbr_msgpack_nil(struct lbr_msgpack *in);

/* An integer of any width. |*negative| tells -1 from 2^64 - 1, whose |*bits|
 * are the same. */
int lbr_msgpack_int(struct lbr_msgpack *in, uint64_t *bits, int *negative);

/* An integer of any width from 0 to UINT32_MAX. */
int lbr_msgpack_u32(struct lbr_msgpack *in, uint32_t *value);

/* A float of any width, or an integer. */
int lbr_msgpack_number(struct lbr_msgpack *in, double *value);

/* A str or bin, which stays where it is. */
int lbr_msgpack_bytes(struct lbr_msgpack *in, struct lbr_text *bytes);

/* The head of an array or map, its elements or pairs follow: not more than
 * there are bytes for. */
int lbr_msgpack_array(struct lbr_msgpack *in, size_t *count);
int lbr_msgpack_map(struct lbr_msgpack *in, size_t *count);

/* Takes integers as lbr_msgpack_u32() does, up to |count|, until something else
 * stands there. Returns how many. */
size_t lbr_msgpack_u32s(struct lbr_msgpack *in, uint32_t *values, size_t count);

#endif
