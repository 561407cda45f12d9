/* SPDX-License-Identifier: MIT */
/*
 * A gateway without engines and without clients: pools, targets and random
 * traffic made by hand, so that the admin port has something to show.
 *
 *     timer ──▶ pick ──▶ journal ──(some time later)──▶ observe, journal
 *
 * Stands in for what the port asks of the rest of the gateway.
 */
#ifndef TESTS_GATEWAY_ADMIN_STAGE_H
#define TESTS_GATEWAY_ADMIN_STAGE_H

#include "config.h"
#include "fleet.h"
#include "gateway.h"

#include <stdint.h>

enum { STAGE_CALLS = 1024, STAGE_POOLS = 8 };

/* A request under way. */
struct stage_call {
    bool used, waiting, first_seen;
    unsigned pool;
    lbroute_ticket ticket;
    lbroute_target target;
    uint64_t began, first_at, ends_at, number;
    int outcome;
    char client[32];
    char session[32];
    char *prompt;
};

struct stage {
    struct gateway gateway;
    struct config config;
    struct fleet fleet;
    struct stage_call calls[STAGE_CALLS];
    lbroute_pool pools[STAGE_POOLS];
    unsigned pool_count;
    uint64_t random;
    double rate; /* Requests per second for each pool. */
    unsigned reloads;
};

/* `size` targets in the first pool. At a rate of 0 nothing happens by itself.
 */
void stage_open(struct stage *stage, unsigned size, double rate);
void stage_close(struct stage *stage);

/* Settles what has ended and sends what is due for so many seconds. */
void stage_step(struct stage *stage, double seconds);

#endif
