/* SPDX-License-Identifier: MIT */
/* Copies of a block, by medium. */
#ifndef LBR_MODELS_KV_INDEX_COPIES_H
#define LBR_MODELS_KV_INDEX_COPIES_H

#include "models/kv_index_labels.h"

/* One copy more in |medium|; at most one, unless they are |counted|. */
static inline void lbr_kv_copies_add(uint8_t copies[LBR_KV_MEDIA],
                                     unsigned medium, int counted)
{
    if (!copies[medium] || (counted && copies[medium] < UINT8_MAX))
        copies[medium]++;
}

/* None in |medium|, or in all (LBR_KV_MEDIA); one less if they are |counted|.
 * Returns the number of media that have lost their last one. */
static inline uint32_t lbr_kv_copies_remove(uint8_t copies[LBR_KV_MEDIA],
                                            unsigned medium, int counted)
{
    unsigned each = medium < LBR_KV_MEDIA ? medium : 0;
    unsigned end = medium < LBR_KV_MEDIA ? medium + 1 : LBR_KV_MEDIA;
    uint32_t left = 0;

    for (; each < end; each++) {
        if (!copies[each])
            continue;
        copies[each] = counted ? (uint8_t)(copies[each] - 1) : 0;
        left += (uint32_t)(copies[each] == 0);
    }
    return left;
}

static inline int lbr_kv_copies_any(const uint8_t copies[LBR_KV_MEDIA])
{
    return copies[0] || copies[1] || copies[2];
}

#endif
