/* SPDX-License-Identifier: MIT */
/* Buffers for picks that need more than their stack: taken and given back under
 * the router's lock, used without it. As many are kept as picks ran at once, so
 * a warm router allocates none. */
#ifndef LBR_STATE_SCRATCH_H
#define LBR_STATE_SCRATCH_H

#include "base/memory.h"

/* Begins a buffer; its content follows, aligned for any type. */
struct lbr_scratch {
    struct lbr_scratch *next;
    size_t bytes; /* of the content */
};

struct lbr_scratches {
    struct lbr_memory *memory;
    struct lbr_scratch *unused;
};

void lbr_scratches_init(struct lbr_scratches *scratches,
                        struct lbr_memory *memory);

/* Frees all buffers, none of which is in use. */
void lbr_scratches_destroy(struct lbr_scratches *scratches);

/* A buffer of at least |bytes|, with arbitrary content; NULL without memory. */
void *lbr_scratch_take(struct lbr_scratches *scratches, size_t bytes);

void lbr_scratch_give(struct lbr_scratches *scratches, void *content);

#endif
