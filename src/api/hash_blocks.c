/* SPDX-License-Identifier: MIT */
#include "base/blocks.h"
#include "base/text.h"

int lbroute_hash_blocks(const void *symbols, size_t count, size_t symbol_size,
                        size_t block_size, uint64_t *blocks, size_t capacity,
                        size_t *block_count)
{
    size_t complete;

    if (!block_count || lbr_text_broken(symbols, count) ||
        lbr_text_broken(blocks, capacity))
        return LBROUTE_ERR_INVALID;
    if (symbol_size != 1 && symbol_size != 4 && symbol_size != 8)
        return LBROUTE_ERR_RANGE;
    if (!block_size || block_size > SIZE_MAX / symbol_size)
        return LBROUTE_ERR_RANGE;
    complete = count / block_size;
    *block_count = complete;
    if (complete > capacity)
        return LBROUTE_ERR_BUFFER;
    if (complete)
        lbr_blocks_hash(symbols, block_size * symbol_size, complete, blocks);
    return LBROUTE_OK;
}
