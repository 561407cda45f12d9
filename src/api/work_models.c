/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "policy/least_work.h"
#include "state/view.h"

#include <math.h>

static void forget(lbroute_work_model *model, int kind)
{
    model->base_ns[kind] = model->per_running_ns[kind] = (double)NAN;
    model->per_kilotoken_ns[kind] = model->least_ns[kind] = (double)NAN;
    model->slowness[kind] = model->measured[kind] = 1;
}

static void set_defaults(lbroute_work_model *model)
{
    memset(model, 0, sizeof *model);
    forget(model, LBROUTE_WORK_FIRST_TOKEN);
    forget(model, LBROUTE_WORK_EACH_TOKEN);
    model->output_tokens = model->gone = (double)NAN;
}

void lbroute_work_model_init(lbroute_work_model *model, size_t size)
{
    lbroute_work_model defaults;

    set_defaults(&defaults);
    lbr_abi_init(model, size, &defaults, sizeof defaults);
}

static void collect_plane(const struct lbr_least_squares *from, int kind,
                          lbroute_work_model *model)
{
    if (!from->samples)
        return;
    model->samples[kind] = from->samples;
    model->known[kind] = lbr_least_squares_known(from);
    model->base_ns[kind] = from->plane.base;
    model->per_running_ns[kind] = from->plane.per_queue;
    model->per_kilotoken_ns[kind] = from->plane.per_input;
    model->least_ns[kind] = lbr_least_squares_floor(from);
}

static void collect_rate(const struct lbr_pace_rate *from, int kind,
                         lbroute_work_model *model)
{
    model->slowness[kind] = from->slowness;
    model->measured[kind] = from->measured;
    model->evidence[kind] = from->evidence;
}

static double mean_of(const struct lbr_pace_mean *mean)
{
    return mean->samples > 0 ? mean->value : (double)NAN;
}

static void collect_pool(const struct lbr_latency_mean *from,
                         lbroute_work_model *model)
{
    int kind;

    for (kind = 0; kind < LBROUTE_WORK_COUNT; kind++) {
        collect_plane(&from->times.plane[kind], kind, model);
        model->spread[kind] = sqrt(from->times.pace.spread[kind]);
    }
    model->output_tokens = mean_of(&from->times.pace.output);
    model->gone = mean_of(&from->times.pace.gone);
    model->input_kilotokens = from->input;
    model->eviction = lbr_least_work_eviction(&from->times);
    model->sharing_ns = lbr_least_work_sharing(&from->times);
}

static void collect_waiting(const struct lbr_group *group, uint32_t position,
                            uint64_t now, lbroute_work_model *model)
{
    const struct lbr_forecast *forecast = &group->forecast;

    model->pending_kilotokens =
        lbr_forecast_queue(forecast, position, group->latency_mean.input);
    model->late_ns = lbr_forecast_late(forecast, position, (double)now);
}

static void collect(const struct lbr_target *target, uint64_t now,
                    lbroute_work_model *model)
{
    struct lbr_group *group = target->by_pool.group;
    int kind;

    set_defaults(model);
    for (kind = 0; kind < LBROUTE_WORK_COUNT; kind++)
        collect_rate(&target->latency.pace.rate[kind], kind, model);
    if (!group)
        return;
    collect_pool(&group->latency_mean, model);
    lbr_group_ensure(group, now);
    model->running = lbr_target_load(target);
    if (group->uses & LBR_USES_FORECAST)
        collect_waiting(group, target->by_pool.position, now, model);
}

int lbroute_get_work_model(lbroute_router *router, lbroute_target handle,
                           uint64_t now, lbroute_work_model *out)
{
    lbroute_work_model model;
    const struct lbr_target *target;
    struct lbr_view view;

    if (!router || !lbr_abi_valid(out))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    target = lbr_router_target(router, handle);
    if (!target)
        return lbr_router_leave(router, LBROUTE_ERR_NOT_FOUND);
    lbr_view_begin(&view, router, now);
    collect(target, view.at, &model);
    lbr_view_restore(&view, target->pool->groups);
    lbr_view_end(&view);
    (void)lbr_router_leave(router, LBROUTE_OK);
    return lbr_abi_write(out, &model, sizeof model);
}
