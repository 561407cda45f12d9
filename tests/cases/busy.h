/* SPDX-License-Identifier: MIT */
/* A router with something of everything, for tests that must change nothing,
 * and a twin that sees only the good calls. */
#ifndef TESTS_CASES_BUSY_H
#define TESTS_CASES_BUSY_H

#include "support/fleet.h"
#include "support/state.h"
#include "support/test.h"

struct busy {
    struct fleet fleet;
    struct fleet twin;
    lbroute_pool pools[2];  /* Of fleet; the first is the current one. */
    lbroute_pool gone_pool; /* Stale handles of fleet. */
    lbroute_target gone_target;
    lbroute_ticket gone_ticket;
    lbroute_ticket open_ticket;
};

/* Opens both with the same calls: two pools, five targets with limits, tiers
 * and gauges, requests in flight, a pinned session, a benched and a draining
 * target, and objects of each kind that are gone. */
void busy_open(struct busy *busy, const char *strategy);

/* Checks that both still decide alike, and closes them. */
void busy_close(struct busy *busy);

/* Runs |call|, which must fail with |code| and change nothing at all. */
#define REFUSED(busy, code, call)                                              \
    do {                                                                       \
        char *before_ =                                                        \
            state_text((busy)->fleet.router, (busy)->fleet.now, STATE_FULL);   \
        assert_int_equal((call), (code));                                      \
        state_check((busy)->fleet.router, (busy)->fleet.now, STATE_FULL,       \
                    before_);                                                  \
    } while (0)

#endif
