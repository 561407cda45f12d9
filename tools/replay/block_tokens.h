/* SPDX-License-Identifier: MIT */
/*
 * Token ids of blocks. A trace says which blocks are equal, not what stands in
 * them; here equal blocks get equal token ids, and different ones others, out
 * of a vocabulary of 131,072.
 */
#ifndef LBROUTE_REPLAY_BLOCK_TOKENS_H
#define LBROUTE_REPLAY_BLOCK_TOKENS_H

#include "workload.h"

#include <stddef.h>
#include <stdint.h>

/** Writes the first `count` token ids of a block with this content. */
void block_tokens_write(const struct workload *workload, uint32_t id,
                        uint32_t *tokens, size_t count);

/** Writes the prompt of a request: its `input_tokens`. */
void block_tokens_prompt(const struct workload *workload, size_t request,
                         uint32_t *tokens);

#endif
