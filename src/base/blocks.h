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

/* Hash of what stands in a block that has an extra key (0: it has none). */
uint64_t lbr_block_content(uint64_t hash, uint64_t extra_key);

/* Folds an identifier into the extra key of a block, 0 to begin; never 0. The
 * same in two steps, the first of which reads the identifier. */
uint64_t lbr_block_fold(uint64_t extra_key, const void *id, size_t length);
uint64_t lbr_block_id(const void *id, size_t length);
uint64_t lbr_block_fold_id(uint64_t extra_key, uint64_t id);

/* Key of the prompts that begin under a LoRA adapter (empty: none). */
uint64_t lbr_block_root(uint64_t secret, const char *adapter, size_t length);

/* Hashes the first |count| blocks of |block_bytes| each. */
void lbr_blocks_hash(const void *symbols, size_t block_bytes, size_t count,
                     uint64_t *hashes);

#endif
