/* SPDX-License-Identifier: MIT */
#include "base/blocks.h"

#include "base/hash.h"

void lbr_blocks_hash(const void *symbols, size_t block_bytes, size_t count,
                     uint64_t *hashes)
{
    const unsigned char *block = symbols;
    size_t i;

    for (i = 0; i < count; i++, block += block_bytes)
        hashes[i] = lbr_hash(block, block_bytes);
}
