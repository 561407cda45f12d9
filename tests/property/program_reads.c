/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "api.h"
#include "check.h"
#include "program_state.h"

enum { CANDIDATES = PROGRAM_TARGETS + 1 };

static void check_candidate(const struct program *program,
                            const struct model_view *view,
                            const lbroute_candidate *candidate)
{
    size_t place = model_find(&program->model, candidate->target);
    CHECK(place < MODEL_TARGETS);
    const struct model_target *target = &program->model.targets[place];
    CHECK_I(candidate->verdict, view->verdicts[place]);
    CHECK_U(candidate->in_flight, target->in_flight);
    CHECK_U(candidate->max_concurrency, target->max_concurrency);
    CHECK(candidate->load >= target->in_flight);
    CHECK(candidate->kv_state >= 0 &&
          candidate->kv_state < LBROUTE_KV_SOURCE_STATE_COUNT);
    for (int i = 0; i < LBROUTE_MEDIUM_COUNT; i++)
        CHECK(candidate->kv_blocks[i] >= -1 && candidate->kv_blocks[i] <= 32);
    if (candidate->weight > 0)
        CHECK_NEAR(candidate->relative_load * candidate->weight,
                   candidate->load, 1e-9 * (1 + candidate->load));
    else
        CHECK(isnan(candidate->relative_load));
}

/* least_connections takes a target of lowest relative load. */
static void check_least(const lbroute_candidate *candidates, size_t count,
                        const lbroute_decision *decision)
{
    double least = HUGE_VAL;
    double picked = HUGE_VAL;
    for (size_t i = 0; i < count; i++) {
        if (candidates[i].verdict != LBROUTE_REASON_NONE)
            continue;
        if (candidates[i].relative_load < least)
            least = candidates[i].relative_load;
        if (candidates[i].target == decision->target)
            picked = candidates[i].relative_load;
    }
    CHECK(picked <= least);
}

static void check_candidates(const struct program *program,
                             const struct model_view *view,
                             const lbroute_candidate *candidates, size_t count)
{
    CHECK_U(count, view->candidates);
    for (size_t i = 0; i < count; i++)
        check_candidate(program, view, &candidates[i]);
}

/* The pick that an explain foretold. */
static void keep_word(struct program *program,
                      const struct program_request *request, int result,
                      const lbroute_decision *foretold)
{
    lbroute_decision decision;
    lbroute_decision_init(&decision, sizeof decision);
    int picked = lbroute_pick(program->router, &request->api,
                              program->model.now, &decision);
    if (picked == LBROUTE_ERR_LIMIT)
        return;
    CHECK_I(picked, result);
    api_check_same_decision(&decision, foretold);
    if (picked != LBROUTE_OK) {
        program->model.rejections[decision.reason]++;
        return;
    }
    program_picked(program, &decision);
}

/* The router is asked about a time that it has not reached yet; only then it
 * gets there. */
void program_explain_at(struct program *program, uint64_t now)
{
    struct program_request request;
    struct model_view view;
    lbroute_candidate candidates[CANDIDATES];
    lbroute_decision foretold;
    size_t count = 0;
    program_draw_request(program, &request);
    int result = api_explain(program->router, &request.api, now, &foretold,
                             candidates, CANDIDATES, &count);
    model_advance(&program->model, now);
    model_look(&program->model, &request.model, &view);
    program_check_answer(program, &request, &view, result, &foretold);
    CHECK_U(foretold.ticket, 0);
    if (result != LBROUTE_ERR_LIMIT)
        check_candidates(program, &view, candidates, count);
    if (result == LBROUTE_OK && foretold.rule == LBROUTE_RULE_LEAST_CONNECTIONS)
        check_least(candidates, count, &foretold);
    keep_word(program, &request, result, &foretold);
}

void program_explain(struct program *program)
{
    program_explain_at(program, program->model.now);
}

static void read_headers(struct program *program)
{
    struct program_request request;
    lbroute_decision decision;
    size_t count = 0;
    program_draw_request(program, &request);
    (void)api_explain(program->router, &request.api,
                      program->model.now + 1000 * SECOND, &decision, NULL, 0,
                      &count);
    for (size_t i = 0;; i++) {
        char name[64];
        CHECK(i < 32);
        char value[800];
        size_t name_len = 0;
        size_t value_len = 0;
        int result = lbroute_decision_header(program->router, &decision, i,
                                             name, sizeof name, &name_len,
                                             value, sizeof value, &value_len);
        if (result == LBROUTE_ERR_NOT_FOUND)
            return;
        CHECK_I(result, LBROUTE_OK);
        CHECK_U(strlen(name), name_len);
        CHECK_U(strlen(value), value_len);
    }
}

/* Reads at a later time must not let time pass. */
void program_read(struct program *program)
{
    struct program_pool *pool = program_some_pool(program);
    uint64_t later = program->model.now + 1000 * SECOND;
    for (size_t i = 0; i < program->model.target_count; i++)
        (void)api_target_stats(program->router,
                               program->model.targets[i].handle, later);
    if (pool) {
        lbroute_share shares[4];
        size_t count = 0;
        for (size_t i = 0; i < 4; i++)
            lbroute_share_init(&shares[i], sizeof shares[i]);
        CHECK_I(lbroute_pool_shares(program->router, pool->handle, later,
                                    shares, 4, &count),
                LBROUTE_OK);
    }
    read_headers(program);
}
