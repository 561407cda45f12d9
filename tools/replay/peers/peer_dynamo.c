/* SPDX-License-Identifier: MIT */
/*
 * Cost in blocks: what the target still has to prefill, with this request, and
 * the blocks that its requests would then hold, shared ones once.
 *
 *     holders[target][id]   requests in flight there whose prompt has the block
 *     active[target]        blocks with any
 */
#include "../grow.h"
#include "peer_index.h"

#include <math.h>
#include <stdlib.h>

enum { CREDIT, SCALE, TEMPERATURE, TTL, PARAM_COUNT };

static const struct peer_param params[PARAM_COUNT] = {
    [CREDIT] = {"overlap_credit", 1, 0, 1, "worth of a cached block"},
    [SCALE] = {"prefill_scale", 1, 0, 1000, "weight of prefill blocks"},
    [TEMPERATURE] = {"temperature", 0, 0, 100,
                     "of the softmax over costs; 0: the least cost"},
    [TTL] = {"ttl", 120, 0, 1e9,
             "seconds for which a sent prompt is believed to be there, "
             "without events; 0: for ever"},
};

struct dynamo {
    const struct peer_view *view;
    struct peer_index index;
    struct draw draw;
    double values[PARAM_COUNT];
    uint32_t **holders;
    uint64_t *active;
    double *costs; /* By target, of the request that is asked for. */
};

static void *create(const struct peer_setup *setup)
{
    struct dynamo *peer = grow_zeroed(1, sizeof *peer);
    size_t count = setup->view->target_count;

    peer->view = setup->view;
    peer->draw = draw_start(setup->seed, 0);
    for (int i = 0; i < PARAM_COUNT; i++)
        peer->values[i] = setup->values[i];
    peer_index_init(&peer->index, setup->view, UINT32_MAX, peer->values[TTL]);
    peer->active = grow_zeroed(count, sizeof *peer->active);
    peer->costs = grow_zeroed(count, sizeof *peer->costs);
    peer->holders = grow_zeroed(count, sizeof *peer->holders);
    for (size_t i = 0; i < count; i++)
        peer->holders[i] =
            grow_zeroed(setup->view->distinct_ids, sizeof **peer->holders);
    return peer;
}

static void destroy(void *state)
{
    struct dynamo *peer = state;

    for (size_t i = 0; i < peer->view->target_count; i++)
        free(peer->holders[i]);
    free(peer->holders);
    free(peer->active);
    free(peer->costs);
    peer_index_release(&peer->index);
    free(peer);
}

static uint64_t blocks_with(const struct dynamo *peer, uint32_t target,
                            const struct peer_request *request)
{
    uint64_t blocks = peer->active[target];

    for (uint32_t i = 0; i < request->id_count; i++)
        blocks += peer->holders[target][request->ids[i]] == 0;
    return blocks;
}

static double cost_of(struct dynamo *peer, uint32_t target,
                      const struct peer_request *request)
{
    double block = peer->view->block_tokens;
    double tokens = (double)peer->view->targets[target].waiting_tokens +
                    (double)request->input_tokens;
    double prefill =
        tokens / block -
        peer->values[CREDIT] * peer_index_run(&peer->index, target, request);

    return peer->values[SCALE] * fmax(prefill, 0.0) +
           (double)blocks_with(peer, target, request);
}

static uint32_t least(struct dynamo *peer)
{
    struct peer_best best = {0};

    for (uint32_t i = 0; i < peer->view->target_count; i++)
        if (peer->view->targets[i].open)
            peer_best_offer(&best, &peer->draw, i, peer->costs[i], 0.0);
    return best.target;
}

static double greatest(const struct dynamo *peer)
{
    double most = 0.0;

    for (uint32_t i = 0; i < peer->view->target_count; i++)
        if (peer->view->targets[i].open)
            most = fmax(most, peer->costs[i]);
    return most;
}

/* Costs count relative to their range. */
static uint32_t sample(struct dynamo *peer)
{
    uint32_t best = least(peer);
    double low = peer->costs[best];
    double range = greatest(peer) - low;
    double sum = 0.0;
    uint32_t target = best;

    if (range <= 0.0)
        return best;
    for (uint32_t i = 0; i < peer->view->target_count; i++) {
        double part;

        if (!peer->view->targets[i].open)
            continue;
        part =
            exp((low - peer->costs[i]) / (range * peer->values[TEMPERATURE]));
        sum += part;
        if (draw_uniform(&peer->draw) * sum < part)
            target = i;
    }
    return target;
}

static struct peer_choice choose(void *state,
                                 const struct peer_request *request)
{
    struct dynamo *peer = state;
    struct peer_choice choice;

    for (uint32_t i = 0; i < peer->view->target_count; i++)
        if (peer->view->targets[i].open)
            peer->costs[i] = cost_of(peer, i, request);
    choice.target =
        peer->values[TEMPERATURE] > 0.0 ? sample(peer) : least(peer);
    choice.matched_tokens =
        peer_index_tokens(&peer->index, choice.target, request);
    return choice;
}

static void sent(void *state, const struct peer_flight *flight)
{
    struct dynamo *peer = state;
    uint32_t *holders = peer->holders[flight->target];

    for (uint32_t i = 0; i < flight->request.id_count; i++)
        peer->active[flight->target] += holders[flight->request.ids[i]]++ == 0;
    peer_index_sent(&peer->index, flight->target, &flight->request);
}

static void done(void *state, const struct peer_flight *flight)
{
    struct dynamo *peer = state;
    uint32_t *holders = peer->holders[flight->target];

    for (uint32_t i = 0; i < flight->request.id_count; i++)
        peer->active[flight->target] -= --holders[flight->request.ids[i]] == 0;
}

const struct peer_rule peer_dynamo = {
    .name = PEER_PREFIX "dynamo",
    .text = "least prefill blocks, waiting ones too and less cached ones, plus "
            "active blocks",
    .source = "NVIDIA Dynamo 1.5 (2026), docs: Routing Concepts",
    .params = params,
    .param_count = PARAM_COUNT,
    .reads_events = true,
    .scrape_param = -1,
    .create = create,
    .destroy = destroy,
    .choose = choose,
    .sent = sent,
    .done = done,
};
