/* SPDX-License-Identifier: MIT */
#include "policy/filter.h"

#include "containers/bits.h"
#include "policy/judge.h"
#include "policy/strategy.h"
#include "state/registry.h"

/* All targets that serve the model. In one pool, that pool's rule picks; in
 * several, weighted round-robin. */
static void resolve_model(struct lbr_scope *scope, struct lbr_text tier)
{
    const struct lbr_model *model = scope->model;

    scope->model_only = 1;
    scope->strategy = &lbr_strategy_weighted;
    if (!model)
        return;
    scope->candidates = model->groups;
    scope->group = lbr_groups_find(model->groups, tier);
    if (model->mixed || !scope->group)
        return;
    scope->pool = model->pool;
    scope->strategy = model->pool->strategy;
    scope->group = lbr_groups_find(model->pool->groups, tier);
}

int lbr_scope_resolve(struct lbroute_router *router,
                      const lbroute_request *request, struct lbr_scope *scope)
{
    struct lbr_text tier = lbr_text(request->tier, request->tier_len);

    memset(scope, 0, sizeof *scope);
    scope->model_asked = request->model_len > 0;
    if (scope->model_asked)
        scope->model = lbr_model_named(
            router, lbr_text(request->model, request->model_len));
    if (!request->pool) {
        resolve_model(scope, tier);
        return LBROUTE_OK;
    }
    scope->pool = lbr_router_pool(router, request->pool);
    if (!scope->pool)
        return LBROUTE_ERR_NOT_FOUND;
    scope->strategy = scope->pool->strategy;
    scope->candidates = scope->pool->groups;
    scope->group = lbr_groups_find(scope->pool->groups, tier);
    return LBROUTE_OK;
}

void lbr_filter_exclude(struct lbr_pick *pick)
{
    const lbroute_request *request = pick->ask->request;
    size_t i;

    if (!request->exclude_len)
        return;
    pick->exclusion = ++pick->router->exclusions;
    for (i = 0; i < request->exclude_len; i++) {
        struct lbr_target *target =
            lbr_router_target(pick->router, request->exclude[i]);

        if (target)
            target->excluded_by = pick->exclusion;
    }
}

static int excluded(const struct lbr_pick *pick,
                    const struct lbr_target *target)
{
    return pick->exclusion && target->excluded_by == pick->exclusion;
}

static int too_large(const struct lbr_pick *pick,
                     const struct lbr_target *target)
{
    return target->max_input_tokens &&
           pick->ask->input_tokens != LBR_TOKENS_UNKNOWN &&
           pick->ask->input_tokens > target->max_input_tokens;
}

/* A target that names no model takes any that is asked of its pool. */
static int wrong_model(const struct lbr_scope *scope,
                       const struct lbr_target *target)
{
    if (!scope->model_asked || (!target->model && !scope->model_only))
        return 0;
    return !target->model || target->model != scope->model;
}

static int out_by_bench(const struct lbr_pick *pick,
                        const struct lbr_target *target)
{
    return !pick->bench_ignored && !lbr_health_open(&target->health, pick->now);
}

static int wrong_tier(const struct lbr_pick *pick,
                      const struct lbr_target *target)
{
    const lbroute_request *request = pick->ask->request;

    return !lbr_text_equal(target->tier,
                           lbr_text(request->tier, request->tier_len));
}

/* What a request can never change by waiting. */
static int unsuitable(const struct lbr_pick *pick,
                      const struct lbr_target *target)
{
    return excluded(pick, target) || wrong_tier(pick, target) ||
           lbr_target_drained(target) || too_large(pick, target) ||
           wrong_model(&pick->scope, target);
}

