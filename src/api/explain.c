/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "policy/decision.h"
#include "policy/filter.h"
#include "policy/queueing.h"
#include "policy/request.h"
#include "policy/route.h"
#include "policy/strategy.h"
#include "state/view.h"

#include <math.h>

void lbroute_candidate_init(lbroute_candidate *candidate, size_t size)
{
    lbroute_candidate defaults = {0};

    lbr_abi_init(candidate, size, &defaults, sizeof defaults);
}

/* The caller's array: elements of the size that the first one states. */
struct rows {
    unsigned char *first;
    size_t size, capacity, count;
};

/* The lowest relative load of those that may be chosen. */
static double lowest_load(const struct lbr_pick *pick)
{
    double lowest = (double)INFINITY;
    uint32_t i;

    for (i = 0; pick->group && i < pick->group->count; i++) {
        double load = lbr_score_load(pick, i);

        if (!lbr_filter_verdict(pick, lbr_pick_target(pick, i)) &&
            load < lowest)
            lowest = load;
    }
    return lowest;
}

static double score_of(const struct lbr_pick *pick,
                       const struct lbr_target *target)
{
    const struct lbr_strategy *strategy = pick->scope.strategy;

    if (!strategy->score || !pick->group)
        return (double)NAN;
    if (pick->group == target->by_pool.group)
        return strategy->score(pick, target->by_pool.position);
    if (pick->group == target->by_model.group)
        return strategy->score(pick, target->by_model.position);
    return (double)NAN;
}

static void describe(const struct lbr_pick *pick, double lowest,
                     struct lbr_target *target, lbroute_candidate *row)
{
    lbr_candidate_describe(row, pick, target, lbr_filter_verdict(pick, target),
                           lowest);
    if (target->weight_now > 0)
        row->score = score_of(pick, target);
}

static void list_candidates(const struct lbr_pick *pick, struct rows *rows)
{
    double lowest = lowest_load(pick);
    struct lbr_group *group;
    uint32_t i;

    for (group = pick->scope.candidates; group; group = group->next) {
        lbr_group_ensure(group, pick->now);
        for (i = 0; i < group->count; i++, rows->count++) {
            lbroute_candidate row = {0};

            if (rows->count >= rows->capacity)
                continue;
            describe(pick, lowest, group->members[i], &row);
            (void)lbr_abi_write(rows->first + rows->count * rows->size, &row,
                                sizeof row);
        }
    }
}

/* Brings every group that the pick looked at back to the router's time: those
 * of the candidates, and of the pools that these are in. */
static void restore(struct lbr_view *view, const struct lbr_pick *pick)
{
    struct lbr_group *group;
    uint32_t i;

    lbr_view_restore(view, pick->scope.candidates);
    if (pick->scope.pool) {
        lbr_view_restore(view, pick->scope.pool->groups);
        return;
    }
    for (group = pick->scope.candidates; group; group = group->next)
        for (i = 0; i < group->count; i++)
            lbr_view_restore_one(view, group->members[i]->by_pool.group);
}

/* What a pick would say that nobody is to take now, though (|free|) somebody
 * could. */
static int turn_away(const struct lbr_pick *pick, int free,
                     lbroute_decision *decision)
{
    struct lbr_rejection rejection;
    struct lbr_outlook outlook;
    int result = lbr_filter_explain(pick, &rejection);

    lbr_decision_reject(decision, pick, &rejection);
    if (!free && result != LBROUTE_ERR_SATURATED)
        return result;
    lbr_queueing_foresee(pick, free, &outlook);
    lbr_queueing_describe(&outlook, decision);
    return outlook.result;
}

static int explain_now(struct lbroute_router *router, struct lbr_ask *ask,
                       uint64_t now, lbroute_decision *decision,
                       struct rows *rows, size_t *block_bytes)
{
    struct lbr_view view;
    struct lbr_pick pick;
    struct lbr_choice choice;
    struct lbr_heap_node *guesses;
    int result;

    pick.admitted = 0;
    lbr_view_begin(&view, router, now);
    guesses = lbr_kv_guesses_suspend(&router->guesses, &router->kv, view.at);
    result = lbr_route(router, ask, view.at, &pick, &choice);
    *block_bytes = pick.block_bytes;
    if (result == LBROUTE_ERR_NO_TARGET)
        result = turn_away(&pick, 0, decision);
    else if (!result && lbr_queueing_must_wait(&pick))
        result = turn_away(&pick, 1, decision);
    else if (!result)
        lbr_decision_accept(decision, &pick, &choice);
    if (lbr_decision_made(result))
        list_candidates(&pick, rows);
    lbr_kv_guesses_resume(&router->guesses, &router->kv, guesses);
    if (pick.admitted)
        lbr_pool_restore(pick.scope.pool, &pick.admission);
    restore(&view, &pick);
    lbr_view_end(&view);
    return result;
}

static int explain_for(struct lbroute_router *router, struct lbr_ask *ask,
                       uint64_t now, lbroute_decision *decision,
                       struct rows *rows)
{
    size_t block_bytes = 0;
    int result;

    ask->explains = 1;
    lbr_request_foresee(router, ask);
    do {
        lbr_router_enter(router);
        result = lbr_route_admit(router, ask);
        if (!result)
            result =
                explain_now(router, ask, now, decision, rows, &block_bytes);
        (void)lbr_router_leave(router, result);
    } while (lbr_route_supply(router, ask, result, block_bytes));
    return result;
}

static int check_rows(struct rows *rows, lbroute_candidate *candidates,
                      size_t capacity)
{
    rows->first = (unsigned char *)candidates;
    rows->capacity = capacity;
    rows->count = 0;
    rows->size = 0;
    if (!lbr_abi_rows_valid(candidates, capacity))
        return 0;
    if (capacity)
        rows->size = lbr_abi_size(candidates);
    return 1;
}

int lbroute_explain(lbroute_router *router, const lbroute_request *request,
                    uint64_t now, lbroute_decision *out,
                    lbroute_candidate *candidates, size_t capacity,
                    size_t *count)
{
    lbroute_decision decision = {0};
    struct lbr_request_space space;
    struct lbr_ask ask;
    struct rows rows;
    int result;

    if (!router || !lbr_abi_valid(out) ||
        !check_rows(&rows, candidates, capacity))
        return LBROUTE_ERR_INVALID;
    result = lbr_request_read(router, request, &space, &ask);
    if (!result)
        result = explain_for(router, &ask, now, &decision, &rows);
    if (!lbr_decision_made(result))
        return result;
    (void)lbr_abi_write(out, &decision, sizeof decision);
    if (count)
        *count = rows.count;
    return result;
}
