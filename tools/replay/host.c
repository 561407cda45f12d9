/* SPDX-License-Identifier: MIT */
#include "host.h"

#include "block_tokens.h"
#include "grow.h"
#include "peers/peer_host.h"
#include "tell.h"
#include "workload_adapters.h"
#include "workload_clients.h"

#include <lbroute/ingest.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No request may expire: an overloaded fleet answers hours later. */
static const uint64_t ticket_ttl_ns = UINT64_C(1000000000) * 1000000000;

/** Largest value of `kv_aware.capacity`. */
#define MOST_BLOCKS 16777216

struct host {
    struct peer_host *peer; /* It chooses, and there is no router; or NULL. */
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target *targets;
    uint32_t *numbers; /* numbers[i] is i; the targets' user pointers. */
    size_t target_count;
    uint64_t *blocks; /* Of the request that is asked for. */
    uint32_t *tokens; /* Of the same, where the router gets them; else NULL. */
    char adapter[ADAPTER_NAME_MAX]; /* Of the same. */
    uint64_t deadline_ns;           /* From arrival on; 0: none. */
    lbroute_decision decision;
};

void host_require(int result, const char *call)
{
    if (result == LBROUTE_OK)
        return;
    tell_and_stop("%s: %s", call, lbroute_strerror(result));
}

static void share(const struct host_sharing *sharing,
                  lbroute_router_options *router)
{
    router->origin = sharing->origin;
    router->max_peers = sharing->peers;
    router->max_delta_bytes = sharing->delta_bytes;
    router->peer_ttl = sharing->ttl_ns;
}

static void create_router(struct host *host, const struct host_options *options)
{
    lbroute_router_options router;

    lbroute_router_options_init(&router, sizeof router);
    router.seed = options->seed;
    router.ticket_ttl = ticket_ttl_ns;
    router.max_tickets = (uint32_t)options->max_requests;
    router.single_threaded = 1;
    if (options->keeps_digest_key)
        memset(router.digest_key, 1, sizeof router.digest_key);
    if (options->sharing.origin != 0)
        share(&options->sharing, &router);
    host_require(lbroute_router_create(&router, &host->router), "router");
}

static void set_parameter(struct host *host, const char *name, double value)
{
    host_require(lbroute_pool_set(host->router, host->pool, name, value), name);
}

/* Blocks that the smallest cache has room for. Of text, a block is 256 bytes,
 * which count as 64 tokens. */
static double smallest_cache(const struct fleet_spec *fleet,
                             const struct workload *workload)
{
    uint32_t block = workload->text_count > 0 ? 64 : workload->block_tokens;
    uint64_t tokens = UINT64_MAX;

    for (size_t i = 0; i < fleet->count; i++)
        if (fleet->targets[i].cache_tokens < tokens)
            tokens = fleet->targets[i].cache_tokens;
    return floor(fmin((double)tokens / block, MOST_BLOCKS));
}

static bool is_of_peer(const char *name)
{
    return strncmp(name, PEER_PREFIX, strlen(PEER_PREFIX)) == 0;
}

static void create_pool(struct host *host, const struct host_options *options,
                        const struct workload *workload)
{
    lbroute_pool_options pool;

    lbroute_pool_options_init(&pool, sizeof pool);
    pool.name = "fleet";
    pool.name_len = strlen(pool.name);
    pool.strategy = options->strategy;
    pool.strategy_len = strlen(options->strategy);
    host_require(lbroute_pool_add(host->router, &pool, &host->pool), "pool");
    set_parameter(host, "kv_aware.capacity",
                  smallest_cache(options->fleet, workload));
    if (options->tokens)
        set_parameter(host, "prefix.block_tokens", workload->block_tokens);
    for (size_t i = 0; i < options->parameter_count; i++)
        if (!is_of_peer(options->parameters[i].name))
            set_parameter(host, options->parameters[i].name,
                          options->parameters[i].value);
}

static void create_target(struct host *host, const struct fleet_target *from,
                          uint32_t number)
{
    lbroute_target_options target;

    host->numbers[number] = number;
    lbroute_target_options_init(&target, sizeof target);
    target.name = from->name;
    target.name_len = strlen(from->name);
    target.pool = host->pool;
    target.weight = from->weight;
    target.max_concurrency = from->limit;
    target.user = &host->numbers[number];
    target.price_key = from->price_key;
    target.price_key_len = strlen(from->price_key);
    if (from->price != NULL)
        host_require(lbroute_set_price(host->router, target.price_key,
                                       target.price_key_len, from->price),
                     from->price_key);
    host_require(
        lbroute_target_add(host->router, &target, 0, &host->targets[number]),
        from->name);
}

