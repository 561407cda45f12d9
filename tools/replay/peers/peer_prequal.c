/* SPDX-License-Identifier: MIT */
/*
 * Probes tell requests in flight (RIF) and latency of random targets; the pool
 * keeps the latest. Hot is whose RIF is above a quantile of what probes told.
 * Of the cold ones the fastest, if all are hot the one with the least RIF.
 *
 *     pool      one report a target: RIF, latency, when, how often used
 *     history   RIF of the latest probes, for the quantile
 *     answers   by target, latency and the RIF it began with, of the latest
 */
#include "../grow.h"
#include "peer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUANTILE, PROBES, REMOVALS, POOL, AGE, DELTA, FIRST_TOKEN, PARAM_COUNT };

static const struct peer_param params[PARAM_COUNT] = {
    /* 2 to the power of -0.25 */
    [QUANTILE] = {"q_rif", 0.8408964152537145, 0, 1,
                  "quantile of RIF above which a target is hot"},
    [PROBES] = {"probes", 3, 0.001, 1000, "probes a request"},
    [REMOVALS] = {"removals", 1, 0, 1000, "reports dropped a request"},
    [POOL] = {"pool", 16, 1, 1e6, "reports that are kept"},
    [AGE] = {"age", 1, 0.001, 1e6, "seconds for which a report is kept"},
    [DELTA] = {"delta", 1, 0, 1e6, "of how often a report may be used"},
    [FIRST_TOKEN] = {"first_token", 0, 0, 1,
                     "1: latency is that of the first token, not of the "
                     "whole answer"},
};

enum { HISTORY = 64, ANSWERS = 64, NEAREST = 16 };

struct report {
    bool pooled;
    double rif;
    double latency_s;
    uint64_t at;
    double uses;
};

struct answer {
    double latency_s;
    double rif; /* When it was sent; while sorted, how far from what is. */
};

struct answers {
    struct answer list[ANSWERS];
    size_t count; /* Ever. */
};

struct prequal {
    const struct peer_view *view;
    struct draw draw;
    double values[PARAM_COUNT];
    struct report *pool; /* By target. */
    size_t pooled;
    struct answers *answers; /* By target. */
    double history[HISTORY];
    size_t history_count; /* Ever. */
    double probes_due;
    double removals_due;
    bool worst_next; /* Removals alternate. */
    uint32_t *order; /* Targets, to draw some. */
};

static void *create(const struct peer_setup *setup)
{
    size_t count = setup->view->target_count;
    struct prequal *peer = grow_zeroed(1, sizeof *peer);

    peer->view = setup->view;
    peer->draw = draw_start(setup->seed, 0);
    for (int i = 0; i < PARAM_COUNT; i++)
        peer->values[i] = setup->values[i];
    peer->pool = grow_zeroed(count, sizeof *peer->pool);
    peer->answers = grow_zeroed(count, sizeof *peer->answers);
    peer->order = grow_zeroed(count, sizeof *peer->order);
    for (uint32_t i = 0; i < count; i++)
        peer->order[i] = i;
    return peer;
}

static void destroy(void *state)
{
    struct prequal *peer = state;

    free(peer->pool);
    free(peer->answers);
    free(peer->order);
    free(peer);
}

static int by_rif(const void *left, const void *right)
{
    double a = ((const struct answer *)left)->rif;
    double b = ((const struct answer *)right)->rif;

    return (a > b) - (a < b);
}

