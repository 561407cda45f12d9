/* SPDX-License-Identifier: MIT */
/*
 * A naive model of a router: what DESIGN.md says, with plain arrays and scans.
 *
 * It knows targets in list order, open tickets, counts, health, filters and
 * smooth weighted round-robin. The caller tells it of each call that the router
 * accepted; a check compares the two. It holds one set of health parameters
 * for all pools (a target without a pool has the defaults). List order is the
 * order in which targets were added to the router, whatever pool they are in.
 *
 *     targets: [0] [1] [2] … in list order, removal closes the gap
 *     tickets: open ones in the order of their picks
 */
#ifndef LBROUTE_TESTS_PROPERTY_MODEL_H
#define LBROUTE_TESTS_PROPERTY_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <lbroute/lbroute.h>

#include "exact.h"
#include "model_health.h"

enum {
    MODEL_TARGETS = 256,
    MODEL_TICKETS = 4096,
    MODEL_LABELS = 4,
    MODEL_EXCLUDES = 16
};

/** Label 0 is the empty string; the others differ by little. */
const char *model_label(int label);

struct model_target {
    lbroute_target handle;
    lbroute_pool pool;
    double weight;
    struct exact exact; /**< The weight as an exact number. */
    uint32_t max_concurrency;
    uint64_t max_input_tokens;
    int tier;   /**< A label. */
    int serves; /**< The label of its model. */
    int drained;
    uint32_t in_flight;
    uint64_t picks;
    uint64_t settled[LBROUTE_EVENT_COUNT];
    uint64_t expired;
    struct model_health health;
    struct exact current; /**< Of the smooth weighted round-robin. */
};

struct model_ticket {
    lbroute_ticket handle;
    lbroute_target target; /**< 0: removed since. */
    uint64_t picked_at;
    uint64_t order; /**< Number of the pick, from 1. */
    int trial;      /**< Picked while its target was on trial. */
    int waits;      /**< For its first token, where that is counted. */
};

struct model_request {
    lbroute_pool pool; /**< 0: all that serve `model`. */
    int tier;
    int model;
    int64_t tokens; /**< -1: unknown. */
    size_t exclude_len;
    lbroute_target exclude[MODEL_EXCLUDES];
};

struct model {
    struct model_health_rules rules;
    uint64_t ticket_ttl;
    uint64_t now;
    uint64_t order; /**< Number of the last pick. */
    size_t target_count;
    struct model_target targets[MODEL_TARGETS];
    size_t ticket_count;
    struct model_ticket tickets[MODEL_TICKETS];
    uint64_t picks;
    uint64_t rejections[LBROUTE_REASON_COUNT];
    uint64_t settled[LBROUTE_EVENT_COUNT];
    uint64_t expired;
};

/** What each target is to a request. */
struct model_view {
    /** Verdict by place in `targets`; -1: no candidate. */
    int verdicts[MODEL_TARGETS];
    uint32_t reasons[LBROUTE_REASON_COUNT];
    uint32_t candidates;
    uint32_t eligible;
    int bench_ignored;
    int mixed; /**< Candidates of several pools, or of none. */
    /** Sums over the full targets that could take the request. */
    uint64_t in_flight;
    uint64_t limit;
};

/** An empty model; the router's defaults for health and tickets. */
void model_init(struct model *model);

/** Place of a target, or MODEL_TARGETS. */
size_t model_find(const struct model *model, lbroute_target handle);

/** Appends a target with these settings and without history. */
struct model_target *model_add(struct model *model, lbroute_target handle,
                               lbroute_pool pool, double weight);
void model_remove(struct model *model, size_t place);
void model_set_weight(struct model_target *target, double weight);

/** After a weight of a tier was lowered or a target left it: nobody keeps more
 * credit or debt than one round of the weights. */
void model_clamp(struct model *model, int tier);

/** Lets time pass to `now`, if that is later; expires tickets. */
void model_advance(struct model *model, uint64_t now);

/** Verdicts at the model's time. */
void model_look(const struct model *model, const struct model_request *request,
                struct model_view *view);

/** What a pick returns to a request that looks like this. */
int model_result(const struct model_view *view);

/** Whether this reason held for most targets. */
int model_main_reason(const struct model_view *view, int reason);

/** Counts a pick of a target. */
void model_pick(struct model *model, size_t place, lbroute_ticket ticket);

/** Place of an open ticket, or MODEL_TICKETS. */
size_t model_find_ticket(const struct model *model, lbroute_ticket handle);

/** Settles an open ticket with a kind; kind 0 stands for unknown ones. */
void model_settle(struct model *model, size_t ticket, int kind);

/** Benches from now; 0 ends bench and trial. */
void model_bench(struct model *model, size_t place, uint64_t duration);

/** Open tickets of removed targets. */
uint64_t model_orphans(const struct model *model);

/** The target that smooth weighted round-robin picks, without effect. */
size_t model_weighted(const struct model *model, const struct model_view *view);

/** Moves the weighted sequence on after that pick. */
void model_weighted_done(struct model *model, const struct model_view *view,
                         size_t place);

/** Checks every count of the router and of each target. */
void model_check_counts(const struct model *model, lbroute_router *router);

/** Fills in an API request; `exclude` stays with the model's request. */
void model_fill_request(const struct model_request *request,
                        lbroute_request *out);

#endif
