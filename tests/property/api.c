/* SPDX-License-Identifier: MIT */
#include "api.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

lbroute_router *api_router(uint64_t seed)
{
    lbroute_router_options options;
    lbroute_router_options_init(&options, sizeof options);
    options.seed = seed;
    options.single_threaded = 1;
    lbroute_router *router = NULL;
    CHECK_I(lbroute_router_create(&options, &router), LBROUTE_OK);
    return router;
}

lbroute_pool api_pool(lbroute_router *router, const char *name,
                      const char *strategy)
{
    lbroute_pool_options options;
    lbroute_pool_options_init(&options, sizeof options);
    options.name = name;
    options.name_len = strlen(name);
    options.strategy = strategy;
    options.strategy_len = strlen(strategy);
    lbroute_pool pool = 0;
    CHECK_I(lbroute_pool_add(router, &options, &pool), LBROUTE_OK);
    return pool;
}

void api_set(lbroute_router *router, lbroute_pool pool, const char *name,
             double value)
{
    CHECK_I(lbroute_pool_set(router, pool, name, value), LBROUTE_OK);
}

void api_target_options(lbroute_target_options *options, lbroute_pool pool,
                        const char *name, double weight)
{
    lbroute_target_options_init(options, sizeof *options);
    options->name = name;
    options->name_len = strlen(name);
    options->pool = pool;
    options->weight = weight;
    options->max_concurrency = 0;
}

lbroute_target api_target(lbroute_router *router, lbroute_pool pool,
                          const char *name, double weight)
{
    lbroute_target_options options;
    api_target_options(&options, pool, name, weight);
    lbroute_target target = 0;
    CHECK_I(lbroute_target_add(router, &options, 0, &target), LBROUTE_OK);
    return target;
}

void api_targets(lbroute_router *router, lbroute_pool pool, size_t count,
                 lbroute_target *targets)
{
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "t%zu", i);
        targets[i] = api_target(router, pool, name, 1.0);
    }
}

void api_gauges(lbroute_router *router, lbroute_target target, double running,
                double waiting, uint64_t now)
{
    CHECK_I(
        lbroute_set_gauge(router, target, LBROUTE_GAUGE_RUNNING, running, now),
        LBROUTE_OK);
    CHECK_I(
        lbroute_set_gauge(router, target, LBROUTE_GAUGE_WAITING, waiting, now),
        LBROUTE_OK);
}

void api_request(lbroute_request *request, lbroute_pool pool)
{
    lbroute_request_init(request, sizeof *request);
    request->pool = pool;
}

void api_set_session(lbroute_request *request, const char *session)
{
    request->session = session;
    request->session_len = strlen(session);
}

void api_pick(lbroute_router *router, const lbroute_request *request,
              uint64_t now, lbroute_decision *decision)
{
    lbroute_decision_init(decision, sizeof *decision);
    CHECK_I(lbroute_pick(router, request, now, decision), LBROUTE_OK);
    CHECK(decision->target != 0);
    CHECK(decision->ticket != 0);
}

int api_observe(lbroute_router *router, lbroute_ticket ticket, int kind,
                uint64_t now)
{
    lbroute_event event;
    lbroute_event_init(&event, sizeof event);
    event.ticket = ticket;
    event.kind = kind;
    return lbroute_observe(router, &event, now);
}

void api_settle(lbroute_router *router, lbroute_ticket ticket, int kind,
                uint64_t now)
{
    CHECK_I(api_observe(router, ticket, kind, now), LBROUTE_OK);
}

lbroute_target api_serve(lbroute_router *router, const lbroute_request *request,
                         uint64_t now, int kind)
{
    lbroute_decision decision;
    api_pick(router, request, now, &decision);
    api_settle(router, decision.ticket, kind, now);
    return decision.target;
}

