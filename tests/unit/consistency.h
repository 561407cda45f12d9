/* SPDX-License-Identifier: MIT */
/* What must hold between the tables of a router at any time. */
#ifndef TESTS_UNIT_CONSISTENCY_H
#define TESTS_UNIT_CONSISTENCY_H

#include "state/router.h"

/* Checks that pools, models, groups and targets agree on who is where. */
void check_router(struct lbroute_router *router);

/* Checks what a group that is up to date says about its members: sums, usable
 * bits, and the tables for picking. */
void check_group(const struct lbr_group *group);

#endif
