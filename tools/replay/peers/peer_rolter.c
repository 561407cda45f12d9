/* SPDX-License-Identifier: MIT */
#include "../grow.h"
#include "peer_index.h"

#include <stdlib.h>

enum { THRESHOLD, CAPACITY, PARAM_COUNT };

static const struct peer_param params[PARAM_COUNT] = {
    [THRESHOLD] = {"threshold", 0.5, 0, 1,
                   "part of the prompt from which on the match decides"},
    [CAPACITY] = {"capacity", 1e6, 1, 1e15,
                  "nodes, one a byte, of each target's trie"},
};

/* Bytes of a token, as the replay takes it everywhere. */
enum { TOKEN_BYTES = 4 };

struct rolter {
    const struct peer_view *view;
    struct peer_index index;
    double threshold;
};

static void *create(const struct peer_setup *setup)
{
    struct rolter *peer = grow_zeroed(1, sizeof *peer);

    peer->view = setup->view;
    peer->threshold = setup->values[THRESHOLD];
    peer_index_init_guessing(
        &peer->index, setup->view,
        (uint64_t)(setup->values[CAPACITY] / TOKEN_BYTES) + 1, 0.0);
    return peer;
}

static void destroy(void *state)
{
    struct rolter *peer = state;

    peer_index_release(&peer->index);
    free(peer);
}

/* The first of equals. */
static struct peer_choice longest(struct rolter *peer,
                                  const struct peer_request *request)
{
    struct peer_choice choice = {UINT32_MAX, 0};

    for (uint32_t i = 0; i < peer->view->target_count; i++) {
        uint32_t tokens;

        if (!peer->view->targets[i].open)
            continue;
        tokens = peer_index_tokens(&peer->index, i, request);
        if (choice.target == UINT32_MAX || tokens > choice.matched_tokens)
            choice = (struct peer_choice){i, tokens};
    }
    return choice;
}

/* The first of equals. */
static uint32_t least_busy(const struct peer_view *view)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < view->target_count; i++)
        if (view->targets[i].open &&
            (best == UINT32_MAX ||
             view->targets[i].in_flight < view->targets[best].in_flight))
            best = i;
    return best;
}

static struct peer_choice choose(void *state,
                                 const struct peer_request *request)
{
    struct rolter *peer = state;
    struct peer_choice choice = longest(peer, request);

    if ((double)choice.matched_tokens >=
        peer->threshold * (double)request->input_tokens)
        return choice;
    choice.target = least_busy(peer->view);
    choice.matched_tokens =
        peer_index_tokens(&peer->index, choice.target, request);
    return choice;
}

static void sent(void *state, const struct peer_flight *flight)
{
    struct rolter *peer = state;

    peer_index_sent(&peer->index, flight->target, &flight->request);
}

const struct peer_rule peer_rolter = {
    .name = PEER_PREFIX "rolter",
    .text = "longest match in the targets' tries if at least half of the "
            "prompt, else least busy",
    .source = "Rolter of 7 August 2026 (47b526d), cache_aware, caching.md",
    .params = params,
    .param_count = PARAM_COUNT,
    .scrape_param = -1,
    .create = create,
    .destroy = destroy,
    .choose = choose,
    .sent = sent,
};
