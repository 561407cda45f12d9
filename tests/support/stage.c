/* SPDX-License-Identifier: MIT */
#include "support/stage.h"

#include <string.h>

#include "support/test.h"

void stage_init(struct stage *stage, struct fleet *fleet, double score)
{
    memset(stage, 0, sizeof *stage);
    stage->fleet = fleet;
    stage->others = score;
    for (size_t i = 0; i < STAGE_TARGETS; i++)
        stage->scores[i] = score;
}

static double score_of(const struct stage *stage, lbroute_target target)
{
    for (size_t i = 0; i < stage->fleet->count && i < STAGE_TARGETS; i++) {
        if (stage->fleet->targets[i] == target)
            return stage->scores[i];
    }
    return stage->others;
}

static int score(void *user, const lbroute_score_request *request,
                 const lbroute_candidate *candidates, size_t count,
                 double *scores)
{
    struct stage *stage = user;

    stage->calls++;
    stage->explains += request->explaining == 1;
    stage->count = count;
    stage->request = *request;
    for (size_t i = 0; i < count && i < STAGE_TARGETS; i++)
        stage->candidates[i] = candidates[i];
    for (size_t i = 0; i + stage->silent < count; i++)
        scores[i] = score_of(stage, candidates[i].target);
    if (stage->inside != NULL)
        stage->inside(stage, request);
    return stage->result;
}

static void destroy(void *user)
{
    struct stage *stage = user;
    stage->destroyed++;
}

void stage_options(struct stage *stage, const char *name,
                   lbroute_scorer_options *options)
{
    lbroute_scorer_options_init(options, sizeof *options);
    options->name = name;
    options->name_len = strlen(name);
    options->score = score;
    options->destroy = destroy;
    options->user = stage;
}

void stage_register(struct stage *stage, const char *name, int kind,
                    double weight)
{
    lbroute_scorer_options options;

    stage_options(stage, name, &options);
    options.kind = kind;
    options.weight = weight;
    assert_int_equal(lbroute_scorer_register(stage->fleet->router,
                                             stage->fleet->pool, &options,
                                             &stage->handle),
                     LBROUTE_OK);
}

lbroute_scorer_stats stage_stats(const struct stage *stage)
{
    lbroute_scorer_stats stats;

    lbroute_scorer_stats_init(&stats, sizeof stats);
    assert_int_equal(
        lbroute_get_scorer_stats(stage->fleet->router, stage->handle, &stats),
        LBROUTE_OK);
    return stats;
}
