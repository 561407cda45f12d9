/* SPDX-License-Identifier: MIT */
/* A pick and the scorers and filters of its pool ("stages"). They run without
 * the lock, between two looks at the router:
 *
 *     lock    eligible candidates ─▶ run        lbr_judge_start()
 *     unlock  stages score and filter them      lbr_judge_call()
 *     lock    results ─▶ whoever is eligible    lbr_judge_apply()
 *             by now, and the choice
 *
 * A target that came in between has no score, which is unknown, and was kept by
 * no filter. */
#ifndef LBR_POLICY_JUDGE_H
#define LBR_POLICY_JUDGE_H

#include "policy/pick.h"

/* Begins a run with the eligible candidates. Returns LBR_ROUTE_NEEDS_STAGES,
 * or 0 when no stage is on, or LBROUTE_ERR_NO_MEMORY. */
int lbr_judge_start(struct lbr_pick *pick, struct lbr_ask *ask);

/* Calls the stages of the ask's run; the lock is not held. */
void lbr_judge_call(const struct lbr_ask *ask);

/* Gives the results of the ask's run to the targets. Returns 0, or
 * LBR_ROUTE_AGAIN when the request has come to another pool meanwhile. */
int lbr_judge_apply(struct lbr_pick *pick);

/* After filters have left nobody: whether there is somebody whom they have not
 * seen, so that it is worth while to ask again. */
int lbr_judge_missed(const struct lbr_pick *pick);

/* Ends the ask's run; the lock is not held. */
void lbr_judge_finish(struct lbroute_router *router, struct lbr_ask *ask);

static inline int lbr_judge_seen(const struct lbr_pick *pick,
                                 const struct lbr_target *target)
{
    return target->judged_by == pick->judgement;
}

/* Whether the filters of the pool are against a target. */
static inline int lbr_judge_rejects(const struct lbr_pick *pick,
                                    const struct lbr_target *target)
{
    return pick->run && pick->run->filtered &&
           !(lbr_judge_seen(pick, target) && target->judged >= 0);
}

#endif
