/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "state/delta.h"

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
    lbroute_delta_stats stats = {0};
    const struct lbr_sharing *sharing;

    if (!router || !lbr_abi_valid(out))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    sharing = &router->sharing;
    stats.origin = sharing->origin;
    stats.exported = sharing->exported;
    stats.pending = sharing->news.count;
    stats.dropped = sharing->news.dropped;
    stats.applied = sharing->applied;
    stats.repeated = sharing->repeated;
    stats.peers = lbr_peers_counting(&sharing->peers,
                                     now > router->clock ? now : router->clock);
    (void)lbr_router_leave(router, LBROUTE_OK);
    return lbr_abi_write(out, &stats, sizeof stats);
}

static int export(struct lbroute_router *router, struct lbr_writer *writer,
                  size_t *needed)
{
    struct lbr_delta_content content;
    int result = lbr_delta_choose(router, writer->capacity, &content);

    *needed = content.bound;
    if (!result) {
        router->sharing.exported++;
        lbr_delta_write(router, writer, &content);
        lbr_news_collected(&router->sharing.news, content.collected);
    }
    lbr_delta_content_free(router, &content);
    return result;
}

int lbroute_delta_export(lbroute_router *router, uint64_t now, void *bytes,
                         size_t capacity, size_t *len)
{
    struct lbr_writer writer = {bytes, capacity, 0, 0};
    size_t needed;
    int result;

    if (!router || !len || lbr_text_broken(bytes, capacity))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    writer.now = router->clock;
    result = export(router, &writer, &needed);
    (void)lbr_router_leave(router, result);
    if (result == LBROUTE_ERR_BUFFER)
        *len = needed;
    else if (!result)
        *len = writer.length;
    return result;
}

int lbroute_delta_apply(lbroute_router *router, const void *bytes, size_t len,
                        uint64_t now, uint64_t elapsed,
                        lbroute_delta_result *out)
{
    struct lbr_delta_reading reading;
    lbroute_delta_result result = {0};
    int code;

    if (!router || !bytes || (out && !lbr_abi_valid(out)))
        return LBROUTE_ERR_INVALID;
    code = lbr_delta_check(&reading, bytes, len);
    if (code)
        return code;
    result.origin = reading.origin;
    result.sequence = reading.sequence;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    code = lbr_delta_take(&reading, router, bytes, len, elapsed, &result);
    (void)lbr_router_leave(router, code);
    if (code || !out)
        return code;
    return lbr_abi_write(out, &result, sizeof result);
}
