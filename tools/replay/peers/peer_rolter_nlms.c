/* SPDX-License-Identifier: MIT */
/*
 * A linear model of each target's time to first token, taught by normalised
 * least mean squares:
 *
 *     error = seconds - plane · x,   plane += step · error · x / (x · x)
 *     x     = (1, kilotokens that wait there, requests there, kilotokens of
 *             the prompt)
 */
#include "../grow.h"
#include "peer.h"

#include <stdlib.h>

enum { STEP, PARAM_COUNT };

static const struct peer_param params[PARAM_COUNT] = {
    [STEP] = {"step", 0.5, 0.001, 2, "of the correction"},
};

enum { FEATURES = 4 };

struct model {
    double plane[FEATURES];
    uint64_t samples;
};

struct nlms {
    const struct peer_view *view;
    struct model *models;
    struct draw draw;
    double step;
};

static void *create(const struct peer_setup *setup)
{
    struct nlms *peer = grow_zeroed(1, sizeof *peer);

    peer->view = setup->view;
    peer->draw = draw_start(setup->seed, 0);
    peer->step = setup->values[STEP];
    peer->models = grow_zeroed(setup->view->target_count, sizeof *peer->models);
    return peer;
}

static void destroy(void *state)
{
    struct nlms *peer = state;

    free(peer->models);
    free(peer);
}

static void features(double x[FEATURES], uint64_t waiting_tokens,
                     uint32_t in_flight, uint32_t input_tokens)
{
    x[0] = 1.0;
    x[1] = (double)waiting_tokens / 1000.0;
    x[2] = in_flight;
    x[3] = input_tokens / 1000.0;
}

static double dot(const double *a, const double *b)
{
    double sum = 0.0;

    for (int i = 0; i < FEATURES; i++)
        sum += a[i] * b[i];
    return sum;
}

/* A target that has taught nothing yet is tried first. */
static double predict(const struct nlms *peer, uint32_t target,
                      const struct peer_request *request)
{
    const struct peer_target *from = &peer->view->targets[target];
    double x[FEATURES];

    if (peer->models[target].samples == 0)
        return 0.0;
    features(x, from->waiting_tokens, from->in_flight, request->input_tokens);
    return dot(peer->models[target].plane, x);
}

static struct peer_choice choose(void *state,
                                 const struct peer_request *request)
{
    struct nlms *peer = state;
    struct peer_best best = {0};
    struct peer_choice choice = {0};

    for (uint32_t i = 0; i < peer->view->target_count; i++) {
        double seconds;

        if (!peer->view->targets[i].open)
            continue;
        seconds = predict(peer, i, request);
        peer_best_offer(&best, &peer->draw, i, seconds > 0.0 ? seconds : 0.0,
                        peer->view->targets[i].in_flight);
    }
    choice.target = best.target;
    return choice;
}

static void first_token(void *state, const struct peer_flight *flight)
{
    struct nlms *peer = state;
    struct model *model = &peer->models[flight->target];
    double seconds = (double)(flight->first_at - flight->sent_at) / 1e9;
    double x[FEATURES];
    double error;

    features(x, flight->waiting_tokens, flight->in_flight,
             flight->request.input_tokens);
    error = seconds - dot(model->plane, x);
    for (int i = 0; i < FEATURES; i++)
        model->plane[i] += peer->step * error * x[i] / dot(x, x);
    model->samples++;
}

const struct peer_rule peer_rolter_nlms = {
    .name = PEER_PREFIX "rolter-nlms",
    .text = "least time to first token, predicted by normalised least mean "
            "squares",
    .source = "Rolter (autumn 2026) by its description; figures that it looks "
              "at are assumed",
    .params = params,
    .param_count = PARAM_COUNT,
    .scrape_param = -1,
    .create = create,
    .destroy = destroy,
    .choose = choose,
    .first_token = first_token,
};
