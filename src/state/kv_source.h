/* SPDX-License-Identifier: MIT */
/* Sources of KV events: what each said, and how far it can be believed.
 *
 *     target ─▶ sources, by number ─┬─ owner      what is resident (index)
 *                                   ├─ sequence   which batch is next
 *                                   └─ aside      batches behind a gap
 *
 * A batch comes as a row of operations, one for each block. Those of a batch
 * behind a gap are kept aside until what is missing has come. Of a source that
 * is first heard in the middle, since its engine is older than the router, only
 * a part is known for good: engines do not tell again what they hold. */
#ifndef LBR_STATE_KV_SOURCE_H
#define LBR_STATE_KV_SOURCE_H

#include "base/clock.h"
#include "containers/list.h"
#include "models/kv_index.h"
#include "models/kv_sequence.h"

#include <lbroute/lbroute.h>

/* What an operation does. */
enum lbr_kv_verb {
    LBR_KV_STORE, /* the block is in the medium, at a place in a prompt */
    LBR_KV_COPY,  /* the same of a block whose place is known */
    LBR_KV_TAKE,  /* it has left the medium, or all */
    LBR_KV_EMPTY  /* the source holds nothing */
};

/* Where a stored block stands. */
enum lbr_kv_after {
    LBR_KV_AFTER_LAST, /* after the block of the operation before */
    LBR_KV_AFTER_NAME, /* after the block called |before| */
    LBR_KV_AFTER_ROOT  /* first in a prompt that begins with the key |before| */
};

struct lbr_kv_op {
    uint64_t name;
    uint64_t content;
    uint64_t before;
    uint32_t block_size; /* 0: not said */
    uint8_t verb;
    uint8_t after;
    uint8_t medium; /* LBR_KV_MEDIA: all */
};

/* A batch behind a gap. */
struct lbr_kv_aside {
    struct lbr_link link;
    struct lbr_kv_stamp stamp;
    struct lbr_kv_op *ops;
    uint32_t count, capacity;
};

/* Why the rest of a row of blocks is not taken over, or where it goes. */
enum lbr_kv_row { LBR_KV_ROW_KNOWN, LBR_KV_ROW_WAITS, LBR_KV_ROW_REFUSED };

/* What happens to the operations of the batch that is being received. */
enum lbr_kv_open {
    LBR_KV_OPEN_NONE, /* no batch is being received */
    LBR_KV_OPEN_APPLY,
    LBR_KV_OPEN_ASIDE,
    LBR_KV_OPEN_IGNORE
};

struct lbr_kv_source {
    struct lbr_slot slot; /* spare: being restored */
    struct lbr_link siblings;
    struct lbr_target *target;
    uint32_t number;
    uint32_t block_size;
    struct lbr_kv_owner *owner; /* NULL: holds nothing */
    struct lbr_kv_sequence sequence;
    int restarted; /* what is missing are the first batches */
    int partial;   /* what was told before is not known */
    struct lbr_link aside;
    uint64_t heard_at; /* LBR_NEVER: not yet */

    enum lbr_kv_open open;
    int outcome; /* LBROUTE_KV_ of the batch, as far as it has come */
    struct lbr_kv_stamp open_stamp;
    struct lbr_kv_aside *open_aside;

    /* The row of blocks that is being stored. */
    enum lbr_kv_row row;
    int refused_for; /* LBROUTE_KV_REASON_ */
    struct lbr_kv_spot spot;
    uint64_t last_name;

    lbroute_kv_source_stats counts; /* the fields that only ever grow */
};

/* What a target has of them. */
struct lbr_kv_side {
    /* First and last request since the latest batch that should lead to
     * another; the first is LBR_NEVER: there was none. */
    uint64_t asked_since, asked_until;
    struct lbr_link sources;          /* by number, ascending */
    struct lbr_kv_owner *speculation; /* what it may hold by now; or NULL */

