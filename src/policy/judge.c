/* SPDX-License-Identifier: MIT */
#include "policy/judge.h"

#include "containers/bits.h"
#include "policy/decision.h"
#include "policy/filter.h"
#include "policy/route.h"
#include "policy/strategy.h"

#include <math.h>

/* So often is a request asked again whose candidates have all changed. */
#define MOST_ROUNDS 3

/* ---- under the lock: begin ---- */

static uint32_t count_stages(const struct lbr_pool *pool)
{
    const struct lbr_link *link = pool->stages.next;
    uint32_t count = 0;

    for (; link != &pool->stages; link = link->next)
        count +=
            LBR_OWNER(link, struct lbr_stage, siblings)->options.weight > 0;
    return count;
}

static void hold_stages(const struct lbr_pool *pool, struct lbr_run *run)
{
    const struct lbr_link *link = pool->stages.next;

    for (; link != &pool->stages; link = link->next) {
        struct lbr_stage *stage = LBR_OWNER(link, struct lbr_stage, siblings);

        if (stage->options.weight > 0)
            lbr_run_hold(run, stage);
    }
}

static void list_candidates(const struct lbr_pick *pick, struct lbr_run *run)
{
    double lowest = lbr_pick_lowest_load(pick);
    uint32_t count = pick->group->count;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        run->sums[run->count] = 0;
        lbr_candidate_describe(&run->candidates[run->count++], pick,
                               lbr_pick_target(pick, i), LBROUTE_REASON_NONE,
                               lowest);
    }
    run->kept = run->count;
}

int lbr_judge_start(struct lbr_pick *pick, struct lbr_ask *ask)
{
    const struct lbr_pool *pool = pick->scope.pool;
    struct lbr_run *run;

    if (!count_stages(pool))
        return LBROUTE_OK;
    run = lbr_run_take(&pick->router->stages, pick->group->capacity);
    if (!run)
        return LBROUTE_ERR_NO_MEMORY;
    run->pool = pool->slot.handle;
    run->now = pick->now;
    run->explains = ask->explains;
    hold_stages(pool, run);
    list_candidates(pick, run);
    ask->run = run;
    return LBR_ROUTE_NEEDS_STAGES;
}

/* ---- without the lock: call ---- */

static double clamp(double score)
{
    if (score < 0)
        return 0;
    return score > 1 ? 1 : score;
}

static int all_finite(const double *scores, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (!isfinite(scores[i]))
            return 0;
    return 1;
}

static void swap_rows(struct lbr_run *run, uint32_t a, uint32_t b)
{
    lbroute_candidate candidate = run->candidates[a];
    double sum = run->sums[a];

    run->candidates[a] = run->candidates[b];
    run->candidates[b] = candidate;
    run->sums[a] = run->sums[b];
    run->sums[b] = sum;
}

/* Those that are kept stay in their order. */
static void keep_rows(struct lbr_run *run)
{
    uint32_t kept = 0;
    uint32_t i;

    for (i = 0; i < run->kept; i++)
        if (run->scores[i] > 0)
            swap_rows(run, kept++, i);
    run->kept = kept;
    run->filtered = 1;
}

static void add_scores(struct lbr_run *run, double weight)
{
    uint32_t i;

    for (i = 0; i < run->kept; i++)
        run->sums[i] += weight * clamp(run->scores[i]);
    run->weights += weight;
}

static void call_stage(struct lbr_run *run, const lbroute_request *request,
                       struct lbr_call *call)
{
    const lbroute_scorer_options *what = &call->what;
    lbroute_score_request asked = {0};
    uint32_t i;

    asked.size = sizeof asked;
    asked.scorer = call->stage->slot.handle;
    asked.pool = run->pool;
    asked.request = request;
    asked.now = run->now;
    asked.explaining = run->explains;
    for (i = 0; i < run->kept; i++)
        run->scores[i] = (double)NAN;
    call->outcome = LBR_CALL_COUNTS;
    if (what->score(what->user, &asked, run->candidates, run->kept,
                    run->scores))
        call->outcome = LBR_CALL_FAILED;
    else if (!all_finite(run->scores, run->kept))
        call->outcome = LBR_CALL_NOT_FINITE;
    else if (what->kind == LBROUTE_SCORER_FILTER)
        keep_rows(run);
    else
        add_scores(run, what->weight);
}

static void call_kind(const struct lbr_ask *ask, int kind)
{
    struct lbr_run *run = ask->run;
    uint32_t i;

    for (i = 0; i < run->call_count && run->kept; i++)
        if (run->calls[i].what.kind == kind)
            call_stage(run, ask->request, &run->calls[i]);
}

void lbr_judge_call(const struct lbr_ask *ask)
{
    call_kind(ask, LBROUTE_SCORER_FILTER);
    call_kind(ask, LBROUTE_SCORER_SCORER);
}

/* ---- under the lock again: apply ---- */

int lbr_judge_apply(struct lbr_pick *pick)
{
    const struct lbr_run *run = pick->ask->run;
    uint32_t i;

    if (!pick->scope.strategy->calls_stages)
        return LBROUTE_OK;
    if (run->pool != pick->scope.pool->slot.handle &&
        pick->ask->rounds < MOST_ROUNDS)
        return LBR_ROUTE_AGAIN;
    pick->run = run;
    pick->judgement = ++pick->router->stages.judgements;
    for (i = 0; i < run->count; i++) {
        struct lbr_target *target =
            lbr_router_target(pick->router, run->candidates[i].target);

        if (!target)
            continue;
        target->judged_by = pick->judgement;
        target->judged = i < run->kept ? run->sums[i] : -1;
    }
    return LBROUTE_OK;
}

int lbr_judge_missed(const struct lbr_pick *pick)
{
    uint32_t i;

    if (!pick->run || !pick->group || pick->ask->rounds >= MOST_ROUNDS)
        return 0;
    for (i = 0; i < pick->group->count; i++) {
        const struct lbr_target *target = lbr_pick_target(pick, i);

        if (!lbr_judge_seen(pick, target) &&
            lbr_filter_verdict(pick, target) == LBROUTE_REASON_FILTERED)
            return 1;
    }
    return 0;
}

void lbr_judge_finish(struct lbroute_router *router, struct lbr_ask *ask)
{
    struct lbr_link dead;

    lbr_list_init(&dead);
    lbr_router_enter(router);
    lbr_run_give(&router->stages, ask->run, &dead);
    (void)lbr_router_leave(router, LBROUTE_OK);
    ask->run = NULL;
    lbr_stages_bury(&router->stages, &router->lock, &dead);
}