static size_t longest_prompt(const struct workload *workload)
{
    size_t longest = 1;

    for (size_t i = 0; i < workload->count; i++)
        if (workload->requests[i].prompt_ids > longest)
            longest = workload->requests[i].prompt_ids;
    return longest;
}

static size_t longest_input(const struct workload *workload)
{
    size_t longest = 0;

    for (size_t i = 0; i < workload->count; i++)
        if (workload->requests[i].input_tokens > longest)
            longest = workload->requests[i].input_tokens;
    return longest;
}

static struct peer_host *create_peer(const struct host_options *options,
                                     const struct workload *workload)
{
    struct peer_host_options peer = {
        .rule = peer_rule_find(options->strategy, strlen(options->strategy)),
        .fleet = options->fleet,
        .parameters = options->parameters,
        .parameter_count = options->parameter_count,
        .seed = options->seed,
    };

    return peer.rule != NULL ? peer_host_create(&peer, workload) : NULL;
}

struct host *host_create(const struct host_options *options,
                         const struct workload *workload)
{
    struct host *host = grow_zeroed(1, sizeof *host);
    size_t count = options->fleet->count;

    host->peer = create_peer(options, workload);
    if (host->peer != NULL)
        return host;
    host->targets = grow_zeroed(count, sizeof *host->targets);
    host->numbers = grow_zeroed(count, sizeof *host->numbers);
    host->target_count = count;
    host->blocks = grow_zeroed(longest_prompt(workload), sizeof *host->blocks);
    if (options->tokens)
        host->tokens =
            grow_zeroed(longest_input(workload), sizeof *host->tokens);
    host->deadline_ns = (uint64_t)llround(options->deadline_s * 1e9);
    lbroute_decision_init(&host->decision, sizeof host->decision);
    create_router(host, options);
    create_pool(host, options, workload);
    for (uint32_t i = 0; i < count; i++)
        create_target(host, &options->fleet->targets[i], i);
    if (options->extend != NULL)
        host_require(
            options->extend(options->extend_context, host->router, host->pool),
            "the caller's own strategy");
    return host;
}

void host_destroy(struct host *host)
{
    if (host == NULL)
        return;
    peer_host_destroy(host->peer);
    lbroute_router_destroy(host->router);
    free(host->targets);
    free(host->numbers);
    free(host->blocks);
    free(host->tokens);
    free(host);
}

lbroute_router *host_router(const struct host *host)
{
    return host->router;
}

void *host_snapshot(struct host *host, uint64_t now, size_t *length)
{
    void *bytes;

    (void)lbroute_snapshot(host->router, now, NULL, 0, length);
    bytes = grow_zeroed(*length, 1);
    host_require(lbroute_snapshot(host->router, now, bytes, *length, length),
                 "snapshot");
    return bytes;
}

void host_restore(struct host *host, const void *bytes, size_t length,
                  uint64_t now)
{
    host_require(lbroute_restore(host->router, bytes, length, now, 0, NULL),
                 "restore");
}

/* The prompt is the text where the trace has it. Else its content stands for
 * it: equal heads are equal bytes. Either is also what tells requests apart
 * where no session is known; of a very short one that is its number. */
static void describe_prompt(const struct host *host,
                            const struct workload *workload,
                            const uint32_t *number, lbroute_request *request)
{
    const struct work_request *from = &workload->requests[*number];

    if (host->tokens != NULL) {
        block_tokens_prompt(workload, *number, host->tokens);
        request->tokens = host->tokens;
        request->tokens_len = from->input_tokens;
    } else if (from->text_length > 0) {
        request->prompt = workload->text + from->text_at;
        request->prompt_len = from->text_length;
    } else if (from->prompt_ids > 0) {
        for (uint32_t i = 0; i < from->prompt_ids; i++)
            host->blocks[i] = workload->ids[from->first_id + i];
        request->blocks = host->blocks;
        request->blocks_len = from->prompt_ids;
    } else {
        request->conversation = number;
        request->conversation_len = sizeof *number;
    }
}

static void describe_adapter(struct host *host, uint32_t adapter,
                             lbroute_request *request)
{
    if (adapter == 0)
        return;
    adapter_name(adapter, host->adapter);
    request->adapter = host->adapter;
    request->adapter_len = strlen(host->adapter);
}

