/* SPDX-License-Identifier: MIT */
/* How the members of a group compare in speed, and what the group's requests
 * have in common: for each member and kind of time a factor, measured against
 * what is expected of all alike.
 *
 * A member's slowness is the geometric mean of measured against expected, in
 * which the latest 64 samples weigh most. Only what is beyond doubt of it
 * counts: as far as it is further from 1 than two standard errors. So equal
 * targets stay equal. One sample counts as at most four times as fast or slow
 * as the member was taken for.
 *
 *     0 ────── doubt ─────── log
 *              └─ slowness ──┘
 *
 * Besides, the mean length of answers, and the part of what was expected in
 * caches that was gone. */
#ifndef LBR_MODELS_PACE_H
#define LBR_MODELS_PACE_H

#include "base/bytes.h"

enum lbr_pace_kind { LBR_PACE_FIRST, LBR_PACE_EACH, LBR_PACE_KINDS };

struct lbr_pace_rate {
    double log;      /* of measured / expected */
    double measured; /* what it is the logarithm of */
    double evidence; /* samples that it rests on, at most 64 */
    double slowness; /* what of it counts */
};

struct lbr_pace_member {
    struct lbr_pace_rate rate[LBR_PACE_KINDS];
};

struct lbr_pace_mean {
    double value;
    double samples; /* that it rests on, at most 64 */
};

struct lbr_pace {
    double lean[LBR_PACE_KINDS];   /* mean of the logs: factors are relative */
    double spread[LBR_PACE_KINDS]; /* their variance */
    struct lbr_pace_mean output;   /* tokens of an answer */
    struct lbr_pace_mean gone;     /* part of what was expected in caches */
};

void lbr_pace_member_init(struct lbr_pace_member *member);

static inline int lbr_pace_makes_sense(double value)
{
    return value >= 0 && value < 1e18;
}

/* A member took |ratio| times as long as is expected of all; above 0. */
void lbr_pace_judge(struct lbr_pace *pace, struct lbr_pace_member *member,
                    enum lbr_pace_kind kind, double ratio);

/* An answer had so many tokens. */
void lbr_pace_learn_output(struct lbr_pace *pace, double tokens);

/* So many tokens were expected in a cache (0: none, no news), and found. */
void lbr_pace_learn_found(struct lbr_pace *pace, double expected, double found);

/* For snapshots; what is read is within the bounds of what is learned. */
void lbr_pace_member_save(const struct lbr_pace_member *member,
                          struct lbr_writer *writer);
void lbr_pace_member_load(struct lbr_pace_member *member,
                          struct lbr_reader *reader);
void lbr_pace_save(const struct lbr_pace *pace, struct lbr_writer *writer);
void lbr_pace_load(struct lbr_pace *pace, struct lbr_reader *reader);

#endif
