/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api.h"
#include "check.h"
#include "program_state.h"

/* Whether the strategy learns latency, and so counts who waits. */
static int counts_work(const struct program *program, lbroute_pool pool)
{
    static const char *const strategies[] = {
        "adaptive", "fastest", "least_work", "pipeline", "predicted_latency"};
    lbroute_pool_info info;
    if (pool == 0)
        return 0;
    double fallback;
    lbroute_pool_info_init(&info, sizeof info);
    CHECK_I(lbroute_pool_get_info(program->router, pool, &info), LBROUTE_OK);
    if (strcmp(info.strategy, "kv_aware") == 0) {
        CHECK_I(lbroute_pool_get(program->router, pool, "kv_aware.fallback",
                                 &fallback),
                LBROUTE_OK);
        return fallback == 2;
    }
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
        if (strcmp(info.strategy, strategies[i]) == 0)
            return 1;
    }
    return 0;
}

void program_picked(struct program *program, const lbroute_decision *decision)
{
    model_pick(&program->model, model_find(&program->model, decision->target),
               decision->ticket);
    program->model.tickets[program->model.ticket_count - 1].waits =
        counts_work(program, decision->pool);
}

void program_pick(struct program *program)
{
    struct program_request request;
    struct model_view view;
    lbroute_decision decision;
    program_draw_request(program, &request);
    model_look(&program->model, &request.model, &view);
    lbroute_decision_init(&decision, sizeof decision);
    int result = lbroute_pick(program->router, &request.api,
                              program_now(program), &decision);
    program_check_answer(program, &request, &view, result, &decision);
    if (result == LBROUTE_ERR_LIMIT)
        return;
    if (result != LBROUTE_OK) {
        program->model.rejections[decision.reason]++;
        return;
    }
    CHECK(program->model.ticket_count < program->max_tickets);
    CHECK(model_find_ticket(&program->model, decision.ticket) == MODEL_TICKETS);
    CHECK(decision.ticket != 0);
    program_picked(program, &decision);
}

/* An unknown kind is refused, and yet it settles an open ticket. */
static void observe_unknown(struct program *program, size_t ticket)
{
    lbroute_ticket handle = program->model.tickets[ticket].handle;
    int kind = program_below(program, 2) ? LBROUTE_EVENT_COUNT : -1;
    CHECK_I(api_observe(program->router, handle, kind, program_now(program)),
            LBROUTE_ERR_INVALID);
    model_settle(&program->model, ticket, 0);
    program_remember_settled(program, handle);
}

void program_observe(struct program *program)
{
    if (program->model.ticket_count == 0)
        return;
    size_t ticket = program_below(program, 256) % program->model.ticket_count;
    lbroute_ticket handle = program->model.tickets[ticket].handle;
    int kind = (int)program_below(program, LBROUTE_EVENT_COUNT + 4);
    if (kind == 0) {
        observe_unknown(program, ticket);
        return;
    }
    if (kind >= LBROUTE_EVENT_COUNT)
        kind = LBROUTE_EVENT_SUCCESS;
    api_settle(program->router, handle, kind, program_now(program));
    if (kind == LBROUTE_EVENT_FIRST_TOKEN) {
        program->model.tickets[ticket].waits = 0;
        return;
    }
    model_settle(&program->model, ticket, kind);
    program_remember_settled(program, handle);
}

void program_observe_stale(struct program *program)
{
    lbroute_ticket handle =
        program->settled[program_below(program, PROGRAM_STALE)];
    int kind = 1 + (int)program_below(program, LBROUTE_EVENT_COUNT - 1);
    CHECK_I(api_observe(program->router, handle, kind, program_now(program)),
            LBROUTE_ERR_NOT_FOUND);
}

static void check_deadline(const struct program *program)
{
    uint64_t expected = UINT64_MAX;
    if (program->model.ticket_count > 0)
        expected =
            program->model.tickets[0].picked_at + program->model.ticket_ttl;
    CHECK_U(lbroute_next_deadline(program->router), expected);
}

/* Time passes with a tick, or with the pick that comes next. */
void program_pass_time(struct program *program)
{
    static const uint64_t steps[] = {1,          MILLISECOND, 100 * MILLISECOND,
                                     SECOND,     10 * SECOND, 30 * SECOND,
                                     60 * SECOND};
    uint64_t now = program->model.now + steps[program_below(program, 7)];
    switch (program_below(program, 3)) {
    case 0:
        program_explain_at(program, now);
        break;
    case 1:
        model_advance(&program->model, now);
        CHECK_I(lbroute_tick(program->router, now), LBROUTE_OK);
        check_deadline(program);
        break;
    default:
        model_advance(&program->model, now);
        program->unseen = 1;
        program_pick(program);
        break;
    }
}
