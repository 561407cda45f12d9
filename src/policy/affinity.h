/* SPDX-License-Identifier: MIT */
/* How far the members of a group know a prompt: what all rules with prefix
 * affinity build on. */
#ifndef LBR_POLICY_AFFINITY_H
#define LBR_POLICY_AFFINITY_H

#include "policy/strategy.h"

/* Looks the prompt up; notes the match in |pick|. */
struct lbr_affinity lbr_affinity_look(struct lbr_pick *pick);

/* Relative load of a member, eligible or not. */
double lbr_affinity_load(const struct lbr_pick *pick, uint32_t position);

/* Whether a member may be chosen and is inside the least-busy window. */
int lbr_affinity_in_window(const struct lbr_pick *pick,
                           const struct lbr_affinity *affinity,
                           uint32_t position);

/* Whether |a| goes before |b| among equally good members. */
int lbr_affinity_less_busy(const struct lbr_pick *pick, uint32_t a, uint32_t b);

/* The least busy holder of a node that may be chosen and is inside the window,
 * or LBR_BITS_NONE. */
uint32_t lbr_affinity_holder(const struct lbr_pick *pick,
                             const struct lbr_affinity *affinity,
                             const struct lbr_trie_node *node);

/* Notes how much of the prompt the chosen member knows. The score is that
 * part. */
void lbr_affinity_note(const struct lbr_pick *pick,
                       const struct lbr_affinity *affinity,
                       struct lbr_choice *choice);

/* Finds out what every member knows, at the cost of those who know more than
 * all do. lbr_affinity_part() then tells, until the next survey. */
void lbr_affinity_survey(const struct lbr_pick *pick,
                         struct lbr_affinity *affinity);

/* The same, and fills in by position which part of the prompt each does not
 * know. */
void lbr_affinity_spread(const struct lbr_pick *pick,
                         struct lbr_affinity *affinity, double *uncached);

/* Leading bytes of the prompt that a member knows, surveyed or not. */
size_t lbr_affinity_held(const struct lbr_pick *pick,
                         const struct lbr_affinity *affinity,
                         uint32_t position);

/* Part of the prompt that a surveyed member knows, the common head apart, 0 if
 * it is next to nothing; NaN without a prompt. */
double lbr_affinity_part(const struct lbr_pick *pick,
                         const struct lbr_affinity *affinity,
                         uint32_t position);

/* Remembers the prompt for the chosen member; part of a commit. */
void lbr_affinity_record(struct lbr_pick *pick,
                         const struct lbr_choice *choice);

/* A commit: that, and the member's rank among equally busy ones. */
void lbr_affinity_commit(struct lbr_pick *pick,
                         const struct lbr_choice *choice);

/* Part of the prompt that a member knows, for explanations. */
double lbr_affinity_score(const struct lbr_pick *pick, uint32_t position);

#endif
