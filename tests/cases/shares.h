/* SPDX-License-Identifier: MIT */
/* Who holds what of a target's memory of prompts. */
#ifndef TESTS_CASES_SHARES_H
#define TESTS_CASES_SHARES_H

#include "support/fleet.h"

/* What the client, a string, has on a target; NULL: requests without a client,
 * and those not told apart. All zero if it has no row. */
lbroute_client_share share_of(struct fleet *fleet, size_t index,
                              const char *client);

/* Blocks that all clients of a target account for, and their number. */
double share_sum(struct fleet *fleet, size_t index, size_t *clients);

/* Checks what a client accounts for, and what it is guaranteed. */
void share_expect(struct fleet *fleet, size_t index, const char *client,
                  double blocks, double share);

#endif
