/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "policy/chains.h"
#include "state/snapshot.h"

void lbroute_restore_result_init(lbroute_restore_result *result, size_t size)
{
    lbroute_restore_result defaults = {0};

    lbr_abi_init(result, size, &defaults, sizeof defaults);
}

int lbroute_snapshot(lbroute_router *router, uint64_t now, void *bytes,
                     size_t capacity, size_t *len)
{
    struct lbr_writer writer = {bytes, capacity, 0, now};
    int result;

    if (!router || !len || lbr_text_broken(bytes, capacity))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    if (writer.now < router->clock)
        writer.now = router->clock;
    result = lbr_snapshot_save(router, &writer);
    (void)lbr_router_leave(router, result);
    if (result)
        return result;
    *len = writer.length;
    return writer.length > capacity ? LBROUTE_ERR_BUFFER : LBROUTE_OK;
}

/* Prompts of pools with KV events are cut as the engines cut them. */
static void publish_sizes(struct lbroute_router *router)
{
    struct lbr_pool *pool = NULL;

    while ((pool = lbr_slab_next(&router->pools,
                                 pool ? pool->slot.handle : 0)) != NULL)
        lbr_chains_publish(router, pool);
}

static int restore(struct lbroute_router *router, const void *bytes, size_t len,
                   uint64_t now, uint64_t elapsed,
                   lbroute_restore_result *result)
{
    int code;

    lbr_router_enter(router);
    lbr_router_advance(router, now);
    code =
        lbr_snapshot_load(router, bytes, len, router->clock, elapsed, result);
    if (!code)
        publish_sizes(router);
    return lbr_router_leave(router, code);
}

int lbroute_restore(lbroute_router *router, const void *bytes, size_t len,
                    uint64_t now, uint64_t elapsed, lbroute_restore_result *out)
{
    lbroute_restore_result result;
    int code;

    if (!router || !bytes || (out && !lbr_abi_valid(out)))
        return LBROUTE_ERR_INVALID;
    code = lbr_snapshot_check(bytes, len);
    if (code)
        return code;
    lbroute_restore_result_init(&result, sizeof result);
    code = restore(router, bytes, len, now, elapsed, &result);
    if (code || !out)
        return code;
    return lbr_abi_write(out, &result, sizeof result);
}
