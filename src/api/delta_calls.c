/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "state/router.h"

void lbroute_delta_result_init(lbroute_delta_result *result, size_t size)
{
    lbroute_delta_result defaults = {0};

    lbr_abi_init(result, size, &defaults, sizeof defaults);
}

void lbroute_delta_stats_init(lbroute_delta_stats *stats, size_t size)
{
    lbroute_delta_stats defaults = {0};

    lbr_abi_init(stats, size, &defaults, sizeof defaults);
}

int lbroute_get_delta_stats(lbroute_router *router, uint64_t now,
                            lbroute_delta_stats *out)
{
    (void)now;
    return router && out ? LBROUTE_OK : LBROUTE_ERR_INVALID;
}

int lbroute_delta_export(lbroute_router *router, uint64_t now, void *bytes,
                         size_t capacity, size_t *len)
{
    (void)now;
    (void)bytes;
    (void)capacity;
    if (!router || !len)
        return LBROUTE_ERR_INVALID;
    *len = 0;
    return LBROUTE_OK;
}

int lbroute_delta_apply(lbroute_router *router, const void *bytes, size_t len,
                        uint64_t now, uint64_t elapsed,
                        lbroute_delta_result *out)
{
    (void)len;
    (void)now;
    (void)elapsed;
    (void)out;
    return router && bytes ? LBROUTE_OK : LBROUTE_ERR_INVALID;
}
