/* SPDX-License-Identifier: MIT */
/*
 * What the operations of a program share: where the bytes come from, the
 * router, the model and the handles that have gone stale.
 */
#ifndef LBROUTE_TESTS_PROPERTY_PROGRAM_STATE_H
#define LBROUTE_TESTS_PROPERTY_PROGRAM_STATE_H

#include <stddef.h>
#include <stdint.h>

#include <lbroute/lbroute.h>

#include "heap.h"
#include "model.h"
#include "prng.h"

enum {
    PROGRAM_POOLS = 4,
    PROGRAM_TARGETS = 24,
    PROGRAM_STALE = 8,
    PROGRAM_SCORERS = 8,
    PROGRAM_KV_BLOCKS = 40,
    PROGRAM_KV_SOURCES = 6
};

struct program_pool {
    lbroute_pool handle; /**< 0: this place is free. */
    size_t strategy;     /**< An index of lbroute_strategy_name(). */
};

struct program;

/** A scorer of the host's own. */
struct program_scorer {
    struct program *program;
    lbroute_scorer handle;
    uint32_t manner; /**< What it does when it is called. */
    int alive;       /**< Its destructor has not run. */
};

struct program {
    const uint8_t *bytes; /**< NULL: random ones. */
    size_t length;
    size_t at;
    struct rng rng;

    lbroute_router *router;
    struct heap heap;
    struct model model;
    int prompts; /**< Requests have prompts. */
    int unseen;  /**< The model's time has not been told to the router yet. */
    /** lbroute_router_estimate() of the options. It counts 100 ring points a
     * target and neither prompts nor buffers of scorers, so it is void (0) once
     * points follow weights or a scorer is there, and where requests have
     * prompts. */
    size_t estimate;
    uint32_t max_tickets;
    uint32_t max_sessions;
    uint32_t strategies; /**< How many there are. */
    uint32_t names;      /**< Targets named so far. */
    struct program_pool pools[PROGRAM_POOLS];
    struct program_scorer scorers[PROGRAM_SCORERS];
    int priced[MODEL_LABELS];
    int64_t rates[MODEL_LABELS]; /**< -1: unknown. */
    int adaptive_off;
    lbroute_target removed[PROGRAM_STALE];
    size_t removed_count;
    lbroute_ticket settled[PROGRAM_STALE];
    size_t settled_count;
};

/** The next byte; 0 at the end of the bytes. */
uint32_t program_byte(struct program *program);

/** A number below `bound`, which is 1 to 256. */
uint32_t program_below(struct program *program, uint32_t bound);

int program_ended(const struct program *program);

/** The model's time, or an earlier one that must be read as it. */
uint64_t program_now(struct program *program);

/** A pool in use, or NULL. */
struct program_pool *program_some_pool(struct program *program);
struct program_pool *program_find_pool(struct program *program,
                                       lbroute_pool handle);

/** The place of a target, or MODEL_TARGETS if there is none. */
size_t program_some_target(struct program *program);

/* program_fleet.c: pools and targets. */
void program_add_pool(struct program *program);
void program_update_pool(struct program *program);
void program_remove_pool(struct program *program);
void program_set_parameter(struct program *program);
void program_add_target(struct program *program);
void program_update_target(struct program *program);
void program_set_weight(struct program *program);
void program_drain(struct program *program);
void program_bench(struct program *program);
void program_remove_target(struct program *program);
void program_set_gauge(struct program *program);
void program_walk(struct program *program);

/* program_scorers.c: scorers of the host's own. */
void program_add_scorer(struct program *program);
void program_change_scorer(struct program *program);
/** After the router: every destructor has run. */
void program_check_scorers_gone(const struct program *program);

/* program_prices.c: prices, and the switch of the adaptive pools. */
struct program_request;
void program_change_price(struct program *program);
/** Checks what a decision says a request costs on a target. */
void program_check_cost(const struct program *program,
                        const struct model_target *target,
                        const struct program_request *request, int64_t cost);

/* program_events.c: KV events. */
void program_tell_events(struct program *program);
void program_forget_events(struct program *program);

/* program_traffic.c: requests and time. */
void program_pick(struct program *program);
/** Tells the model of a pick that succeeded. */
void program_picked(struct program *program, const lbroute_decision *decision);
void program_observe(struct program *program);
void program_observe_stale(struct program *program);
void program_pass_time(struct program *program);

/* program_reads.c: what must have no effect. */
void program_explain(struct program *program);
void program_explain_at(struct program *program, uint64_t now);
void program_read(struct program *program);

/* program_misuse.c: calls that must be refused. */
void program_misuse(struct program *program);

/* program_request.c: requests. */
struct program_request {
    struct model_request model;
    lbroute_request api;
    char session[2];
    char client[2];
    char conversation[2];
    char prompt[32];
    uint32_t tokens[8];
    uint64_t blocks[8];
};

void program_draw_request(struct program *program,
                          struct program_request *request);

/** Checks a pick's or an explain's answer against the model's view. */
void program_check_answer(struct program *program,
                          const struct program_request *request,
                          const struct model_view *view, int result,
                          const lbroute_decision *decision);

/** Remembers a handle that is no longer good. */
void program_remember_removed(struct program *program, lbroute_target target);
void program_remember_settled(struct program *program, lbroute_ticket ticket);

#endif
