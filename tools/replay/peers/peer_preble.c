/* SPDX-License-Identifier: MIT */
/*
 * Exploit a cached prefix where more is cached than is missing, else explore:
 * where would the request cost least?
 *
 *     cost of a target = load + what it would evict + what is new   (seconds)
 *     load             = prefills of the window + answers under way
 *
 *     window: oldest ▶ assignment ▶ … ▶ assignment ▶ newest
 */
#include "../grow.h"
#include "peer.h"
#include "peer_memory.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW, BALANCE, PARAM_COUNT };

static const struct peer_param params[PARAM_COUNT] = {
    [WINDOW] = {"window", 180, 1, 1e6, "seconds that count as recent"},
    [BALANCE] = {"balance", 1.5, 1, 1e9,
                 "load over the lightest from which on the heaviest target's "
                 "prefixes go to that"},
};

/* What stands for answers until some were seen. */
#define FIRST_OUTPUT_TOKENS 45.0
#define FIRST_TOKEN_S 0.15

/* Answers that count as recent. */
enum { RECENT = 200 };

struct recent {
    double values[RECENT];
    size_t count; /* Ever; the latest is at (count - 1) % RECENT. */
};

struct assignment {
    uint64_t at;
    uint32_t target;
    double prefill_s;
    const uint32_t *ids;
    uint32_t id_count;
};

struct preble {
    const struct peer_view *view;
    struct peer_memory *memories;
    struct draw draw;
    double balance;
    uint64_t window_ns;
    double *prefills_s;     /* By target, of the window. */
    struct recent *token_s; /* By target, of an answer's token. */
    double *median_s;       /* Of these. */
    struct recent outputs;
    double mean_output;
    uint32_t *uses; /* By id, requests of the window with the block. */
    struct assignment *window;
    size_t first;
    size_t last;
    size_t capacity;
};

static void note(struct recent *recent, double value)
{
    recent->values[recent->count++ % RECENT] = value;
}

static size_t kept(const struct recent *recent)
{
    return recent->count < RECENT ? recent->count : RECENT;
}

