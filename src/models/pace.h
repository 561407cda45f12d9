/* SPDX-License-Identifier: MIT */
/* How long work takes in a group of targets, and how they compare:
 *
 *     first token = slowness  * (base + per_running  * n + per_work * work)
 *     each token  = slowness' * (base' + per_running' * n)
 *
 * where n requests run there, and the work is what must be computed before the
 * first token: what waits, and the request's own (kilotokens).
 *
 *     group: two planes, of all members' samples ──┐
 *     member: two factors ─────────────────────────┴─▶ its time
 *
 * The planes are learned from all members together, each sample divided by its
 * member's slowness: they are known soon, and cover work that a member has
 * never had. A plane of its own would judge a member by the few kinds of work
 * that it gets, and what it gets depends on that judgement.
 *
 * A member's slowness is the geometric mean of measured against expected, in
 * which the latest 64 samples weigh most. Only what is beyond doubt of it
 * counts: as far as it is further from 1 than two standard errors. So equal
 * targets stay equal. One sample counts as at most four times as fast or slow
 * as expected.
 *
 * Besides, the group's mean length of answers, and the part of what was
 * expected in caches that was gone. */
#ifndef LBR_MODELS_PACE_H
#define LBR_MODELS_PACE_H

#include "models/least_squares.h"

enum lbr_pace_kind { LBR_PACE_FIRST, LBR_PACE_EACH, LBR_PACE_KINDS };

struct lbr_pace_rate {
    double log;      /* of measured / expected */
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
    struct lbr_least_squares plane[LBR_PACE_KINDS]; /* queue: n; input: work */
    double lean[LBR_PACE_KINDS];   /* mean of the logs: factors are relative */
    double spread[LBR_PACE_KINDS]; /* their variance */
    struct lbr_pace_mean output;   /* tokens of an answer */
    struct lbr_pace_mean gone;     /* part of what was expected in caches */
};

void lbr_pace_member_init(struct lbr_pace_member *member);

static inline int lbr_pace_known(const struct lbr_pace *pace,
                                 enum lbr_pace_kind kind)
{
    return lbr_least_squares_known(&pace->plane[kind]);
}

/* Takes in that a member took |ns| while |running| others ran there. Numbers
 * that make no sense change nothing. */
void lbr_pace_learn(struct lbr_pace *pace, struct lbr_pace_member *member,
                    enum lbr_pace_kind kind, double running, double work,
                    double ns);

/* An answer had so many tokens. */
void lbr_pace_learn_output(struct lbr_pace *pace, double tokens);

/* So many tokens were expected in a cache (0: none, no news), and found. */
void lbr_pace_learn_found(struct lbr_pace *pace, double expected, double found);

#endif