int lbr_filter_verdict(const struct lbr_pick *pick,
                       const struct lbr_target *target)
{
    if (excluded(pick, target))
        return LBROUTE_REASON_EXCLUDED;
    if (wrong_tier(pick, target))
        return LBROUTE_REASON_TIER;
    if (lbr_target_drained(target))
        return LBROUTE_REASON_DRAINING;
    if (out_by_bench(pick, target))
        return LBROUTE_REASON_BENCHED;
    if (lbr_target_full(target))
        return LBROUTE_REASON_SATURATED;
    if (too_large(pick, target))
        return LBROUTE_REASON_TOO_LARGE;
    if (wrong_model(&pick->scope, target))
        return LBROUTE_REASON_MODEL;
    if (lbr_judge_rejects(pick, target))
        return LBROUTE_REASON_FILTERED;
    return LBROUTE_REASON_NONE;
}

/* Whether the request itself rules out members that are usable as such. */
static int request_matters(const struct lbr_pick *pick)
{
    const struct lbr_group *group = pick->group;
    const struct lbr_scope *scope = &pick->scope;

    if (pick->exclusion || (pick->run && pick->run->filtered))
        return 1;
    if (pick->ask->input_tokens != LBR_TOKENS_UNKNOWN &&
        pick->ask->input_tokens > group->smallest_input)
        return 1;
    if (!scope->model_asked)
        return 0;
    return group->mixed_models || !group->model || group->model != scope->model;
}

static void fill_mask(struct lbr_pick *pick)
{
    struct lbr_group *group = pick->group;
    uint32_t i;

    memset(group->mask, 0, lbr_bits_words(group->count) * sizeof *group->mask);
    pick->mask = group->mask;
    pick->filtered = 1;
    pick->eligible = 0;
    for (i = 0; i < group->count; i++) {
        if (lbr_filter_verdict(pick, group->members[i]))
            continue;
        lbr_bits_set(group->mask, i);
        pick->eligible++;
    }
}

void lbr_filter_apply(struct lbr_pick *pick)
{
    if (request_matters(pick)) {
        fill_mask(pick);
        return;
    }
    pick->mask = pick->group->usable;
    pick->eligible = pick->group->usable_count;
}

/* Whether benching alone keeps every suitable target out. */
static int benching_is_all(const struct lbr_pick *pick)
{
    uint32_t suitable = 0;
    uint32_t i;

    for (i = 0; i < pick->group->count; i++) {
        const struct lbr_target *target = pick->group->members[i];

        if (unsuitable(pick, target))
            continue;
        if (!out_by_bench(pick, target))
            return 0;
        suitable++;
    }
    return suitable > 0;
}

void lbr_filter_ignore_benching(struct lbr_pick *pick)
{
    if (!benching_is_all(pick))
        return;
    pick->bench_ignored = 1;
    fill_mask(pick);
}

/* Where a filter of the host took somebody whom nothing else keeps out, it is
 * that which made the request fail. */
static int main_reason(const struct lbr_rejection *rejection)
{
    int most = LBROUTE_REASON_EXCLUDED;
    int reason;

    if (rejection->verdicts[LBROUTE_REASON_FILTERED])
        return LBROUTE_REASON_FILTERED;
    for (reason = most + 1; reason < LBROUTE_REASON_NO_TARGETS; reason++)
        if (rejection->verdicts[reason] > rejection->verdicts[most])
            most = reason;
    return most;
}

int lbr_filter_explain(const struct lbr_pick *pick,
                       struct lbr_rejection *rejection)
{
    const struct lbr_group *group;
    uint32_t i;

    memset(rejection, 0, sizeof *rejection);
    rejection->main_reason = LBROUTE_REASON_NO_TARGETS;
    for (group = pick->scope.candidates; group; group = group->next)
        for (i = 0; i < group->count; i++) {
            const struct lbr_target *target = group->members[i];
            int verdict = lbr_filter_verdict(pick, target);

            rejection->verdicts[verdict]++;
            if (verdict == LBROUTE_REASON_SATURATED &&
                !unsuitable(pick, target)) {
                rejection->in_flight += target->in_flight;
                rejection->limit += lbr_target_limit(target);
                rejection->waiting_helps = 1;
            }
        }
    if (pick->scope.candidates)
        rejection->main_reason = main_reason(rejection);
    return rejection->waiting_helps ? LBROUTE_ERR_SATURATED
                                    : LBROUTE_ERR_NO_TARGET;
}