static void describe_client(const struct workload *workload, uint32_t client,
                            lbroute_request *request)
{
    if (client == 0)
        return;
    request->client = workload->clients->clients[client - 1].name;
    request->client_len = strlen(request->client);
}

static void describe(struct host *host, const struct workload *workload,
                     const uint32_t *number, uint64_t now,
                     lbroute_request *request)
{
    const struct work_request *from = &workload->requests[*number];

    lbroute_request_init(request, sizeof *request);
    request->pool = host->pool;
    request->input_tokens = from->input_tokens;
    if (from->session != 0) {
        request->session = &from->session;
        request->session_len = sizeof from->session;
    }
    request->tag = *number;
    request->priority = from->priority;
    if (host->deadline_ns > 0)
        request->deadline = now + host->deadline_ns;
    describe_client(workload, from->client, request);
    describe_adapter(host, (uint32_t)from->adapter, request);
    describe_prompt(host, workload, number, request);
}

static int64_t kv_matched(const lbroute_decision *decision)
{
    int64_t blocks = 0;

    for (int i = 0; i < LBROUTE_MEDIUM_COUNT; i++) {
        if (decision->kv_blocks[i] < 0)
            return -1;
        blocks += decision->kv_blocks[i];
    }
    return blocks;
}

static void note_target(const lbroute_decision *decision,
                        struct host_picked *picked)
{
    picked->target = *(const uint32_t *)decision->user;
    picked->ticket = decision->ticket;
    picked->expected_first_ns = decision->expected_ttft_ns;
    picked->kv_matched = kv_matched(decision);
}

/* What the router says of the request in its decision. */
static enum host_answer read_answer(const struct host *host, int result,
                                    const char *call,
                                    struct host_picked *picked)
{
    const lbroute_decision *decision = &host->decision;

    picked->request = (uint32_t)decision->tag;
    picked->reason = decision->reason;
    picked->wait_ns = decision->wait_ns;
    if (result == LBROUTE_ERR_QUEUED)
        return HOST_QUEUED;
    if (result == LBROUTE_ERR_SATURATED)
        return decision->reason == LBROUTE_REASON_SATURATED ? HOST_FULL
                                                            : HOST_REFUSED;
    if (result == LBROUTE_ERR_NO_TARGET)
        return HOST_REFUSED;
    host_require(result, call);
    note_target(decision, picked);
    return HOST_PICKED;
}

/* The ticket of a peer's choice is the request. */
static enum host_answer ask_peer(struct host *host, uint32_t number,
                                 uint64_t now, struct host_picked *picked)
{
    *picked = (struct host_picked){.request = number,
                                   .ticket = number,
                                   .reason = LBROUTE_REASON_SATURATED,
                                   .wait_ns = -1,
                                   .expected_first_ns = -1,
                                   .kv_matched = -1};
    if (peer_host_pick(host->peer, number, now, &picked->target)) {
        picked->reason = LBROUTE_REASON_NONE;
        return HOST_PICKED;
    }
    if (!peer_host_is_drained(host->peer))
        return HOST_FULL;
    picked->reason = LBROUTE_REASON_DRAINING;
    return HOST_REFUSED;
}

enum host_answer host_pick(struct host *host, const struct workload *workload,
                           uint32_t number, uint64_t now,
                           struct host_picked *picked)
{
    lbroute_request request;

    if (host->peer != NULL)
        return ask_peer(host, number, now, picked);
    describe(host, workload, &number, now, &request);
    return read_answer(
        host, lbroute_pick(host->router, &request, now, &host->decision),
        "pick", picked);
}

enum host_answer host_next_ready(struct host *host, uint64_t now,
                                 struct host_picked *picked)
{
    int result = lbroute_next_ready(host->router, now, &host->decision);

    if (result == LBROUTE_ERR_NOT_FOUND)
        return HOST_NOBODY;
    return read_answer(host, result, "next_ready", picked);
}

void host_tick(struct host *host, uint64_t now)
{
    host_require(lbroute_tick(host->router, now), "tick");
}

uint64_t host_next_deadline(struct host *host)
{
    return lbroute_next_deadline(host->router);
}

bool host_is_busy(const struct host *host)
{
    lbroute_pool_stats stats;

    if (host->peer != NULL)
        return false;
    lbroute_pool_stats_init(&stats, sizeof stats);
    host_require(lbroute_get_pool_stats(host->router, host->pool, &stats),
                 "get_pool_stats");
    return stats.busy != 0;
}

