/* SPDX-License-Identifier: MIT */
#include "../grow.h"
#include "peer_index.h"

#include <stdlib.h>

enum { PENDING, OWN, PARAM_COUNT };

static const struct peer_param params[PARAM_COUNT] = {
    [PENDING] = {"pending", 1, 0, 1,
                 "0: new tokens are not those of requests that wait there"},
    [OWN] = {"own", 1, 0, 1, "0: the batch does not count the request itself"},
};

struct lmetric {
    const struct peer_view *view;
    struct peer_index index;
    struct draw draw;
    double pending;
    double own;
};

static void *create(const struct peer_setup *setup)
{
    struct lmetric *peer = grow_zeroed(1, sizeof *peer);

    peer->view = setup->view;
    peer->draw = draw_start(setup->seed, 0);
    peer->pending = setup->values[PENDING];
    peer->own = setup->values[OWN];
    peer_index_init(&peer->index, setup->view, 0, 0.0);
    return peer;
}

static void destroy(void *state)
{
    struct lmetric *peer = state;

    peer_index_release(&peer->index);
    free(peer);
}

/* A batch of nothing makes the product 0 whatever is new; that decides then. */
static struct peer_choice choose(void *state,
                                 const struct peer_request *request)
{
    struct lmetric *peer = state;
    struct peer_best best = {0};
    struct peer_choice choice = {0};

    for (uint32_t i = 0; i < peer->view->target_count; i++) {
        const struct peer_target *target = &peer->view->targets[i];
        double fresh;

        if (!target->open)
            continue;
        fresh = (double)request->input_tokens -
                (double)peer_index_tokens(&peer->index, i, request) +
                peer->pending * (double)target->waiting_tokens;
        peer_best_offer(&best, &peer->draw, i,
                        fresh * (target->in_flight + peer->own), fresh);
    }
    choice.target = best.target;
    choice.matched_tokens =
        peer_index_tokens(&peer->index, best.target, request);
    return choice;
}

static void sent(void *state, const struct peer_flight *flight)
{
    struct lmetric *peer = state;

    peer_index_sent(&peer->index, flight->target, &flight->request);
}

const struct peer_rule peer_lmetric = {
    .name = PEER_PREFIX "lmetric",
    .text = "least product of new prompt tokens and batch size",
    .source = "LMetric, OSDI 2026, arXiv:2603.15202 (abstract)",
    .params = params,
    .param_count = PARAM_COUNT,
    .reads_events = true,
    .scrape_param = -1,
    .create = create,
    .destroy = destroy,
    .choose = choose,
    .sent = sent,
};