int api_tell(lbroute_router *router, lbroute_target target, uint32_t source,
             uint64_t seq, int kind, uint64_t label, const uint32_t *tokens,
             size_t count, uint64_t now)
{
    uint64_t labels[API_KV_BLOCKS];
    lbroute_kv_event event;
    lbroute_kv_batch batch;
    CHECK(count <= API_KV_BLOCKS * API_KV_SIZE);
    for (size_t i = 0; i < API_KV_BLOCKS; i++)
        labels[i] = label + i;
    lbroute_kv_event_init(&event, sizeof event);
    event.kind = kind;
    event.hashes = labels;
    event.hash_count = count / API_KV_SIZE;
    event.tokens = kind == LBROUTE_KV_STORED ? tokens : NULL;
    event.token_count = kind == LBROUTE_KV_STORED ? count : 0;
    event.block_size = API_KV_SIZE;
    lbroute_kv_batch_init(&batch, sizeof batch);
    batch.seq = seq;
    batch.events = &event;
    batch.event_count = 1;
    return lbroute_kv_apply(router, target, source, &batch, now, NULL);
}

lbroute_target_stats api_target_stats(lbroute_router *router,
                                      lbroute_target target, uint64_t now)
{
    lbroute_target_stats stats;
    lbroute_target_stats_init(&stats, sizeof stats);
    CHECK_I(lbroute_get_target_stats(router, target, now, &stats), LBROUTE_OK);
    return stats;
}

lbroute_stats api_stats(lbroute_router *router)
{
    lbroute_stats stats;
    lbroute_stats_init(&stats, sizeof stats);
    CHECK_I(lbroute_get_stats(router, &stats), LBROUTE_OK);
    return stats;
}

int api_explain(lbroute_router *router, const lbroute_request *request,
                uint64_t now, lbroute_decision *decision,
                lbroute_candidate *candidates, size_t capacity, size_t *count)
{
    lbroute_decision_init(decision, sizeof *decision);
    for (size_t i = 0; i < capacity; i++)
        lbroute_candidate_init(&candidates[i], sizeof candidates[i]);
    *count = 0;
    return lbroute_explain(router, request, now, decision, candidates, capacity,
                           count);
}

static void check_same_numbers(const lbroute_decision *a,
                               const lbroute_decision *b)
{
    CHECK_U(a->candidates, b->candidates);
    CHECK_U(a->eligible, b->eligible);
    CHECK_U(a->in_flight, b->in_flight);
    CHECK_U(a->max_concurrency, b->max_concurrency);
    CHECK_SAME(a->weight, b->weight);
    CHECK_SAME(a->load, b->load);
    CHECK_SAME(a->score, b->score);
    CHECK_U(a->sticky_digest, b->sticky_digest);
    CHECK_I(a->wait_ns, b->wait_ns);
    CHECK_I(a->prefix_matched, b->prefix_matched);
    CHECK_I(a->prefix_total, b->prefix_total);
    CHECK_I(a->kv_state, b->kv_state);
    for (int i = 0; i < LBROUTE_MEDIUM_COUNT; i++)
        CHECK_I(a->kv_blocks[i], b->kv_blocks[i]);
    for (int i = 0; i < LBROUTE_REASON_COUNT; i++)
        CHECK_U(a->reasons[i], b->reasons[i]);
}

void api_check_same_decision(const lbroute_decision *a,
                             const lbroute_decision *b)
{
    CHECK_U(a->target, b->target);
    CHECK_U(a->pool, b->pool);
    CHECK(a->user == b->user);
    CHECK_I(a->rule, b->rule);
    CHECK_I(a->reason, b->reason);
    CHECK_I(a->bench_ignored, b->bench_ignored);
    check_same_numbers(a, b);
    CHECK_U(a->target_name_len, b->target_name_len);
    CHECK_U(a->pool_name_len, b->pool_name_len);
    CHECK_I(strcmp(a->target_name, b->target_name), 0);
    CHECK_I(strcmp(a->pool_name, b->pool_name), 0);
}
