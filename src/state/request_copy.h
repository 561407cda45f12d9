/* SPDX-License-Identifier: MIT */
/* A request of its own, with everything that it points to, in one piece:
 *
 *     | bytes, request | exclusions, tokens, … | strings, items' names |
 */
#ifndef LBR_STATE_REQUEST_COPY_H
#define LBR_STATE_REQUEST_COPY_H

#include "base/memory.h"

struct lbr_request_copy {
    size_t bytes; /* of all of it */
    lbroute_request request;
};

/* Size of a copy of |request|, with its prompt or without; 0: no number is
 * large enough. */
size_t lbr_request_copy_size(const lbroute_request *request, int with_prompt);

/* Fills in a copy of that size. Without its prompt the request says how long
 * it is by |input_tokens| (-1: unknown). */
void lbr_request_copy_fill(struct lbr_request_copy *copy,
                           const lbroute_request *request, int with_prompt,
                           int64_t input_tokens);

#endif
