/* SPDX-License-Identifier: MIT */
/* How far the members of a group know a prompt: what all rules with prefix
 * affinity build on. */
#ifndef LBR_POLICY_AFFINITY_H
#define LBR_POLICY_AFFINITY_H

#include "policy/strategy.h"

struct lbr_affinity {
    const void *symbols; /* of the prompt, as the group's trie compares them */
    size_t length;       /* bytes */
    uint32_t unit;       /* bytes of what is counted in decisions */
    size_t total;        /* of those, in the whole prompt */
    size_t common;       /* leading bytes that nearly all requests have */
    double lowest;       /* relative load of the eligible */
};

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

/* Remembers the prompt for the chosen member; part of a commit. */
void lbr_affinity_record(struct lbr_pick *pick,
                         const struct lbr_choice *choice);

/* Part of the prompt that a member knows, for explanations. */
double lbr_affinity_score(const struct lbr_pick *pick, uint32_t position);

#endif
