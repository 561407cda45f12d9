/* SPDX-License-Identifier: MIT */
/* From a public request to a checked one; without the lock. */
#ifndef LBR_POLICY_REQUEST_H
#define LBR_POLICY_REQUEST_H

#include "policy/pick.h"

/* Checks |request| and digests its keys. A struct of another size is completed
 * in |copy|, which must live as long as |ask|. Returns 0 or an error code. */
int lbr_request_read(const struct lbroute_router *router,
                     const lbroute_request *request, lbroute_request *copy,
                     struct lbr_ask *ask);

/* Hashes the key of the ring, once it turns out to be needed. */
void lbr_request_hash_key(struct lbr_ask *ask);

#endif
