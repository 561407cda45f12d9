/* SPDX-License-Identifier: MIT */
#include "routers.h"

#include "grow.h"

#include <math.h>
#include <stdlib.h>

/* Separate the draws of routers from the others of a seed. */
#define BALANCE_STREAM UINT64_C(0x62616c61)
#define SESSION_STREAM UINT64_C(0x73657373)

/* Between the seeds of two routers: 2^64 over the golden ratio. */
#define SEED_STEP UINT64_C(0x9e3779b97f4a7c15)

/* Room for what a router has not told yet: seconds of long prompts. */
#define DELTA_BYTES (UINT64_C(16) << 20)

/* The load that others told of counts for so many intervals, at least 5 s. */
#define TTL_INTERVALS 5.0
#define LEAST_TTL_S 5.0

bool routers_share(const struct routers_options *options)
{
    return options->count > 1 && options->how == ROUTERS_DELTAS;
}

static struct host_sharing sharing(const struct routers *routers)
{
    double ttl_s =
        fmax(LEAST_TTL_S, TTL_INTERVALS * routers->options->interval_s);
    struct host_sharing sharing = {
        .origin = routers->started + UINT64_C(1),
        .peers = 2 * routers->count,
        .delta_bytes = DELTA_BYTES,
        .ttl_ns = (uint64_t)llround(ttl_s * 1e9),
    };

    return sharing;
}

/* Starts a router in place of the one with this number, or as the first. */
static void start(struct routers *routers, uint32_t which, uint64_t seed)
{
    struct host_options options = routers->host;
    struct host *host;

    options.seed = seed + which * SEED_STEP;
    if (routers->count > 1)
        options.keeps_digest_key = true;
    if (routers_share(routers->options))
        options.sharing = sharing(routers);
    host = host_create(&options, routers->workload);
    if (routers->events != NULL)
        host_watch_events(host, routers->events, routers->events_context);
    routers->hosts[which] = host;
    routers->started++;
}

void routers_init(struct routers *routers,
                  const struct routers_options *options,
                  const struct host_options *host,
                  const struct workload *workload)
{
    *routers =
        (struct routers){.options = options,
                         .host = *host,
                         .workload = workload,
                         .count = options->count > 0 ? options->count : 1};
    routers->draw = draw_start(host->seed, BALANCE_STREAM);
    routers->hosts = grow_zeroed(routers->count, sizeof *routers->hosts);
    vllm_page_init(&routers->page, workload->adapters);
    delta_mail_init(&routers->mail, options->loss, host->seed);
    for (uint32_t i = 0; i < routers->count; i++)
        start(routers, i, host->seed);
}

void routers_release(struct routers *routers)
{
    for (uint32_t i = 0; i < routers->count; i++)
        host_destroy(routers->hosts[i]);
    delta_mail_release(&routers->mail);
    vllm_page_release(&routers->page);
    free(routers->hosts);
}

bool routers_are_peers(const struct routers *routers)
{
    return host_is_peer(routers->hosts[0]);
}

static uint32_t choose_by_session(struct routers *routers,
                                  const struct work_request *request,
                                  uint32_t before)
{
    struct draw draw;

    if (request->session == 0)
        return before != ROUTERS_NOBODY
                   ? before
                   : draw_below(&routers->draw, routers->count);
    draw = draw_start(request->session, SESSION_STREAM);
    return draw_below(&draw, routers->count);
}

uint32_t routers_choose(struct routers *routers,
                        const struct work_request *request, uint32_t before)
{
    switch (routers->options->balance) {
    case ROUTERS_ROUND_ROBIN:
        return routers->turn++ % routers->count;
    case ROUTERS_SESSION:
        return choose_by_session(routers, request, before);
    case ROUTERS_RANDOM:
        break;
    }
    return draw_below(&routers->draw, routers->count);
}

size_t routers_restart(struct routers *routers, uint32_t which,
                       bool with_snapshot, uint64_t now)
{
    struct host *old = routers->hosts[which];
    size_t length = 0;
    void *bytes = NULL;

    if (with_snapshot && !host_is_peer(old))
        bytes = host_snapshot(old, now, &length);
    if (routers_share(routers->options))
        delta_mail_count(&routers->mail, old, now);
    host_destroy(old);
    start(routers, which, routers->host.seed + 1);
    if (bytes != NULL)
        host_restore(routers->hosts[which], bytes, length, now);
    free(bytes);
    return length;
}

size_t routers_write(struct routers *routers, uint32_t which, uint64_t now)
{
    return delta_mail_write(&routers->mail, routers->hosts[which], which, now);
}

void routers_deliver(struct routers *routers, uint64_t now)
{
    delta_mail_deliver(&routers->mail, routers->hosts, routers->count, now);
}

static void gauge(struct routers *routers, uint32_t target,
                  const struct engine *engine, uint64_t now)
{
    struct peer_gauges gauges = {engine_running(engine), engine_waiting(engine),
                                 engine_kv_usage(engine),
                                 engine_blocks(engine)};

    for (uint32_t i = 0; i < routers->count; i++)
        host_gauge(routers->hosts[i], target, &gauges, now);
}

/* Peers are told what is on the page. */
void routers_scrape(struct routers *routers, uint32_t target,
                    const struct engine *engine, uint64_t now)
{
    if (routers_are_peers(routers)) {
        gauge(routers, target, engine, now);
        return;
    }
    vllm_page_write(&routers->page, engine, now);
    for (uint32_t i = 0; i < routers->count; i++)
        host_scrape(routers->hosts[i], target, routers->page.text,
                    routers->page.length, now);
}

void routers_watch_events(struct routers *routers, peer_events_run run,
                          void *context)
{
    routers->events = run;
    routers->events_context = context;
    for (uint32_t i = 0; i < routers->count; i++)
        host_watch_events(routers->hosts[i], run, context);
}

void routers_kv_events(struct routers *routers, uint32_t target, uint64_t seq,
                       const void *payload, size_t length, uint64_t now)
{
    for (uint32_t i = 0; i < routers->count; i++)
        host_kv_events(routers->hosts[i], target, seq, payload, length, now);
}

bool routers_kv_missing(const struct routers *routers, uint32_t target,
                        uint64_t *first)
{
    uint64_t own;
    bool missing = false;

    *first = UINT64_MAX;
    for (uint32_t i = 0; i < routers->count; i++) {
        if (!host_kv_missing(routers->hosts[i], target, &own))
            continue;
        missing = true;
        if (own < *first)
            *first = own;
    }
    return missing;
}

bool routers_kv_clear(struct routers *routers, uint32_t target, uint64_t now)
{
    uint64_t first;
    bool all = true;

    for (uint32_t i = 0; i < routers->count; i++) {
        if (host_kv_missing(routers->hosts[i], target, &first))
            host_kv_clear(routers->hosts[i], target, now);
        else
            all = false;
    }
    return all;
}

void routers_kv_count(const struct routers *routers, uint64_t now,
                      struct host_kv_counts *counts)
{
    struct host_kv_counts own;

    *counts = (struct host_kv_counts){0};
    for (uint32_t i = 0; i < routers->count; i++) {
        host_kv_count(routers->hosts[i], now, &own);
        counts->batches += own.batches;
        counts->gaps += own.gaps;
        counts->restarts += own.restarts;
        counts->duplicates += own.duplicates;
        counts->evicted += own.evicted;
    }
}

struct delta_counts routers_delta_counts(struct routers *routers, uint64_t now)
{
    if (routers_share(routers->options))
        for (uint32_t i = 0; i < routers->count; i++)
            delta_mail_count(&routers->mail, routers->hosts[i], now);
    return routers->mail.counts;
}
