/* SPDX-License-Identifier: MIT */
/* Prompts as hashes of their blocks. */
#ifndef LBR_BASE_BLOCKS_H
#define LBR_BASE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* Symbols in a block, by what the prompt is given as. */
struct lbr_block_sizes {
    uint32_t bytes;  /* of text */
    uint32_t tokens; /* token ids */
};

/* Hashes the first |count| blocks of |block_bytes| each. */
void lbr_blocks_hash(const void *symbols, size_t block_bytes, size_t count,
                     uint64_t *hashes);

#endif
