/* SPDX-License-Identifier: MIT */
/* Requests that wait in a fleet: short calls for tests of the queue. */
#ifndef TESTS_CASES_WAITING_H
#define TESTS_CASES_WAITING_H

#include "support/fleet.h"

/* Opens a fleet with its queue on and |targets| targets of |limit| slots. */
void waiting_open(struct fleet *fleet, const char *strategy, size_t targets,
                  uint32_t limit);

/* Picks for |request| under the number |tag|, and checks that it waits. Gives
 * its place. */
lbroute_place waiting_queue(struct fleet *fleet, uint64_t tag);

/* Asks for the next waiter. Gives the index of its target, whose slot is held,
 * or FLEET_NONE; |code| and |decision| say more. */
size_t waiting_next(struct fleet *fleet);

/* Checks that the next waiter to go is |tag|, and gives its target. */
size_t waiting_expect(struct fleet *fleet, uint64_t tag);

/* Checks that nobody can go now. */
void waiting_expect_none(struct fleet *fleet);

/* Checks that the next waiter to be reported will not be served. */
void waiting_expect_refused(struct fleet *fleet, uint64_t tag, int code,
                            int reason);

int waiting_cancel(struct fleet *fleet, lbroute_place place);

lbroute_pool_stats waiting_stats(struct fleet *fleet);

#endif