static double mean_of(const struct recent *recent)
{
    size_t count = kept(recent);
    double sum = 0.0;

    for (size_t i = 0; i < count; i++)
        sum += recent->values[i];
    return sum / (double)count;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median_of(const struct recent *recent)
{
    double sorted[RECENT];
    size_t count = kept(recent);

    memcpy(sorted, recent->values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
}

static void *create(const struct peer_setup *setup)
{
    const struct peer_view *view = setup->view;
    struct preble *peer = grow_zeroed(1, sizeof *peer);

    peer->view = view;
    peer->draw = draw_start(setup->seed, 0);
    peer->window_ns = (uint64_t)(setup->values[WINDOW] * 1e9);
    peer->balance = setup->values[BALANCE];
    peer->prefills_s =
        grow_zeroed(view->target_count, sizeof *peer->prefills_s);
    peer->median_s = grow_zeroed(view->target_count, sizeof *peer->median_s);
    peer->mean_output = FIRST_OUTPUT_TOKENS;
    for (size_t i = 0; i < view->target_count; i++)
        peer->median_s[i] = FIRST_TOKEN_S;
    peer->token_s = grow_zeroed(view->target_count, sizeof *peer->token_s);
    peer->uses = grow_zeroed(view->distinct_ids, sizeof *peer->uses);
    peer->memories = grow_zeroed(view->target_count, sizeof *peer->memories);
    for (size_t i = 0; i < view->target_count; i++)
        peer_memory_init(&peer->memories[i], view->distinct_ids,
                         view->targets[i].cache_tokens / view->block_tokens, 0);
    return peer;
}

static void destroy(void *state)
{
    struct preble *peer = state;

    for (size_t i = 0; i < peer->view->target_count; i++)
        peer_memory_release(&peer->memories[i]);
    free(peer->memories);
    free(peer->prefills_s);
    free(peer->median_s);
    free(peer->token_s);
    free(peer->uses);
    free(peer->window);
    free(peer);
}

static void expire(struct preble *peer)
{
    while (peer->first < peer->last) {
        const struct assignment *oldest = &peer->window[peer->first];

        if (peer->view->now - oldest->at < peer->window_ns)
            return;
        peer->prefills_s[oldest->target] -= oldest->prefill_s;
        for (uint32_t i = 0; i < oldest->id_count; i++)
            peer->uses[oldest->ids[i]]--;
        peer->first++;
    }
}

static double load_s(const struct preble *peer, size_t target)
{
    return peer->prefills_s[target] + peer->view->targets[target].in_flight *
                                          peer->mean_output *
                                          peer->median_s[target];
}

static uint32_t run_of(const struct preble *peer, uint32_t target,
                       const struct peer_request *request)
{
    return peer_memory_run(&peer->memories[target], request->ids,
                           request->id_count, peer->view->now);
}

static uint32_t longest(const struct preble *peer,
                        const struct peer_request *request)
{
    uint32_t longest_run = 0;

    for (uint32_t i = 0; i < peer->view->target_count; i++)
        if (peer->view->targets[i].open &&
            run_of(peer, i, request) > longest_run)
            longest_run = run_of(peer, i, request);
    return longest_run;
}

/* Time to compute again what makes room, each block as likely as a request of
 * the window had it. */
static double eviction_s(const struct preble *peer, uint32_t target,
                         uint32_t blocks)
{
    const struct peer_memory *memory = &peer->memories[target];
    double requests = (double)(peer->last - peer->first);
    uint64_t room = memory->capacity - memory->count;
    double uses = 0.0;
    uint32_t id = memory->oldest;

    for (uint64_t i = room; i < blocks && id != PEER_END; i++) {
        uses += peer->uses[id];
        id = memory->newer[id];
    }
    return uses > 0.0 ? uses / requests * peer->view->block_tokens *
                            peer->view->targets[target].token_s
                      : 0.0;
}

static double prefill_s(const struct preble *peer, uint32_t target,
                        const struct peer_request *request, uint32_t run)
{
    double tokens =
        (double)request->input_tokens - (double)run * peer->view->block_tokens;

    return tokens * peer->view->targets[target].token_s;
}

static double cost_s(const struct preble *peer, uint32_t target,
                     const struct peer_request *request)
{
    uint32_t run = run_of(peer, target, request);

    return load_s(peer, target) +
           eviction_s(peer, target, request->id_count - run) +
           prefill_s(peer, target, request, run);
}

static uint32_t explore(struct preble *peer, const struct peer_request *request)
{
    struct peer_best best = {0};

    for (uint32_t i = 0; i < peer->view->target_count; i++)
        if (peer->view->targets[i].open)
            peer_best_offer(&best, &peer->draw, i, cost_s(peer, i, request),
                            0.0);
    return best.target;
}

/* The lightest of those that hold at least `run` blocks. */
static uint32_t lightest(struct preble *peer,
                         const struct peer_request *request, uint32_t run)
{
    struct peer_best best = {0};

    for (uint32_t i = 0; i < peer->view->target_count; i++)
        if (peer->view->targets[i].open && run_of(peer, i, request) >= run)
            peer_best_offer(&best, &peer->draw, i, load_s(peer, i), 0.0);
    return best.target;
}

static bool is_heaviest(const struct preble *peer, uint32_t target)
{
    for (size_t i = 0; i < peer->view->target_count; i++)
        if (peer->view->targets[i].open &&
            load_s(peer, i) > load_s(peer, target))
            return false;
    return true;
}

static uint32_t exploit(struct preble *peer, const struct peer_request *request,
                        uint32_t run)
{
    uint32_t holder = lightest(peer, request, run);
    uint32_t other = lightest(peer, request, 0);

    if (is_heaviest(peer, holder) &&
        load_s(peer, holder) > peer->balance * load_s(peer, other))
        return other;
    return holder;
}

static struct peer_choice choose(void *state,
                                 const struct peer_request *request)
{
    struct preble *peer = state;
    struct peer_choice choice;
    uint32_t run;

    expire(peer);
    run = longest(peer, request);
    if (2.0 * run * peer->view->block_tokens > (double)request->input_tokens)
        choice.target = exploit(peer, request, run);
    else
        choice.target = explore(peer, request);
    choice.matched_tokens =
        run_of(peer, choice.target, request) * peer->view->block_tokens;
    return choice;
}

static void sent(void *state, const struct peer_flight *flight)
{
    struct preble *peer = state;
    const struct peer_request *request = &flight->request;
    struct peer_memory *memory = &peer->memories[flight->target];
    struct assignment *added;

    peer->window = grow_array(peer->window, &peer->capacity, peer->last + 1,
                              sizeof *peer->window);
    added = &peer->window[peer->last++];
    added->at = flight->sent_at;
    added->target = flight->target;
    added->ids = request->ids;
    added->id_count = request->id_count;
    added->prefill_s =
        flight->new_tokens * peer->view->targets[flight->target].token_s;
    peer->prefills_s[flight->target] += added->prefill_s;
    for (uint32_t i = 0; i < request->id_count; i++)
        peer->uses[request->ids[i]]++;
    peer_memory_add(memory, request->ids, request->id_count, peer->view->now);
    peer_memory_trim(memory);
}

static void done(void *state, const struct peer_flight *flight)
{
    struct preble *peer = state;
    double s = (double)(peer->view->now - flight->first_at) / 1e9;

    if (flight->output_tokens == 0)
        return;
    note(&peer->outputs, flight->output_tokens);
    peer->mean_output = mean_of(&peer->outputs);
    if (flight->output_tokens < 2)
        return;
    note(&peer->token_s[flight->target],
         s / (double)(flight->output_tokens - 1));
    peer->median_s[flight->target] = median_of(&peer->token_s[flight->target]);
}

const struct peer_rule peer_preble = {
    .name = PEER_PREFIX "preble",
    .text = "a cached prefix longer than the rest goes where it is, else least "
            "load, eviction and prefill",
    .source = "Preble, ICLR 2025, arXiv:2407.00023; WukLab/preble 8e7906a",
    .params = params,
    .param_count = PARAM_COUNT,
    .scrape_param = -1,
    .create = create,
    .destroy = destroy,
    .choose = choose,
    .sent = sent,
    .done = done,
};
