/* SPDX-License-Identifier: MIT */
/* How a group compares prompts. */
#ifndef LBR_STATE_COMPARISON_H
#define LBR_STATE_COMPARISON_H

#include <stdint.h>

/* What a group's trie compares, and who pays for it. */
enum lbr_trie_kind {
    LBR_TRIE_BYTES,  /* the symbols themselves, budgets in bytes */
    LBR_TRIE_BLOCKS, /* hashes of blocks, budgets in bytes */
    LBR_TRIE_SHARED  /* hashes of blocks, capacity shared among clients */
};

/* What must be the same where symbols are to mean the same. */
struct lbr_comparison {
    uint8_t kind;                       /* enum lbr_trie_kind */
    uint64_t block_bytes, block_tokens; /* 0: bytes are compared */
};

static inline int lbr_comparison_same(const struct lbr_comparison *a,
                                      const struct lbr_comparison *b)
{
    return a->kind == b->kind && a->block_bytes == b->block_bytes &&
           a->block_tokens == b->block_tokens;
}

#endif
