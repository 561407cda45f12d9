/* SPDX-License-Identifier: MIT */
/* What of a prompt is resident where, by KV events. */
#ifndef LBR_POLICY_RESIDENT_H
#define LBR_POLICY_RESIDENT_H

#include "policy/strategy.h"

/* Finds the eligible member inside the least-busy window that holds most, if it
 * is worth at least |least|; LBR_BITS_NONE without one. |lowest| is the lowest
 * load. |residence| receives what it holds. */
uint32_t lbr_resident_best(const struct lbr_pick *pick, double lowest,
                           double least, struct lbr_residence *residence);

/* Finds out what all members hold. */
void lbr_resident_spread(struct lbr_pick *pick);

/* Finds out what one target holds. */
void lbr_resident_look(struct lbr_pick *pick, struct lbr_target *target);

/* What a target holds; after one of these. */
struct lbr_residence lbr_resident_of(const struct lbr_pick *pick,
                                     const struct lbr_target *target);

/* The worth of what a member holds; NaN: unknown, or no complete block. */
double lbr_resident_worth(const struct lbr_pick *pick, uint32_t position);

/* Notes what the chosen member holds, if anybody asked. */
void lbr_resident_note(const struct lbr_pick *pick, struct lbr_choice *choice);

/* Takes the chosen member to hold the prompt for a while, if the pool wants
 * that; part of a commit. */
void lbr_resident_guess(struct lbr_pick *pick, const struct lbr_choice *choice);

#endif
