/* SPDX-License-Identifier: MIT */
#include "../grow.h"
#include "peer_index.h"

#include <math.h>
#include <stdlib.h>

enum { QUEUE, KV_CACHE, PREFIX, CAPACITY, SCRAPE, PARAM_COUNT };

static const struct peer_param params[PARAM_COUNT] = {
    [QUEUE] = {"queue", 2, 0, 1000, "weight of the shortest queue"},
    [KV_CACHE] = {"kv_cache", 2, 0, 1000, "weight of the emptiest KV cache"},
    [PREFIX] = {"prefix", 3, 0, 1000, "weight of the matched part"},
    [CAPACITY] = {"capacity", 0, 0, 1e9,
                  "blocks of 64 tokens remembered of each target; 0: as many "
                  "as its metrics say it has, 31250 until then"},
    [SCRAPE] = {"scrape", 0.05, 0, 1e6,
                "seconds between two readings of metrics; 0: as --scrape"},
};

/* Tokens of a block at least, and blocks while nothing else is known. */
enum { LEAST_BLOCK_TOKENS = 64, DEFAULT_BLOCKS = 31250 };

/* A match is as long as this at most. */
enum { MAX_MATCH_TOKENS = 131072 };

struct llm_d {
    const struct peer_view *view;
    struct peer_memory *memories;
    struct draw draw;
    double values[PARAM_COUNT];
};

/* In blocks of the view. */
static uint64_t capacity_of(const struct llm_d *peer, uint64_t tokens)
{
    uint64_t blocks = tokens / peer->view->block_tokens;

    return blocks > 0 ? blocks : 1;
}

static void *create(const struct peer_setup *setup)
{
    struct llm_d *peer = grow_zeroed(1, sizeof *peer);
    double blocks = setup->values[CAPACITY];

    peer->view = setup->view;
    peer->draw = draw_start(setup->seed, 0);
    for (int i = 0; i < PARAM_COUNT; i++)
        peer->values[i] = setup->values[i];
    if (blocks <= 0.0)
        blocks = DEFAULT_BLOCKS;
    peer->memories =
        grow_zeroed(setup->view->target_count, sizeof *peer->memories);
    for (size_t i = 0; i < setup->view->target_count; i++)
        peer_memory_init(
            &peer->memories[i], setup->view->distinct_ids,
            capacity_of(peer, (uint64_t)(blocks * LEAST_BLOCK_TOKENS)), 0);
    return peer;
}

static void destroy(void *state)
{
    struct llm_d *peer = state;

    for (size_t i = 0; i < peer->view->target_count; i++)
        peer_memory_release(&peer->memories[i]);
    free(peer->memories);
    free(peer);
}

static uint32_t matched_tokens(const struct llm_d *peer, uint32_t target,
                               const struct peer_request *request)
{
    uint32_t most = MAX_MATCH_TOKENS / peer->view->block_tokens;
    uint32_t count = request->id_count < most ? request->id_count : most;

    return peer_memory_run(&peer->memories[target], request->ids, count,
                           peer->view->now) *
           peer->view->block_tokens;
}

/* The shortest and the longest queue of those that may be chosen. */
struct range {
    double low;
    double high;
};

static struct range queues(const struct peer_view *view)
{
    struct range range = {(double)INFINITY, 0.0};

    for (size_t i = 0; i < view->target_count; i++)
        if (view->targets[i].open) {
            range.low = fmin(range.low, view->targets[i].gauges.waiting);
            range.high = fmax(range.high, view->targets[i].gauges.waiting);
        }
    return range;
}

static double queue_score(const struct range *range, double waiting)
{
    if (range->high <= range->low)
        return 1.0;
    return (range->high - waiting) / (range->high - range->low);
}

static double score_of(const struct llm_d *peer, const struct range *range,
                       uint32_t target, const struct peer_request *request)
{
    const struct peer_gauges *gauges = &peer->view->targets[target].gauges;

    return peer->values[QUEUE] * queue_score(range, gauges->waiting) +
           peer->values[KV_CACHE] * (1.0 - gauges->kv_usage) +
           peer->values[PREFIX] *
               (double)matched_tokens(peer, target, request) /
               (double)request->input_tokens;
}

static struct peer_choice choose(void *state,
                                 const struct peer_request *request)
{
    struct llm_d *peer = state;
    struct range range = queues(peer->view);
    struct peer_best best = {0};
    struct peer_choice choice = {0};

    for (uint32_t i = 0; i < peer->view->target_count; i++)
        if (peer->view->targets[i].open)
            peer_best_offer(&best, &peer->draw, i,
                            -score_of(peer, &range, i, request), 0.0);
    choice.target = best.target;
    choice.matched_tokens = matched_tokens(peer, best.target, request);
    return choice;
}

static void sent(void *state, const struct peer_flight *flight)
{
    struct llm_d *peer = state;
    struct peer_memory *memory = &peer->memories[flight->target];
    const struct peer_target *target = &peer->view->targets[flight->target];

    if (peer->values[CAPACITY] <= 0.0 && target->scraped)
        memory->capacity = target->gauges.blocks;
    peer_memory_add(memory, flight->request.ids, flight->request.id_count,
                    peer->view->now);
    peer_memory_trim(memory);
}

const struct peer_rule peer_llm_d = {
    .name = PEER_PREFIX "llm-d",
    .text = "greatest sum of weighted scores: short queue, empty KV cache, "
            "matched part",
    .source = "llm-d-router v0.9 (2026), its chart's default profile",
    .params = params,
    .param_count = PARAM_COUNT,
    .scrape_param = SCRAPE,
    .create = create,
    .destroy = destroy,
    .choose = choose,
    .sent = sent,
};
