/* SPDX-License-Identifier: MIT */
/* The numbers of a source's batches: what comes next, and whether a batch that
 * comes is that, lies behind a gap, was there before, or is from an engine that
 * started anew.
 *
 *     taken over …  n-2  n-1 │ n = next │ missing … │ ahead
 *                   └ the latest ones are remembered by digest ┘
 *
 * Numbers begin at 0 with each start of an engine, so one that is too low is
 * from a replay or from a new start. The two are told apart by what the batch
 * says, and by the engine's clock. */
#ifndef LBR_MODELS_KV_SEQUENCE_H
#define LBR_MODELS_KV_SEQUENCE_H

#include "base/bytes.h"

#include <stdint.h>

#define LBR_KV_REMEMBERED 64U
#define LBR_KV_NO_NUMBER UINT64_MAX

struct lbr_kv_stamp {
    uint64_t number; /* LBR_KV_NO_NUMBER: none */
    uint64_t digest;
    double time; /* by the engine; NaN: unknown */
};

struct lbr_kv_sequence {
    uint64_t next;  /* LBR_KV_NO_NUMBER: any number will do */
    uint64_t ahead; /* one above the highest number seen */
    double time;    /* the latest taken over */
    /* By number modulo the size; those of numbers that were never taken over
     * hold none. */
    struct lbr_kv_stamp taken[LBR_KV_REMEMBERED];
};

enum lbr_kv_order {
    LBR_KV_ORDER_NEXT,      /* to be taken over */
    LBR_KV_ORDER_AHEAD,     /* others are missing before it */
    LBR_KV_ORDER_DUPLICATE, /* was taken over before */
    LBR_KV_ORDER_RESTARTED  /* begins, or belongs to, a new count from 0 */
};

/* Any number will do. */
void lbr_kv_sequence_init(struct lbr_kv_sequence *sequence);

/* Begins a new count from 0. */
void lbr_kv_sequence_restart(struct lbr_kv_sequence *sequence);

/* Says what a batch is; changes nothing. */
enum lbr_kv_order lbr_kv_sequence_judge(const struct lbr_kv_sequence *sequence,
                                        const struct lbr_kv_stamp *stamp);

/* Takes a batch over: the one after it is next, whatever was missing before. */
void lbr_kv_sequence_take(struct lbr_kv_sequence *sequence,
                          const struct lbr_kv_stamp *stamp);

/* Notes a batch that lies ahead. */
void lbr_kv_sequence_see(struct lbr_kv_sequence *sequence, uint64_t number);

/* Whether batches are missing. */
static inline int lbr_kv_sequence_broken(const struct lbr_kv_sequence *sequence)
{
    return sequence->next != LBR_KV_NO_NUMBER &&
           sequence->ahead > sequence->next;
}

/* As bytes, and back. The batch with |open| was taken over, but not all of it
 * (LBR_KV_NO_NUMBER: there is none such): it is missing again. */
void lbr_kv_sequence_save(const struct lbr_kv_sequence *sequence, uint64_t open,
                          struct lbr_writer *writer);
void lbr_kv_sequence_load(struct lbr_kv_sequence *sequence,
                          struct lbr_reader *reader);

#endif
