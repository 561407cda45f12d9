/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "check.h"
#include "model.h"

static int is_candidate(const struct model_target *target,
                        const struct model_request *request)
{
    if (request->pool)
        return target->pool == request->pool;
    return target->serves == request->model;
}

static int is_excluded(const struct model_target *target,
                       const struct model_request *request)
{
    for (size_t i = 0; i < request->exclude_len; i++) {
        if (request->exclude[i] == target->handle)
            return 1;
    }
    return 0;
}

/* On trial with the one request of a trial in flight. */
static int trial_is_out(const struct model *model,
                        const struct model_target *target)
{
    if (!model_health_on_trial(&target->health, model->now))
        return 0;
    for (size_t i = 0; i < model->ticket_count; i++) {
        if (model->tickets[i].target == target->handle &&
            model->tickets[i].trial)
            return 1;
    }
    return 0;
}

static int is_large(const struct model_target *target,
                    const struct model_request *request)
{
    return target->max_input_tokens > 0 && request->tokens > 0 &&
           (uint64_t)request->tokens > target->max_input_tokens;
}

static int is_full(const struct model_target *target)
{
    return target->max_concurrency > 0 &&
           target->in_flight >= target->max_concurrency;
}

static int is_out(const struct model *model, const struct model_target *target)
{
    return model_health_benched(&target->health, model->now) ||
           trial_is_out(model, target);
}

/* Without a look at health and limits, which change by waiting. */
static int lasting_verdict(const struct model_target *target,
                           const struct model_request *request)
{
    if (is_excluded(target, request))
        return LBROUTE_REASON_EXCLUDED;
    if (target->tier != request->tier)
        return LBROUTE_REASON_TIER;
    if (target->drained || !(target->weight > 0))
        return LBROUTE_REASON_DRAINING;
    if (is_large(target, request))
        return LBROUTE_REASON_TOO_LARGE;
    if (request->model && target->serves && request->model != target->serves)
        return LBROUTE_REASON_MODEL;
    return LBROUTE_REASON_NONE;
}

/* The first that applies, in the order of the reasons' numbers. */
static int verdict_of(const struct model *model,
                      const struct model_target *target,
                      const struct model_request *request, int ignore_bench)
{
    int lasting = lasting_verdict(target, request);
    if (lasting != LBROUTE_REASON_NONE && lasting < LBROUTE_REASON_BENCHED)
        return lasting;
    if (!ignore_bench && is_out(model, target))
        return LBROUTE_REASON_BENCHED;
    return is_full(target) ? LBROUTE_REASON_SATURATED : lasting;
}

/* Whether benches keep out every target that could take the request. */
static int benches_keep_all_out(const struct model *model,
                                const struct model_request *request)
{
    size_t out = 0;
    for (size_t i = 0; i < model->target_count; i++) {
        const struct model_target *target = &model->targets[i];
        if (!is_candidate(target, request) || lasting_verdict(target, request))
            continue;
        if (!is_out(model, target))
            return 0;
        out++;
    }
    return out > 0;
}

static void add_to_view(struct model_view *view, size_t place, int verdict)
{
    view->verdicts[place] = verdict;
    view->reasons[verdict]++;
    view->candidates++;
}

void model_look(const struct model *model, const struct model_request *request,
                struct model_view *view)
{
    const struct model_target *first = NULL;
    memset(view, 0, sizeof *view);
    view->bench_ignored = benches_keep_all_out(model, request);
    for (size_t i = 0; i < model->target_count; i++) {
        const struct model_target *target = &model->targets[i];
        view->verdicts[i] = -1;
        if (!is_candidate(target, request))
            continue;
        int verdict = verdict_of(model, target, request, view->bench_ignored);
        add_to_view(view, i, verdict);
        if (verdict == LBROUTE_REASON_SATURATED &&
            !lasting_verdict(target, request)) {
            view->in_flight += target->in_flight;
            view->limit += target->max_concurrency;
        }
        if (!first)
            first = target;
        view->mixed |= target->pool == 0 || target->pool != first->pool;
    }
    view->eligible = view->reasons[LBROUTE_REASON_NONE];
    view->reasons[LBROUTE_REASON_NO_TARGETS] = view->candidates == 0;
}

int model_result(const struct model_view *view)
{
    if (view->eligible > 0)
        return LBROUTE_OK;
    return view->limit > 0 ? LBROUTE_ERR_SATURATED : LBROUTE_ERR_NO_TARGET;
}

int model_main_reason(const struct model_view *view, int reason)
{
    if (reason <= LBROUTE_REASON_NONE || reason >= LBROUTE_REASON_COUNT)
        return 0;
    for (int i = 1; i < LBROUTE_REASON_COUNT; i++) {
        if (view->reasons[i] > view->reasons[reason])
            return 0;
    }
    return view->reasons[reason] > 0;
}

void model_clamp(struct model *model, int tier)
{
    struct exact most = exact_zero();
    for (size_t i = 0; i < model->target_count; i++) {
        if (model->targets[i].tier == tier)
            most = exact_add(most, model->targets[i].exact);
    }
    struct exact least = exact_sub(exact_zero(), most);
    for (size_t i = 0; i < model->target_count; i++) {
        struct model_target *target = &model->targets[i];
        if (target->tier == tier && exact_less(most, target->current))
            target->current = most;
        if (target->tier == tier && exact_less(target->current, least))
            target->current = least;
    }
}

static struct exact raised(const struct model *model, size_t place)
{
    const struct model_target *target = &model->targets[place];
    return exact_add(target->current, target->exact);
}

size_t model_weighted(const struct model *model, const struct model_view *view)
{
    size_t best = MODEL_TARGETS;
    for (size_t i = 0; i < model->target_count; i++) {
        if (view->verdicts[i] != LBROUTE_REASON_NONE)
            continue;
        if (best == MODEL_TARGETS ||
            exact_less(raised(model, best), raised(model, i)))
            best = i;
    }
    return best;
}

void model_weighted_done(struct model *model, const struct model_view *view,
                         size_t place)
{
    struct exact total = exact_zero();
    for (size_t i = 0; i < model->target_count; i++) {
        if (view->verdicts[i] != LBROUTE_REASON_NONE)
            continue;
        total = exact_add(total, model->targets[i].exact);
        model->targets[i].current = raised(model, i);
    }
    struct model_target *winner = &model->targets[place];
    winner->current = exact_sub(winner->current, total);
}
