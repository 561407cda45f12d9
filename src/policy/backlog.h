/* SPDX-License-Identifier: MIT */
/* The work that waits at the members for a first token. Rules that follow
 * latency learn only when answers come; until then all would go to one member,
 * and at high load the least-busy window alone lets dozens of prompts pile up
 * there. So the same window holds for this work, counted in usual requests. */
#ifndef LBR_POLICY_BACKLOG_H
#define LBR_POLICY_BACKLOG_H

#include "policy/latency.h"

#include <math.h>

struct lbr_backlog {
    const double *queue, *others; /* that wait: work, requests of others */
    double usual;                 /* request, kilotokens; 0: unknown */
    double least;                 /* of those counted */
};

/* The group as this pick finds it, with nobody counted. */
static inline struct lbr_backlog lbr_backlog_look(const struct lbr_pick *pick)
{
    const struct lbr_forecast *forecast = &pick->group->forecast;
    struct lbr_backlog backlog = {NULL, NULL, 0, (double)INFINITY};

    if (!lbr_latency_learns(pick))
        return backlog;
    backlog.queue = lbr_forecast_column(forecast, LBR_COLUMN_QUEUE);
    backlog.others = lbr_forecast_column(forecast, LBR_COLUMN_OTHERS);
    backlog.usual = pick->group->latency_mean.input;
    return backlog;
}

static inline double lbr_backlog_of(const struct lbr_backlog *backlog,
                                    uint32_t position)
{
    return backlog->queue[position] +
           backlog->others[position] * backlog->usual;
}

/* Counts a member that is inside the window of loads. */
static inline void lbr_backlog_count(struct lbr_backlog *backlog,
                                     uint32_t position)
{
    if (backlog->usual > 0)
        backlog->least =
            fmin(backlog->least, lbr_backlog_of(backlog, position));
}

/* Whether its work is inside the window, once all are counted. Where no request
 * has told its size, work is not known either. */
static inline int lbr_backlog_in_window(const struct lbr_backlog *backlog,
                                        uint32_t position)
{
    double usual = backlog->usual;

    return !(usual > 0) ||
           lbr_load_in_window(lbr_backlog_of(backlog, position) / usual,
                              backlog->least / usual);
}

#endif
