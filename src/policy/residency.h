/* SPDX-License-Identifier: MIT */
/* How the members of a group stand to the adapter of a request. */
#ifndef LBR_POLICY_RESIDENCY_H
#define LBR_POLICY_RESIDENCY_H

#include "policy/pick.h"

/* The best first: holds it, has a free slot for it, nothing is known, would
 * have to give another one up. */
enum lbr_residency {
    LBR_RESIDENT,
    LBR_RESIDENCY_ROOM,
    LBR_RESIDENCY_UNSURE,
    LBR_RESIDENCY_FULL
};

/* How a member stands to the adapter of the request, which has one. */
enum lbr_residency lbr_residency_of(const struct lbr_pick *pick,
                                    uint32_t position);

/* The same as a score: 1, 0.5, 0.25, 0. */
double lbr_residency_score(enum lbr_residency residency);

#endif
