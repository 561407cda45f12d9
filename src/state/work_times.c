/* SPDX-License-Identifier: MIT */
#include "state/work_times.h"

#include <stddef.h>

void lbr_work_times_learn(struct lbr_work_times *times,
                          struct lbr_pace_member *member,
                          enum lbr_pace_kind kind, double running, double work,
                          double ns)
{
    struct lbr_least_squares *plane = &times->plane[kind];

    if (!(ns > 0) || !lbr_pace_makes_sense(ns) ||
        !lbr_pace_makes_sense(running) || !lbr_pace_makes_sense(work))
        return;
    if (lbr_least_squares_known(plane))
        lbr_pace_judge(&times->pace, member, kind,
                       ns / lbr_least_squares_at(plane, running, work));
    lbr_least_squares_add(plane, running, work,
                          ns / member->rate[kind].slowness, NULL);
}
