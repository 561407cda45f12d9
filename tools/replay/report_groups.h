/* SPDX-License-Identifier: MIT */
/*
 * Runs gathered by strategy: a chart shows one row a strategy, however many
 * seeds were run. The best mean first-token time comes first.
 */
#ifndef LBROUTE_REPLAY_REPORT_GROUPS_H
#define LBROUTE_REPLAY_REPORT_GROUPS_H

#include "report_measures.h"

struct report_group {
    const char *strategy;
    const struct replay_result **runs; /* a piece of the owner's array */
    size_t run_count;                  /* at least 1 */
};

struct report_groups {
    struct report_group *list;
    size_t count;
    const struct replay_result **runs;
};

/* Mean, least and greatest over the runs of a group that have the value. */
struct report_spread {
    double mean;
    double low;
    double high;
};

/* Returns 0, or -1 (errno). The results must outlive the groups. */
int report_groups_make(struct report_groups *groups,
                       const struct replay_result *results, size_t count);

void report_groups_free(struct report_groups *groups);

struct report_spread report_spread_of(const struct report_group *group,
                                      report_getter *value);

/* Least and greatest value over all groups; NaN if there is none. */
struct report_spread report_spread_all(const struct report_groups *groups,
                                       report_getter *value);

#endif
