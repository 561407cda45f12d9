/* SPDX-License-Identifier: MIT */
/* The sizes of blocks in a pool, as KV events say: up to four, each in 16 bits,
 * ascending from the lowest bits on, 0 where there are fewer. Prompts are cut
 * into blocks of each. */
#ifndef LBR_STATE_KV_SIZES_H
#define LBR_STATE_KV_SIZES_H

#include <stdint.h>

#define LBR_KV_SIZES 4U
#define LBR_KV_LARGEST_SIZE 65535U

struct lbr_pool;

static inline uint32_t lbr_kv_size(uint64_t sizes, unsigned which)
{
    return (uint32_t)(sizes >> 16 * which) & LBR_KV_LARGEST_SIZE;
}

/* |sizes| with another one, unless it is there, of no use, or one too many. */
uint64_t lbr_kv_sizes_add(uint64_t sizes, uint32_t size);

/* Finds out which sizes the sources of a pool's targets use. */
void lbr_kv_sizes_renew(struct lbr_pool *pool);

#endif
