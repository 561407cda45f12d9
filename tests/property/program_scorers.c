/* SPDX-License-Identifier: MIT */
/* Scorers of the host's own. They score as they like, for the model does not
 * know who of the eligible is chosen; filters keep everybody, or fail. */
#include <math.h>
#include <string.h>

#include "api.h"
#include "check.h"
#include "program_state.h"

/* A pick from inside is refused and has no effect; reads are fine. */
static void call_from_inside(struct program *program,
                             const lbroute_score_request *request)
{
    lbroute_decision decision;
    lbroute_stats before = api_stats(program->router);
    lbroute_decision_init(&decision, sizeof decision);
    CHECK_I(lbroute_pick(program->router, request->request,
                         program->model.now + SECOND, &decision),
            LBROUTE_ERR_BUSY);
    lbroute_stats after = api_stats(program->router);
    CHECK_I(memcmp(&before, &after, sizeof before), 0);
}

static int score(void *user, const lbroute_score_request *request,
                 const lbroute_candidate *candidates, size_t count,
                 double *scores)
{
    struct program_scorer *scorer = user;
    struct program *program = scorer->program;
    CHECK(scorer->alive);
    CHECK_U(request->scorer, scorer->handle);
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        CHECK(model_find(&program->model, candidates[i].target) <
              MODEL_TARGETS);
        CHECK_I(candidates[i].verdict, LBROUTE_REASON_NONE);
        CHECK(isnan(scores[i]));
        scores[i] = (double)(1 + (candidates[i].target + scorer->manner) % 4);
    }
    if (scorer->manner % 4 == 1)
        call_from_inside(program, request);
    if (scorer->manner % 8 == 2)
        scores[scorer->manner % count] = (double)NAN;
    return scorer->manner % 8 == 3;
}

static void destroy(void *user)
{
    struct program_scorer *scorer = user;
    CHECK(scorer->alive);
    scorer->alive = 0;
}

static struct program_scorer *free_place(struct program *program)
{
    for (int i = 0; i < PROGRAM_SCORERS; i++) {
        if (!program->scorers[i].alive)
            return &program->scorers[i];
    }
    return NULL;
}

/* A name of four, so that it is often taken. */
void program_add_scorer(struct program *program)
{
    struct program_pool *pool = program_some_pool(program);
    struct program_scorer *scorer = free_place(program);
    lbroute_scorer handle = 0;
    lbroute_scorer_options options;
    if (!pool || !scorer)
        return;
    char name = (char)('a' + program_below(program, 4));
    scorer->manner = program_byte(program);
    scorer->program = program;
    scorer->alive = 1;
    lbroute_scorer_options_init(&options, sizeof options);
    options.name = &name;
    options.name_len = 1;
    options.kind = (int32_t)(scorer->manner & 1);
    options.weight = scorer->manner % 5;
    options.score = score;
    options.destroy = destroy;
    options.user = scorer;
    int result = lbroute_scorer_register(program->router, pool->handle,
                                         &options, &handle);
    CHECK(result == LBROUTE_OK || result == LBROUTE_ERR_EXISTS);
    CHECK_I(scorer->alive, result == LBROUTE_OK);
    if (scorer->alive)
        scorer->handle = handle;
    program->estimate = 0; /* buffers come on top */
}

static void check_counts(struct program *program, lbroute_scorer handle)
{
    lbroute_scorer_stats stats;
    lbroute_scorer_stats_init(&stats, sizeof stats);
    CHECK_I(lbroute_get_scorer_stats(program->router, handle, &stats),
            LBROUTE_OK);
    CHECK(stats.errors + stats.not_finite <= stats.calls);
    CHECK(program_find_pool(program, stats.pool) != NULL);
}

/* Reads, re-weighs or removes one. */
void program_change_scorer(struct program *program)
{
    struct program_scorer *scorer =
        &program->scorers[program_below(program, PROGRAM_SCORERS)];
    uint32_t how = program_below(program, 4);
    if (!scorer->alive) {
        CHECK_I(lbroute_scorer_remove(program->router, scorer->handle),
                LBROUTE_ERR_NOT_FOUND);
        return;
    }
    check_counts(program, scorer->handle);
    CHECK_I(lbroute_scorer_set_weight(program->router, scorer->handle, how),
            LBROUTE_OK);
    if (how)
        return;
    CHECK_I(lbroute_scorer_remove(program->router, scorer->handle), LBROUTE_OK);
    CHECK(!scorer->alive);
}

void program_check_scorers_gone(const struct program *program)
{
    for (int i = 0; i < PROGRAM_SCORERS; i++)
        CHECK(!program->scorers[i].alive);
}