static int by_latency(const void *left, const void *right)
{
    double a = ((const struct answer *)left)->latency_s;
    double b = ((const struct answer *)right)->latency_s;

    return (a > b) - (a < b);
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Median latency of answers that began with nearly so many in flight. */
static double latency_s(const struct answers *answers, double rif)
{
    size_t count = answers->count < ANSWERS ? answers->count : ANSWERS;
    struct answer sorted[ANSWERS];

    if (count == 0)
        return 0.0;
    memcpy(sorted, answers->list, count * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i].rif = fabs(sorted[i].rif - rif);
    qsort(sorted, count, sizeof *sorted, by_rif);
    if (count > NEAREST)
        count = NEAREST;
    qsort(sorted, count, sizeof *sorted, by_latency);
    return sorted[(count - 1) / 2].latency_s;
}

static void drop(struct prequal *peer, struct report *report)
{
    report->pooled = false;
    peer->pooled--;
}

static struct report *oldest(const struct prequal *peer)
{
    struct report *found = NULL;

    for (size_t i = 0; i < peer->view->target_count; i++)
        if (peer->pool[i].pooled &&
            (found == NULL || peer->pool[i].at < found->at))
            found = &peer->pool[i];
    return found;
}

/* RIF above which a target is hot. */
static double threshold(const struct prequal *peer)
{
    size_t count =
        peer->history_count < HISTORY ? peer->history_count : HISTORY;
    double sorted[HISTORY];
    size_t rank;

    if (count == 0)
        return (double)INFINITY;
    memcpy(sorted, peer->history, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    rank = (size_t)ceil(peer->values[QUANTILE] * (double)count);
    return sorted[rank > 0 ? rank - 1 : 0];
}

/* Whether the left is to go before the right: hot ones first, those with the
 * most in flight, then the slowest. */
static bool is_worse(const struct report *left, const struct report *right,
                     double hot)
{
    bool left_hot = left->rif > hot;
    bool right_hot = right->rif > hot;

    if (left_hot != right_hot)
        return left_hot;
    return left_hot ? left->rif > right->rif
                    : left->latency_s > right->latency_s;
}

static struct report *worst(const struct prequal *peer)
{
    double hot = threshold(peer);
    struct report *found = NULL;

    for (size_t i = 0; i < peer->view->target_count; i++)
        if (peer->pool[i].pooled &&
            (found == NULL || is_worse(&peer->pool[i], found, hot)))
            found = &peer->pool[i];
    return found;
}

static void probe(struct prequal *peer, uint32_t target)
{
    struct report *report = &peer->pool[target];
    double rif = peer->view->targets[target].in_flight;

    if (!report->pooled) {
        if ((double)peer->pooled >= peer->values[POOL])
            drop(peer, oldest(peer));
        peer->pooled++;
    }
    *report = (struct report){true, rif, latency_s(&peer->answers[target], rif),
                              peer->view->now, 0.0};
    peer->history[peer->history_count++ % HISTORY] = rif;
}

/* Different targets, drawn at random. */
static void probe_some(struct prequal *peer)
{
    uint32_t count = (uint32_t)peer->view->target_count;
    uint32_t drawn = 0;

    peer->probes_due += peer->values[PROBES];
    for (; peer->probes_due >= 1.0; peer->probes_due -= 1.0) {
        uint32_t at;
        uint32_t target;

        if (drawn == count)
            continue;
        at = drawn + draw_below(&peer->draw, count - drawn);
        target = peer->order[at];
        peer->order[at] = peer->order[drawn];
        peer->order[drawn++] = target;
        if (peer->view->targets[target].open)
            probe(peer, target);
    }
}

static void remove_some(struct prequal *peer)
{
    peer->removals_due += peer->values[REMOVALS];
    for (; peer->removals_due >= 1.0; peer->removals_due -= 1.0) {
        struct report *report = peer->worst_next ? worst(peer) : oldest(peer);

        peer->worst_next = !peer->worst_next;
        if (report != NULL)
            drop(peer, report);
    }
}

/* How often a report may be used: so that the pool neither runs dry nor grows
 * old. In a small fleet new reports come faster than they are dropped. */
static double most_uses(const struct prequal *peer)
{
    double targets = (double)peer->view->target_count;
    double pool = fmin(peer->values[POOL], targets);
    double rest =
        (1.0 - pool / targets) * peer->values[PROBES] - peer->values[REMOVALS];

    if (rest <= 0.0)
        return (double)INFINITY;
    return fmax(1.0, (1.0 + peer->values[DELTA]) / rest);
}

static void drop_stale(struct prequal *peer)
{
    double most = most_uses(peer);
    uint64_t age = (uint64_t)(peer->values[AGE] * 1e9);

    for (size_t i = 0; i < peer->view->target_count; i++) {
        struct report *report = &peer->pool[i];

        if (report->pooled &&
            (peer->view->now - report->at > age || report->uses >= most ||
             !peer->view->targets[i].open))
            drop(peer, report);
    }
}

static uint32_t hot_cold(struct prequal *peer)
{
    double hot = threshold(peer);
    struct peer_best best = {0};

    for (uint32_t i = 0; i < peer->view->target_count; i++) {
        const struct report *report = &peer->pool[i];
        bool is_hot = report->rif > hot;

        if (report->pooled)
            peer_best_offer(&best, &peer->draw, i, is_hot ? 1.0 : 0.0,
                            is_hot ? report->rif : report->latency_s);
    }
    return best.target;
}

static uint32_t any_open(struct prequal *peer)
{
    struct peer_best best = {0};

    for (uint32_t i = 0; i < peer->view->target_count; i++)
        if (peer->view->targets[i].open)
            peer_best_offer(&best, &peer->draw, i, 0.0, 0.0);
    return best.target;
}

/* After a pause nothing fresh is left: then it probes first and waits for that,
 * which takes no time here. */
static struct peer_choice choose(void *state,
                                 const struct peer_request *request)
{
    struct prequal *peer = state;
    struct peer_choice choice = {0};

    (void)request;
    drop_stale(peer);
    if (peer->pooled < 2)
        probe_some(peer);
    choice.target = peer->pooled > 0 ? hot_cold(peer) : any_open(peer);
    return choice;
}

/* What was sent counts in the report that it was sent by. */
static void sent(void *state, const struct peer_flight *flight)
{
    struct prequal *peer = state;
    struct report *report = &peer->pool[flight->target];

    report->uses += 1.0;
    report->rif += 1.0;
    remove_some(peer);
    probe_some(peer);
}

static void note(struct prequal *peer, const struct peer_flight *flight)
{
    struct answers *answers = &peer->answers[flight->target];
    struct answer *answer = &answers->list[answers->count++ % ANSWERS];

    answer->rif = flight->in_flight;
    answer->latency_s = (double)(peer->view->now - flight->sent_at) / 1e9;
}

static void first_token(void *state, const struct peer_flight *flight)
{
    struct prequal *peer = state;

    if (peer->values[FIRST_TOKEN] > 0.0)
        note(peer, flight);
}

static void done(void *state, const struct peer_flight *flight)
{
    struct prequal *peer = state;

    if (peer->values[FIRST_TOKEN] <= 0.0 && flight->output_tokens > 0)
        note(peer, flight);
}

const struct peer_rule peer_prequal = {
    .name = PEER_PREFIX "prequal",
    .text = "of probed targets the fastest cold one, if all are hot the one "
            "with the fewest requests",
    .source = "Prequal, NSDI 2024, arXiv:2312.10172",
    .params = params,
    .param_count = PARAM_COUNT,
    .scrape_param = -1,
    .create = create,
    .destroy = destroy,
    .choose = choose,
    .sent = sent,
    .first_token = first_token,
    .done = done,
};
