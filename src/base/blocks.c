/* SPDX-License-Identifier: MIT */
#include "base/blocks.h"

#include "base/hash.h"

uint64_t lbr_block_content(uint64_t hash, uint64_t extra_key)
{
    return extra_key ? lbr_hash_pair(hash, extra_key) : hash;
}

uint64_t lbr_block_id(const void *id, size_t length)
{
    return lbr_hash_seeded(id, length, 3);
}

uint64_t lbr_block_fold_id(uint64_t extra_key, uint64_t id)
{
    uint64_t folded = lbr_hash_pair(extra_key, id);

    return folded ? folded : 1;
}

uint64_t lbr_block_fold(uint64_t extra_key, const void *id, size_t length)
{
    return lbr_block_fold_id(extra_key, lbr_block_id(id, length));
}

uint64_t lbr_block_root(uint64_t secret, const char *adapter, size_t length)
{
    return lbr_hash_pair(secret,
                         length ? lbr_hash_seeded(adapter, length, 1) : 0);
}

void lbr_blocks_hash(const void *symbols, size_t block_bytes, size_t count,
                     uint64_t *hashes)
{
    const unsigned char *block = symbols;
    size_t i;

    for (i = 0; i < count; i++, block += block_bytes)
        hashes[i] = lbr_hash(block, block_bytes);
}
