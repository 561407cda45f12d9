/* SPDX-License-Identifier: MIT */
/* What one router tells others, as bytes (see envelope.h), and what those make
 * of it. Sections:
 *
 *     ORIGIN     whose delta it is, its number there, check of the digest key
 *     TARGETS    names; others name targets by their number
 *     LOADS      target, in flight, waiting, tokens, turns     of all with any
 *     PROMPTS    comparison, prompts in order             one for each of these
 *                  target, marks, [root], [client], length in common with the
 *                  one before, length of the rest, rest
 *     SESSIONS   key, target, age
 *
 * The first two always stand first. */
#ifndef LBR_STATE_DELTA_H
#define LBR_STATE_DELTA_H

#include "state/envelope.h"
#include "state/router.h"

#define LBR_DELTA_MAGIC                                                        \
    {                                                                          \
        'l', 'b', 'r', 'd', 'e', 'l', 't', 0x1a                                \
    }

/* Kinds of sections; never given to anything else. */
enum lbr_delta_section {
    LBR_DELTA_ORIGIN = 1,
    LBR_DELTA_TARGETS = 2,
    LBR_DELTA_LOADS = 3,
    LBR_DELTA_PROMPTS = 4,
    LBR_DELTA_SESSIONS = 5
};

/* Marks of a prompt: what is not the same as of the one before it. */
enum { LBR_DELTA_ROOT = 1, LBR_DELTA_CLIENT = 2, LBR_DELTA_MARKS = 3 };

/* Bytes of all prompts of a delta, in full, at most: a small delta must not
 * mean much work. */
#define LBR_DELTA_MOST_SYMBOLS ((size_t)16 << 20)

/* More than this of anything is no load. */
#define LBR_DELTA_MOST_REQUESTS UINT64_C(1000000000)
#define LBR_DELTA_MOST_TOKENS UINT64_C(1000000000000000)

static inline uint32_t lbr_delta_unit(const struct lbr_comparison *comparison)
{
    return comparison->kind == LBR_TRIE_BYTES ? 1 : (uint32_t)sizeof(uint64_t);
}

/* Whether there is anything to tell of a target's load. */
static inline int lbr_delta_has_load(const struct lbr_target *target)
{
    return target->in_flight || target->by_pool.turn.served;
}

/* ---- writing ---- */

/* What goes into a delta. */
struct lbr_delta_content {
    void **targets; /* struct lbr_target, with load or named by an item */
    uint32_t target_count;
    void **items; /* const struct lbr_news_item: what they tell */
    uint32_t item_count;
    uint32_t collected; /* oldest news that the delta is of */
    size_t bound;       /* bytes that it takes at most */
    uint32_t target_room, item_room;
};

/* Chooses what fits into |capacity| bytes: all loads, and the oldest news.
 * Returns 0, LBROUTE_ERR_NO_MEMORY, or LBROUTE_ERR_BUFFER: neither loads nor
 * loads and one piece of news fit; |bound| says what would do. */
int lbr_delta_choose(struct lbroute_router *router, size_t capacity,
                     struct lbr_delta_content *content);
void lbr_delta_content_free(struct lbroute_router *router,
                            struct lbr_delta_content *content);

/* Writes it. */
void lbr_delta_write(struct lbroute_router *router, struct lbr_writer *writer,
                     const struct lbr_delta_content *content);

/* ---- reading ---- */

struct lbr_delta_reading {
    struct lbroute_router *router; /* NULL: only checks */
    uint64_t origin, sequence, key_check;
    uint32_t target_count, row_count;
    uint32_t seen;  /* bits: sections that there may be one of */
    size_t longest; /* prompt, bytes */
    size_t symbols; /* of all prompts, bytes */

    /* Only while it is taken over. */
    int same_key;
    struct lbr_target **targets; /* by number; NULL: unknown */
    struct lbr_peer_row *rows;
    unsigned char *prompt; /* of |longest| bytes */
    lbroute_delta_result *result;
};

/* Whether the bytes are a delta: LBROUTE_OK, LBROUTE_ERR_FORMAT or
 * LBROUTE_ERR_UNSUPPORTED. Fills in what does not depend on a router. */
int lbr_delta_check(struct lbr_delta_reading *reading, const void *bytes,
                    size_t length);

/* Takes over bytes that passed that, written |elapsed| before the router's
 * time. Returns 0 or LBROUTE_ERR_NO_MEMORY; then nothing changed. */
int lbr_delta_take(struct lbr_delta_reading *reading,
                   struct lbroute_router *router, const void *bytes,
                   size_t length, uint64_t elapsed,
                   lbroute_delta_result *result);

/* Sections of prompts and sessions. */
void lbr_delta_read_prompts(struct lbr_delta_reading *reading,
                            struct lbr_reader *reader);
void lbr_delta_read_sessions(struct lbr_delta_reading *reading,
                             struct lbr_reader *reader);

/* Reads the number of a target, and finds it; NULL: unknown, or only checks. */
struct lbr_target *lbr_delta_get_target(const struct lbr_delta_reading *reading,
                                        struct lbr_reader *reader);

#endif
