/* SPDX-License-Identifier: MIT */
#include "report_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Moves the runs of one strategy behind each other, in their order. */
static void gather(struct report_groups *groups, const char *strategy,
                   const struct replay_result *results, size_t count,
                   size_t *used)
{
    struct report_group *group = &groups->list[groups->count++];

    group->strategy = strategy;
    group->runs = groups->runs + *used;
    for (size_t i = 0; i < count; i++)
        if (strcmp(results[i].strategy, strategy) == 0)
            groups->runs[(*used)++] = &results[i];
    group->run_count = (size_t)(groups->runs + *used - group->runs);
}

static bool is_gathered(const struct report_groups *groups,
                        const char *strategy)
{
    for (size_t i = 0; i < groups->count; i++)
        if (strcmp(groups->list[i].strategy, strategy) == 0)
            return true;
    return false;
}

/* Whether `left` belongs behind `right`; a missing value is last. */
static bool is_worse(const struct report_group *left,
                     const struct report_group *right)
{
    double a = report_spread_of(left, report_ttft_mean).mean;
    double b = report_spread_of(right, report_ttft_mean).mean;

    return a > b || (isnan(a) && !isnan(b));
}

/* Insertion sort: few groups, and equal ones keep their order. */
static void rank(struct report_groups *groups)
{
    for (size_t i = 1; i < groups->count; i++) {
        struct report_group moved = groups->list[i];
        size_t at = i;

        while (at > 0 && is_worse(&groups->list[at - 1], &moved)) {
            groups->list[at] = groups->list[at - 1];
            at--;
        }
        groups->list[at] = moved;
    }
}

int report_groups_make(struct report_groups *groups,
                       const struct replay_result *results, size_t count)
{
    size_t used = 0;

    groups->count = 0;
    groups->list = calloc(count + 1, sizeof *groups->list);
    groups->runs = calloc(count + 1, sizeof *groups->runs);
    if (groups->list == NULL || groups->runs == NULL) {
        report_groups_free(groups);
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        if (!is_gathered(groups, results[i].strategy))
            gather(groups, results[i].strategy, results, count, &used);
    rank(groups);
    return 0;
}

void report_groups_free(struct report_groups *groups)
{
    free(groups->list);
    free(groups->runs);
    groups->list = NULL;
    groups->runs = NULL;
    groups->count = 0;
}

struct report_spread report_spread_of(const struct report_group *group,
                                      report_getter *value)
{
    struct report_spread spread = {(double)NAN, (double)NAN, (double)NAN};
    double sum = 0;
    size_t known = 0;

    for (size_t i = 0; i < group->run_count; i++) {
        double one = value(group->runs[i]);

        if (isnan(one))
            continue;
        sum += one;
        known++;
        spread.low = fmin(spread.low, one);
        spread.high = fmax(spread.high, one);
    }
    if (known > 0)
        spread.mean = sum / (double)known;
    return spread;
}

struct report_spread report_spread_all(const struct report_groups *groups,
                                       report_getter *value)
{
    struct report_spread all = {(double)NAN, (double)NAN, (double)NAN};

    for (size_t i = 0; i < groups->count; i++) {
        struct report_spread one = report_spread_of(&groups->list[i], value);

        all.low = fmin(all.low, one.low);
        all.high = fmax(all.high, one.high);
    }
    return all;
}
