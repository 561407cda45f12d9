/* SPDX-License-Identifier: MIT */
/* From a public request to a checked one; without the lock. */
#ifndef LBR_POLICY_REQUEST_H
#define LBR_POLICY_REQUEST_H

#include "policy/pick.h"

/* Blocks that a caller has room for on its stack: 128 KiB of text. */
#define LBR_NEAR_BLOCKS 512

/* What belongs to a request beside its digest, and must live as long. */
struct lbr_request_space {
    lbroute_request copy;             /* of a struct of another size */
    uint64_t blocks[LBR_NEAR_BLOCKS]; /* hashes */
    uint64_t keys[LBR_NEAR_KEYS];
};

/* Checks |request| and digests its keys. Returns 0 or an error code; after 0
 * lbr_request_release() ends its use. */
int lbr_request_read(const struct lbroute_router *router,
                     const lbroute_request *request,
                     struct lbr_request_space *space, struct lbr_ask *ask);

/* Digest of a client, never 0. */
uint64_t lbr_client_digest(const struct lbroute_router *router,
                           const void *client, size_t length);

/* Hashes the key of the ring, once it turns out to be needed. */
void lbr_request_hash_key(struct lbr_ask *ask);

/* Bytes of one block of a prompt; 0 when it has no complete block, or is given
 * as hashes. */
size_t lbr_request_block_bytes(const struct lbr_ask *ask,
                               struct lbr_block_sizes sizes);

/* Hashes the blocks that the pool of the request is known to want, if any, so
 * that lbr_route() need not ask for them. */
void lbr_request_foresee(struct lbroute_router *router, struct lbr_ask *ask);

/* Hashes the blocks of the prompt, once it turns out to be needed. */
void lbr_request_hash_blocks(struct lbroute_router *router, struct lbr_ask *ask,
                             size_t block_bytes);

/* Gives back what the request borrowed from the router. */
void lbr_request_release(struct lbroute_router *router, struct lbr_ask *ask);

/* Publishes the block sizes of a pool for lbr_request_foresee(). */
void lbr_request_publish(struct lbroute_router *router,
                         const struct lbr_pool *pool);

#endif
