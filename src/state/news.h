/* SPDX-License-Identifier: MIT */
/* What other routers are still to be told: prompts that were sent and sessions
 * that were pinned, in a ring of bytes. When it is full the oldest give way.
 *
 *     [ newest … end | room | oldest … ][ unused ]
 *                             ▲ begin     ▲ wrap */
#ifndef LBR_STATE_NEWS_H
#define LBR_STATE_NEWS_H

#include "base/memory.h"
#include "state/comparison.h"

enum lbr_news_kind { LBR_NEWS_PROMPT, LBR_NEWS_SESSION };

struct lbr_news_item {
    uint32_t size;   /* of the whole record, bytes */
    uint32_t length; /* of the symbols, bytes */
    enum lbr_news_kind kind;
    struct lbr_comparison comparison; /* of a prompt */
    lbroute_target target;
    uint64_t key;    /* the prompt's root, or the session's key */
    uint64_t client; /* whose prompt it is; 0: unknown */
    uint64_t at;
};

/* What a prompt consists of, as it is compared. */
static inline const unsigned char *lbr_news_symbols(
    const struct lbr_news_item *item)
{
    return (const unsigned char *)(item + 1);
}

struct lbr_news {
    unsigned char *bytes; /* NULL: nothing is kept */
    size_t capacity;
    size_t begin, end, wrap;
    int wrapped; /* the newest stand before the oldest */
    uint32_t count;
    uint64_t dropped; /* gave way so far */
};

/* Keeps up to |capacity| bytes, 0: nothing. Returns 0 without memory. */
int lbr_news_init(struct lbr_news *news, struct lbr_memory *memory,
                  size_t capacity);
void lbr_news_destroy(struct lbr_news *news, struct lbr_memory *memory);

/* Adds what |head| says, with |length| bytes of symbols; of a long prompt only
 * the beginning. Sizes are filled in. */
void lbr_news_add(struct lbr_news *news, const struct lbr_news_item *head,
                  const void *symbols, size_t length);

/* The one after |item| (NULL: the oldest), or NULL. */
const struct lbr_news_item *lbr_news_next(const struct lbr_news *news,
                                          const struct lbr_news_item *item);

/* Takes the |count| oldest out. */
void lbr_news_collected(struct lbr_news *news, uint32_t count);

#endif
