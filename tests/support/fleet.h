/* SPDX-License-Identifier: MIT */
/* A router with one current pool, driven by short calls.
 *
 * Targets are spoken of by index, in the order in which they were added, and
 * are named A, B, C, … (t26, t27, … after Z). An index stays with its target
 * when others are removed. The helpers fail the running test when a call that
 * should succeed does not.
 *
 * The clock stands still unless the test moves |now|. A pick is "held open"
 * until one of the settle calls. */
#ifndef TESTS_SUPPORT_FLEET_H
#define TESTS_SUPPORT_FLEET_H

#include <stddef.h>
#include <stdint.h>

#include <lbroute/lbroute.h>

#include "support/alloc.h"

/* A test of one strategy, and its run under every strategy there is. */
typedef void fleet_test(const char *strategy);
void fleet_for_each_strategy(fleet_test *test);

#define FLEET_NONE SIZE_MAX /* Index of "no target". */

/* A request that was picked and not yet settled. */
struct fleet_held {
    lbroute_ticket ticket;
    size_t index;
};

struct fleet {
    lbroute_router *router;
    lbroute_pool pool;         /* The pool that the calls below use. */
    uint64_t now;              /* Passed to every call, ns. */
    lbroute_request request;   /* What fleet_pick() asks for. */
    int code;                  /* Result of the last pick. */
    lbroute_decision decision; /* Answer of the last pick. */
    size_t count;              /* Targets added so far. */
    lbroute_target *targets;   /* Handles by index; stale once removed. */
    size_t *picks;             /* Picks by index; see fleet_reset_picks(). */
    size_t held_count;
    size_t held_capacity;
    struct fleet_held *held; /* Oldest first. */
    struct test_alloc alloc;
};

/* Opens a router with default bounds, a pool and |targets| default targets. */
void fleet_open(struct fleet *fleet, const char *strategy, size_t targets,
                uint64_t seed);

/* The same with |options|, whose allocator is replaced, and no target. */
void fleet_open_options(struct fleet *fleet,
                        const lbroute_router_options *options,
                        const char *strategy);

/* Destroys the router and checks that every byte came back. */
void fleet_close(struct fleet *fleet);

/* Restores what one fleet has learned to another. */
void fleet_carry_over(const struct fleet *from, struct fleet *to);

/* Adds a pool and makes it the current one. */
lbroute_pool fleet_add_pool(struct fleet *fleet, const char *name,
                            const char *strategy);

/* Gives the current pool another strategy or parameter value. */
void fleet_strategy(struct fleet *fleet, const char *strategy);
void fleet_param(struct fleet *fleet, const char *name, double value);

/* Writes the name that the target with |index| gets. */
void fleet_name(size_t index, char name[32]);

/* Default options of a target in the current pool, still without a name. */
void fleet_target_options(const struct fleet *fleet,
                          lbroute_target_options *options);

/* Adds a target, gives its index. Without a name in |options| it gets the next
 * letter. */
size_t fleet_add_options(struct fleet *fleet,
                         const lbroute_target_options *options);
size_t fleet_add(struct fleet *fleet);
size_t fleet_add_weight(struct fleet *fleet, double weight);
size_t fleet_add_limit(struct fleet *fleet, uint32_t max_concurrency);
size_t fleet_add_named(struct fleet *fleet, const char *name);

/* Removes a target, and adds one with default options under its old name and
 * index. */
void fleet_remove(struct fleet *fleet, size_t index);
void fleet_add_again(struct fleet *fleet, size_t index);

/* Applies the settings that a target has once more. */
void fleet_reapply(struct fleet *fleet, size_t index);

void fleet_set_weight(struct fleet *fleet, size_t index, double weight);
void fleet_set_limit(struct fleet *fleet, size_t index, uint32_t limit);
void fleet_drain(struct fleet *fleet, size_t index, int draining);
void fleet_bench(struct fleet *fleet, size_t index, uint64_t duration);
void fleet_gauge(struct fleet *fleet, size_t index, int gauge, double value);

/* Sets session, client or prompt of the requests to come; NULL: none. The
 * string must outlive them. */
void fleet_session(struct fleet *fleet, const char *session);
void fleet_client(struct fleet *fleet, const char *client);
void fleet_prompt(struct fleet *fleet, const char *prompt);

/* Picks for |request| and holds the slot. Gives the index of the target, or
 * FLEET_NONE; |code| and |decision| say more. */
size_t fleet_pick(struct fleet *fleet);

/* The same, and the request is answered (SUCCESS) at once. */
size_t fleet_serve(struct fleet *fleet);

/* The same, and the slot is put back by CANCEL: a pick that leaves the figures
 * as they were ("frozen"). */
size_t fleet_pick_frozen(struct fleet *fleet);

/* Gives the index that the next pick would give, without effect. */
size_t fleet_explain(struct fleet *fleet);

/* Why a target could not take |request| now; LBROUTE_REASON_NONE if it can. */
int fleet_verdict(struct fleet *fleet, size_t index);

/* Runs |n| picks that are served at once and writes them as letters, '-' for
 * a rejection, into |letters|, which holds n + 1 characters. */
void fleet_letters(struct fleet *fleet, size_t n, char *letters);

/* Checks that the next picks, served at once, follow |letters|. */
void fleet_expect(struct fleet *fleet, const char *letters);

/* Holds |n| more requests on one target, by excluding the others. This moves
 * the cursor of `round_robin` and random generators, but not the state of
 * `weighted`. */
void fleet_hold(struct fleet *fleet, size_t index, size_t n);

/* Settles the oldest request held on |index|, the request picked last, or all
 * that are held. */
void fleet_settle(struct fleet *fleet, size_t index, int kind);
void fleet_settle_last(struct fleet *fleet, int kind);
void fleet_settle_all(struct fleet *fleet, int kind);

/* Sends a request to one target by exclusion and settles it with |kind|. */
void fleet_send(struct fleet *fleet, size_t index, int kind);

/* Answers the request picked last: its first token (0: not reported) and its
 * end came so many ns after the pick. The clock stands still. */
void fleet_answer_last(struct fleet *fleet, uint64_t first, uint64_t total);

/* The same for a request that is sent to one target by exclusion, |n| times. */
void fleet_teach(struct fleet *fleet, size_t index, uint64_t first,
                 uint64_t total, size_t n);

/* What was learned of a target; a LBROUTE_LATENCY_ kind. */
lbroute_latency_model fleet_model(struct fleet *fleet, size_t index, int kind);

/* What least_work goes by at a target. */
lbroute_work_model fleet_work(struct fleet *fleet, size_t index);

/* What a target would need for |request|, ns; -1: unknown. */
int64_t fleet_expected(struct fleet *fleet, size_t index, int kind);

/* What the rule ranks a target by for |request|. */
double fleet_score(struct fleet *fleet, size_t index);

/* Settles a ticket that the fleet does not hold; gives the result. */
int fleet_observe(struct fleet *fleet, lbroute_ticket ticket, int kind);

lbroute_target_stats fleet_stats(struct fleet *fleet, size_t index);
uint32_t fleet_in_flight(struct fleet *fleet, size_t index);
lbroute_stats fleet_totals(struct fleet *fleet);

/* Forgets the |picks| counted so far. */
void fleet_reset_picks(struct fleet *fleet);

#endif
