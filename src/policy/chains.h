/* SPDX-License-Identifier: MIT */
/* A prompt as rows of keys, one for each size of blocks that the engines of a
 * pool use; made without the lock. */
#ifndef LBR_POLICY_CHAINS_H
#define LBR_POLICY_CHAINS_H

#include "state/router.h"

/* Keys that a caller has room for on its stack. */
#define LBR_NEAR_KEYS 256

struct lbr_ask;

struct lbr_chain {
    uint32_t block_size; /* 0: given as hashes, fits any */
    uint32_t total;      /* complete blocks of the prompt */
    uint32_t count;      /* of the leading ones, as many as there is room for */
    uint64_t *keys;
};

struct lbr_chains {
    uint64_t wanted; /* sizes that the pool asked for; see kv_sizes.h */
    uint64_t sizes;  /* those that the rows are of; 0: not made yet */
    unsigned count;
    struct lbr_chain rows[LBR_KV_SIZES];
    uint64_t *near;    /* the caller's space */
    uint64_t *scratch; /* the router's, for |room| keys; NULL: not borrowed */
    size_t room;
};

/* The sizes of blocks that a pool wants a prompt cut into; 0: it does not ask
 * what is resident. */
uint64_t lbr_chains_wanted(const struct lbr_pool *pool);

/* Makes the rows that are wanted. */
void lbr_chains_make(struct lbroute_router *router, struct lbr_ask *ask);

/* Makes those that the pool of the request is known to want. */
void lbr_chains_foresee(struct lbroute_router *router, struct lbr_ask *ask);

/* Gives back what was borrowed from the router. */
void lbr_chains_release(struct lbroute_router *router, struct lbr_ask *ask);

/* Publishes what a pool wants for lbr_chains_foresee(). */
void lbr_chains_publish(struct lbroute_router *router,
                        const struct lbr_pool *pool);

#endif
