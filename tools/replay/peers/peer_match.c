/* SPDX-License-Identifier: MIT */
/* The two plain rules that know nothing but matches and load. */
#include "../grow.h"
#include "peer_index.h"

#include <stdlib.h>

struct match {
    const struct peer_view *view;
    struct peer_index index;
    struct draw draw;
    double threshold; /* Part of the prompt that a match must cover. */
};

static struct match *start(const struct peer_setup *setup, double threshold)
{
    struct match *peer = grow_zeroed(1, sizeof *peer);

    peer->view = setup->view;
    peer->draw = draw_start(setup->seed, 0);
    peer->threshold = threshold;
    peer_index_init(&peer->index, setup->view, 0, 0.0);
    return peer;
}

static void *create_longest(const struct peer_setup *setup)
{
    return start(setup, 0.0);
}

static void *create_half(const struct peer_setup *setup)
{
    return start(setup, setup->values[0]);
}

static void destroy(void *state)
{
    struct match *peer = state;

    peer_index_release(&peer->index);
    free(peer);
}

/* The longest match, or among equal ones the least busy. */
static struct peer_choice longest(struct match *peer,
                                  const struct peer_request *request)
{
    struct peer_best best = {0};
    struct peer_choice choice = {0};

    for (uint32_t i = 0; i < peer->view->target_count; i++)
        if (peer->view->targets[i].open)
            peer_best_offer(
                &best, &peer->draw, i,
                -(double)peer_index_tokens(&peer->index, i, request),
                peer->view->targets[i].in_flight);
    choice.target = best.target;
    choice.matched_tokens = (uint32_t)-best.score;
    return choice;
}

static struct peer_choice least_busy(struct match *peer,
                                     const struct peer_request *request)
{
    struct peer_best best = {0};
    struct peer_choice choice = {0};

    for (uint32_t i = 0; i < peer->view->target_count; i++)
        if (peer->view->targets[i].open)
            peer_best_offer(&best, &peer->draw, i,
                            peer->view->targets[i].in_flight, 0.0);
    choice.target = best.target;
    choice.matched_tokens =
        peer_index_tokens(&peer->index, best.target, request);
    return choice;
}

static struct peer_choice choose(void *state,
                                 const struct peer_request *request)
{
    struct match *peer = state;
    struct peer_choice choice = longest(peer, request);

    if ((double)choice.matched_tokens >=
        peer->threshold * (double)request->input_tokens)
        return choice;
    return least_busy(peer, request);
}

static void sent(void *state, const struct peer_flight *flight)
{
    struct match *peer = state;

    peer_index_sent(&peer->index, flight->target, &flight->request);
}

const struct peer_rule peer_longest_match = {
    .name = PEER_PREFIX "longest-match",
    .text = "longest cached prefix, among equals the least busy",
    .source = "the plain rule that cache-aware routers are measured against",
    .reads_events = true,
    .scrape_param = -1,
    .create = create_longest,
    .destroy = destroy,
    .choose = choose,
    .sent = sent,
};

static const struct peer_param half_params[] = {
    {"threshold", 0.5, 0, 1, "part of the prompt that a match must cover"}};

const struct peer_rule peer_half_match = {
    .name = PEER_PREFIX "half-match",
    .text = "longest cached prefix if it covers half of the prompt, else "
            "least busy",
    .source = "SGLang router of v0.4 (December 2024), its threshold alone",
    .params = half_params,
    .param_count = 1,
    .reads_events = true,
    .scrape_param = -1,
    .create = create_half,
    .destroy = destroy,
    .choose = choose,
    .sent = sent,
};