    /* The latest look at a prompt that found something: its number, … */
    uint64_t looked_by;
    double worth;                 /* of the resident blocks, over all … */
    uint32_t found[LBR_KV_MEDIA]; /* … by medium */
    uint32_t total;
};

struct lbr_kv_store {
    struct lbr_memory *memory;
    struct lbr_kv_index index;
    struct lbr_slab sources;
    uint32_t partial_sources; /* so many of them */
    uint32_t aside_ops, most_aside;
    uint64_t looks; /* at prompts, so far */
};

/* How a batch is taken over. */
struct lbr_kv_rules {
    int counted;         /* copies in a medium are counted */
    uint32_t block_size; /* that the pool is configured for */
};

void lbr_kv_store_init(struct lbr_kv_store *store, struct lbr_memory *memory,
                       uint32_t blocks, uint32_t sources, uint64_t secret);
void lbr_kv_store_destroy(struct lbr_kv_store *store);
size_t lbr_kv_store_estimate(uint32_t blocks, uint32_t sources);

void lbr_kv_side_init(struct lbr_kv_side *side);

/* Notes a request that should lead to a batch. */
static inline void lbr_kv_side_asked(struct lbr_kv_side *side, uint64_t now)
{
    if (side->asked_since == LBR_NEVER)
        side->asked_since = now;
    side->asked_until = now;
}

/* The source of a target with |number|, or NULL. */
struct lbr_kv_source *lbr_kv_source_find(const struct lbr_kv_side *side,
                                         uint32_t number);

/* The same, made if there is none. Returns 0, LBROUTE_ERR_LIMIT or
 * LBROUTE_ERR_NO_MEMORY. */
int lbr_kv_source_get(struct lbr_kv_store *store, struct lbr_target *target,
                      struct lbr_kv_side *side, uint32_t number,
                      struct lbr_kv_source **source);

/* Ends a source; all of a target. */
void lbr_kv_source_drop(struct lbr_kv_store *store,
                        struct lbr_kv_source *source);
void lbr_kv_side_purge(struct lbr_kv_store *store, struct lbr_kv_side *side);

/* Forgets what a source said, and which batch is next. */
void lbr_kv_source_clear(struct lbr_kv_store *store,
                         struct lbr_kv_source *source);

/* Whether the engine may hold what it told before the source was heard, or what
 * was forgotten here. */
void lbr_kv_source_set_partial(struct lbr_kv_store *store,
                               struct lbr_kv_source *source, int partial);

/* Whether that is so for one of the sources. */
int lbr_kv_side_partial(const struct lbr_kv_store *store,
                        const struct lbr_kv_side *side);

/* Begins a batch: says what it is, and what becomes of its operations. A batch
 * without a number is taken over as it comes. */
void lbr_kv_source_begin(struct lbr_kv_store *store,
                         struct lbr_kv_source *source,
                         const struct lbr_kv_stamp *stamp);

/* Operations of the batch; |result| receives what they changed. */
void lbr_kv_source_feed(struct lbr_kv_store *store,
                        struct lbr_kv_source *source,
                        const struct lbr_kv_op *ops, size_t count,
                        const struct lbr_kv_rules *rules,
                        lbroute_kv_result *result);

/* Ends the batch; what was kept aside and is next follows. */
void lbr_kv_source_end(struct lbr_kv_store *store, struct lbr_kv_source *source,
                       const struct lbr_kv_rules *rules,
                       lbroute_kv_result *result);

/* Batches that are missing. */
struct lbr_kv_hole {
    uint64_t count; /* 0: none */
    uint64_t first, last;
};

/* The first hole in a source's sequence. */
struct lbr_kv_hole lbr_kv_source_missing(const struct lbr_kv_source *source);

/* State of a source of |side|, which may be silent while it is asked for |ttl|
 * on end. */
int lbr_kv_source_state(const struct lbr_kv_source *source,
                        const struct lbr_kv_side *side, uint64_t ttl);

/* The same of all sources of a target together. */
int lbr_kv_side_state(const struct lbr_kv_side *side, uint64_t ttl);

#endif
