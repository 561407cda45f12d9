/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "base/hash.h"
#include "base/text.h"
#include "state/router.h"

#include <math.h>

void lbroute_kv_event_init(lbroute_kv_event *event, size_t size)
{
    lbroute_kv_event defaults = {0};

    defaults.medium = LBROUTE_MEDIUM_ANY;
    lbr_abi_init(event, size, &defaults, sizeof defaults);
}

void lbroute_kv_batch_init(lbroute_kv_batch *batch, size_t size)
{
    lbroute_kv_batch defaults = {0};

    defaults.seq = UINT64_MAX;
    defaults.timestamp = (double)NAN;
    lbr_abi_init(batch, size, &defaults, sizeof defaults);
}

void lbroute_kv_result_init(lbroute_kv_result *result, size_t size)
{
    lbroute_kv_result defaults = {0};

    lbr_abi_init(result, size, &defaults, sizeof defaults);
}

void lbroute_kv_source_stats_init(lbroute_kv_source_stats *stats, size_t size)
{
    lbroute_kv_source_stats defaults = {0};

    lbr_abi_init(stats, size, &defaults, sizeof defaults);
}

uint64_t lbroute_kv_fold_key(uint64_t digest, const void *key, size_t key_len)
{
    uint64_t folded;

    if (lbr_text_broken(key, key_len))
        return digest;
    folded = lbr_hash_pair(digest, lbr_hash_seeded(key, key_len, 3));
    return folded ? folded : 1;
}

int lbroute_kv_apply(lbroute_router *router, lbroute_target target,
                     uint32_t source, const lbroute_kv_batch *batch,
                     uint64_t now, lbroute_kv_result *result)
{
    (void)router, (void)target, (void)source, (void)batch, (void)now,
        (void)result;
    return LBROUTE_ERR_UNSUPPORTED;
}

int lbroute_kv_clear(lbroute_router *router, lbroute_target target,
                     uint32_t source, uint64_t now)
{
    (void)router, (void)target, (void)source, (void)now;
    return LBROUTE_ERR_UNSUPPORTED;
}

int lbroute_kv_missing(lbroute_router *router, lbroute_target target,
                       uint32_t source, uint64_t *first, uint64_t *last)
{
    (void)router, (void)target, (void)source, (void)first, (void)last;
    return LBROUTE_ERR_UNSUPPORTED;
}

int lbroute_get_kv_source_stats(lbroute_router *router, lbroute_target target,
                                uint32_t source, uint64_t now,
                                lbroute_kv_source_stats *stats)
{
    (void)router, (void)target, (void)source, (void)now, (void)stats;
    return LBROUTE_ERR_UNSUPPORTED;
}

int lbroute_kv_source_next(lbroute_router *router, lbroute_target target,
                           int64_t previous, uint32_t *source)
{
    (void)router, (void)target, (void)previous, (void)source;
    return LBROUTE_ERR_UNSUPPORTED;
}