uint64_t host_open(const struct host *host)
{
    lbroute_stats stats;

    if (host->peer != NULL)
        return 0;
    lbroute_stats_init(&stats, sizeof stats);
    host_require(lbroute_get_stats(host->router, &stats), "get_stats");
    return stats.open_tickets;
}

void host_succeed(struct host *host, lbroute_ticket ticket,
                  const struct work_request *request, uint32_t cached,
                  uint64_t now)
{
    lbroute_event event;

    if (host->peer != NULL) {
        peer_host_done(host->peer, (uint32_t)ticket, request->output_tokens,
                       now);
        return;
    }
    lbroute_event_init(&event, sizeof event);
    event.ticket = ticket;
    event.kind = LBROUTE_EVENT_SUCCESS;
    event.input_tokens = request->input_tokens;
    event.cached_tokens = cached;
    event.output_tokens = request->output_tokens;
    host_require(lbroute_observe(host->router, &event, now), "observe");
}

static void tell_peer(struct host *host, uint32_t request, int kind,
                      uint64_t now)
{
    if (kind == LBROUTE_EVENT_FIRST_TOKEN)
        peer_host_first_token(host->peer, request, now);
    else
        peer_host_done(host->peer, request, 0, now);
}

void host_observe(struct host *host, lbroute_ticket ticket, int kind,
                  uint64_t now)
{
    lbroute_event event;

    if (host->peer != NULL) {
        tell_peer(host, (uint32_t)ticket, kind, now);
        return;
    }
    lbroute_event_init(&event, sizeof event);
    event.ticket = ticket;
    event.kind = kind;
    host_require(lbroute_observe(host->router, &event, now), "observe");
}

bool host_is_peer(const struct host *host)
{
    return host->peer != NULL;
}

void host_gauge(struct host *host, uint32_t target,
                const struct peer_gauges *gauges, uint64_t now)
{
    peer_host_scrape(host->peer, target, gauges, now);
}

void host_watch_events(struct host *host, peer_events_run run, void *context)
{
    peer_host_watch(host->peer, run, context);
}

void host_scrape(struct host *host, uint32_t target, const char *page,
                 size_t length, uint64_t now)
{
    host_require(lbroute_ingest_metrics(host->router, host->targets[target],
                                        page, length, now, NULL),
                 "ingest_metrics");
}

void host_kv_events(struct host *host, uint32_t target, uint64_t seq,
                    const void *payload, size_t length, uint64_t now)
{
    host_require(lbroute_ingest_kv_events(host->router, host->targets[target],
                                          0, seq, payload, length, now, NULL,
                                          NULL),
                 "ingest_kv_events");
}

bool host_kv_missing(struct host *host, uint32_t target, uint64_t *first)
{
    uint64_t last;

    return lbroute_kv_missing(host->router, host->targets[target], 0, first,
                              &last) == LBROUTE_OK;
}

void host_kv_clear(struct host *host, uint32_t target, uint64_t now)
{
    host_require(lbroute_kv_clear(host->router, host->targets[target], 0, now),
                 "kv_clear");
}

/* Returns false for a target that has never sent events. */
static bool source_stats(struct host *host, size_t target, uint64_t now,
                         lbroute_kv_source_stats *stats)
{
    lbroute_kv_source_stats_init(stats, sizeof *stats);
    return lbroute_get_kv_source_stats(host->router, host->targets[target], 0,
                                       now, stats) == LBROUTE_OK;
}

bool host_kv_unknown(struct host *host, uint64_t now)
{
    lbroute_kv_source_stats stats;

    for (size_t i = 0; i < host->target_count; i++)
        if (source_stats(host, i, now, &stats) &&
            stats.state != LBROUTE_KV_SOURCE_FRESH)
            return true;
    return false;
}

void host_kv_count(struct host *host, uint64_t now,
                   struct host_kv_counts *counts)
{
    lbroute_kv_source_stats stats;

    *counts = (struct host_kv_counts){0};
    for (size_t i = 0; i < host->target_count; i++) {
        if (!source_stats(host, i, now, &stats))
            continue;
        counts->batches += stats.batches;
        counts->gaps += stats.gaps;
        counts->restarts += stats.restarts;
        counts->duplicates += stats.duplicates;
        counts->evicted += stats.evicted;
    }
}
