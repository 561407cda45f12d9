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
 *     member: two factors (models/pace.h) ─────────┴─▶ its time
 *
 * The planes are learned from all members together, each sample divided by its
 * member's slowness: they are known soon, and cover work that a member has
 * never had. A plane of its own would judge a member by the few kinds of work
 * that it gets, and what it gets depends on that judgement. */
#ifndef LBR_STATE_WORK_TIMES_H
#define LBR_STATE_WORK_TIMES_H

#include "models/least_squares.h"
#include "models/pace.h"

struct lbr_work_times {
    struct lbr_least_squares plane[LBR_PACE_KINDS]; /* queue: n; input: work */
    struct lbr_pace pace;
};

static inline int lbr_work_times_known(const struct lbr_work_times *times,
                                       enum lbr_pace_kind kind)
{
    return lbr_least_squares_known(&times->plane[kind]);
}

/* Takes in that a member took |ns| while |running| others ran there. Numbers
 * that make no sense change nothing. */
void lbr_work_times_learn(struct lbr_work_times *times,
                          struct lbr_pace_member *member,
                          enum lbr_pace_kind kind, double running, double work,
                          double ns);

#endif
