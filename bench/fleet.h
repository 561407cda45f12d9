/* SPDX-License-Identifier: MIT */
/*
 * A router with one pool in the middle of its work: warm, with requests in
 * flight on every target.
 *
 * Each lane (thread) keeps a ring of open tickets, BENCH_IN_FLIGHT a target
 * over all lanes of a router. One operation picks a target for a new request
 * and settles the oldest ticket of the lane in its place:
 *
 *     open: [t3 t4 | t1 t2]       pick ──▶ t5      observe(t1)
 *                    ^next
 *
 * Where the strategy learns from answers it observes twice: the first token,
 * and the end with the usage.
 */
#ifndef LBROUTE_BENCH_FLEET_H
#define LBROUTE_BENCH_FLEET_H

#include "prompts.h"

#include <lbroute/lbroute.h>

enum {
    BENCH_IN_FLIGHT = 4,      /* open tickets a target */
    BENCH_SESSIONS = 8,       /* conversations a target */
    BENCH_SESSION_BYTES = 36, /* as long as a UUID in text */
    BENCH_STEP_NS = 10000     /* virtual time that a request takes to arrive */
};

/* What an engine says to a request. */
typedef struct bench_answer {
    int64_t first_ns;
    int64_t input_tokens, cached_tokens;
} bench_answer;

typedef struct bench_lane {
    lbroute_router *router;
    lbroute_ticket *open;
    size_t open_count;
    size_t next;
    uint64_t now;
    uint64_t random;
    uint64_t sessions; /* to draw from; 0: requests carry no session */
    unsigned char session[BENCH_SESSION_BYTES];
    bench_prompts *prompts; /* NULL: requests carry no prompt */
    bench_answer *answers;  /* of the open tickets; NULL: only ends are told */
    lbroute_request request;
    lbroute_decision decision;
    lbroute_event event;
} bench_lane;

typedef struct bench_fleet {
    lbroute_router *routers[BENCH_LANES_MAX];
    bench_lane *lanes[BENCH_LANES_MAX]; /* allocated apart: no shared lines */
    unsigned router_count;
    unsigned lane_count;
} bench_fleet;

/* Builds and warms what the case describes. Ends the program on failure. */
bench_fleet *bench_fleet_open(const bench_case *test);
void bench_fleet_close(bench_fleet *fleet);

/* The targets of the first router, in order; the caller frees them. */
lbroute_target *bench_fleet_targets(const bench_fleet *fleet, size_t count);

/* Picks for the lane's next request into its decision. */
void bench_lane_pick(bench_lane *lane);

/* Settles the lane's oldest ticket, and keeps that of the decision open. */
void bench_lane_settle(bench_lane *lane);

/* One operation: pick, then settle the lane's oldest ticket. */
void bench_lane_step(bench_lane *lane);

/* The weight of target `index` among `distinct` different ones: 1, 2, … */
double bench_weight(size_t index, size_t distinct);

/* Writes the name of a target, for example "target-00042". */
enum { BENCH_TARGET_NAME = 32 };
size_t bench_target_name(char name[BENCH_TARGET_NAME], size_t index);

#endif
