/* SPDX-License-Identifier: MIT */
/*
 * One tree for all targets: the longest prefix that was sent anywhere, and the
 * target that it went to last.
 */
#include "../grow.h"
#include "peer.h"
#include "peer_memory.h"

#include <stdlib.h>

enum {
    CACHE_THRESHOLD,
    BALANCE_ABS,
    BALANCE_REL,
    EVICTION_INTERVAL,
    MAX_TREE_SIZE,
    PARAM_COUNT
};

static const struct peer_param params[PARAM_COUNT] = {
    [CACHE_THRESHOLD] = {"cache_threshold", 0.3, 0, 1,
                         "part of the prompt above which the match decides"},
    [BALANCE_ABS] = {"balance_abs_threshold", 64, 0, 1e9,
                     "requests above which the difference is imbalance ..."},
    [BALANCE_REL] = {"balance_rel_threshold", 1.5, 1, 1e9,
                     "... if the ratio is above this, too"},
    [EVICTION_INTERVAL] = {"eviction_interval", 120, 0.001, 1e9,
                           "seconds between two cuts of the tree"},
    [MAX_TREE_SIZE] = {"max_tree_size", 67108864, 1, 1e15,
                       "tokens of each target that a cut leaves"},
};

struct smg {
    const struct peer_view *view;
    struct peer_memory *memories;
    uint32_t *last; /* By id, one more than the target it was sent to last. */
    uint64_t next_cut;
    double values[PARAM_COUNT];
};

static uint64_t interval_ns(const struct smg *peer)
{
    return (uint64_t)(peer->values[EVICTION_INTERVAL] * 1e9);
}

static void *create(const struct peer_setup *setup)
{
    const struct peer_view *view = setup->view;
    struct smg *peer = grow_zeroed(1, sizeof *peer);
    double blocks = setup->values[MAX_TREE_SIZE] / view->block_tokens;

    peer->view = view;
    for (int i = 0; i < PARAM_COUNT; i++)
        peer->values[i] = setup->values[i];
    peer->last = grow_zeroed(view->distinct_ids, sizeof *peer->last);
    peer->memories = grow_zeroed(view->target_count, sizeof *peer->memories);
    for (size_t i = 0; i < view->target_count; i++)
        peer_memory_init(&peer->memories[i], view->distinct_ids,
                         (uint64_t)blocks, 0);
    peer->next_cut = interval_ns(peer);
    return peer;
}

static void destroy(void *state)
{
    struct smg *peer = state;

    for (size_t i = 0; i < peer->view->target_count; i++)
        peer_memory_release(&peer->memories[i]);
    free(peer->memories);
    free(peer->last);
    free(peer);
}

static void cut(struct smg *peer)
{
    if (peer->view->now < peer->next_cut)
        return;
    for (size_t i = 0; i < peer->view->target_count; i++)
        peer_memory_trim(&peer->memories[i]);
    while (peer->next_cut <= peer->view->now)
        peer->next_cut += interval_ns(peer);
}

/* Fewest requests, then fewest that were ever sent there, then the first. */
static uint32_t least_busy(const struct peer_view *view)
{
    const struct peer_target *best = NULL;

    for (size_t i = 0; i < view->target_count; i++) {
        const struct peer_target *target = &view->targets[i];

        if (target->open &&
            (best == NULL || target->in_flight < best->in_flight ||
             (target->in_flight == best->in_flight &&
              target->sent < best->sent)))
            best = target;
    }
    return (uint32_t)(best - view->targets);
}

static bool is_imbalanced(const struct smg *peer)
{
    double low = peer->view->targets[least_busy(peer->view)].in_flight;
    double high = 0.0;

    for (size_t i = 0; i < peer->view->target_count; i++)
        if (peer->view->targets[i].open &&
            peer->view->targets[i].in_flight > high)
            high = peer->view->targets[i].in_flight;
    return high - low > peer->values[BALANCE_ABS] &&
           high > low * peer->values[BALANCE_REL];
}

static bool holds(const struct smg *peer, uint32_t target, uint32_t id)
{
    return peer_memory_has(&peer->memories[target], id, peer->view->now);
}

/* Who of those that hold the block got it last. */
static uint32_t tenant_of(const struct smg *peer, uint32_t id)
{
    uint32_t target = peer->last[id] - 1;

    if (peer->last[id] > 0 && holds(peer, target, id))
        return target;
    for (target = 0; !holds(peer, target, id); target++)
        ;
    return target;
}

static bool anybody_holds(const struct smg *peer, uint32_t id)
{
    for (uint32_t i = 0; i < peer->view->target_count; i++)
        if (holds(peer, i, id))
            return true;
    return false;
}

static uint32_t longest(const struct smg *peer,
                        const struct peer_request *request)
{
    uint32_t run = 0;

    while (run < request->id_count && anybody_holds(peer, request->ids[run]))
        run++;
    return run;
}

static struct peer_choice by_match(const struct smg *peer,
                                   const struct peer_request *request)
{
    uint32_t run = longest(peer, request);
    double tokens = (double)run * peer->view->block_tokens;
    struct peer_choice choice = {least_busy(peer->view), 0};
    uint32_t tenant;

    if (run == 0 ||
        tokens <= peer->values[CACHE_THRESHOLD] * (double)request->input_tokens)
        return choice;
    tenant = tenant_of(peer, request->ids[run - 1]);
    if (peer->view->targets[tenant].open)
        choice.target = tenant;
    return choice;
}

static struct peer_choice choose(void *state,
                                 const struct peer_request *request)
{
    struct smg *peer = state;
    struct peer_choice choice = {0};

    cut(peer);
    if (!is_imbalanced(peer))
        return by_match(peer, request);
    choice.target = least_busy(peer->view);
    return choice;
}

static void sent(void *state, const struct peer_flight *flight)
{
    struct smg *peer = state;

    peer_memory_add(&peer->memories[flight->target], flight->request.ids,
                    flight->request.id_count, peer->view->now);
    for (uint32_t i = 0; i < flight->request.id_count; i++)
        peer->last[flight->request.ids[i]] = flight->target + 1;
}

const struct peer_rule peer_smg = {
    .name = PEER_PREFIX "smg",
    .text = "longest prefix sent anywhere if above a threshold, else least "
            "busy; least busy too while loads differ much",
    .source = "SMG 1.9 (August 2026), cache_aware.rs and its command line",
    .params = params,
    .param_count = PARAM_COUNT,
    .scrape_param = -1,
    .create = create,
    .destroy = destroy,
    .choose = choose,
    .sent = sent,
};
