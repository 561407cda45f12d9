/* SPDX-License-Identifier: MIT */
/* How much of a prompt each member would have to compute, as far as that is a
 * reason to go elsewhere:
 *
 *     part  = what it does not hold, at most what is not common to nearly all
 *     fill  = blocks sent there / mean of all, at most 2
 *     counts as  part × (1 + lean × (fill - 1))
 *
 * A head that nearly all requests share is computed once on each. And on a
 * fleet that is nearly idle, load leads nobody away from the member that holds
 * a little of a prompt: what the rest would drive out there must count. */
#ifndef LBR_POLICY_TO_COMPUTE_H
#define LBR_POLICY_TO_COMPUTE_H

#include "policy/strategy.h"

/* Notes in |pick| how far members are told apart by what was sent there, by no
 * more than |lean|; once the prompt was looked up. */
void lbr_to_compute_look(struct lbr_pick *pick, double lean);

/* Fills in the uncached column: by what was sent where, unless events tell of
 * somebody. Returns whether that is all true, and not just the best that can be
 * where a part has |many| holders. */
int lbr_to_compute_fill(const struct lbr_pick *pick, uint32_t many);

/* The same of one member, and true. */
double lbr_to_compute_at(const struct lbr_pick *pick, uint32_t position);

#endif
