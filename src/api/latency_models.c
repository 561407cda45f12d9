/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "base/clock.h"
#include "state/view.h"

#include <math.h>

static void set_defaults(lbroute_latency_model *model)
{
    memset(model, 0, sizeof *model);
    model->base_ns = model->per_queue_ns = model->per_input_ns = (double)NAN;
    model->least_ns = (double)NAN;
    model->residual = model->ewma_ns = (double)NAN;
    model->age_ns = -1;
}

void lbroute_latency_model_init(lbroute_latency_model *model, size_t size)
{
    lbroute_latency_model defaults;

    set_defaults(&defaults);
    lbr_abi_init(model, size, &defaults, sizeof defaults);
}

static void collect_plane(const struct lbr_least_squares *from,
                          lbroute_latency_model *model)
{
    if (!from->samples)
        return;
    model->samples = from->samples;
    model->known = lbr_least_squares_known(from);
    model->base_ns = from->plane.base;
    model->per_queue_ns = from->plane.per_queue;
    model->per_input_ns = from->plane.per_input;
    model->least_ns = lbr_least_squares_floor(from);
    if (from->samples > 1)
        model->residual = from->usual_error;
}

static void collect_average(const struct lbr_ewma *from, uint64_t now,
                            lbroute_latency_model *model)
{
    if (!from->samples)
        return;
    model->ewma_ns = from->value;
    model->age_ns = lbr_time_signed(lbr_time_since(now, from->at));
}

/* What waits there, as the forecast of its group counts it. */
static double queue_of(const struct lbr_target *target, uint64_t now)
{
    struct lbr_group *group = target->by_pool.group;
    uint32_t position = target->by_pool.position;

    if (!group || !(group->uses & LBR_USES_FORECAST))
        return 0;
    lbr_group_ensure(group, now);
    return lbr_forecast_queue(&group->forecast, position,
                              group->latency_mean.input);
}

static void collect(const struct lbr_view *view,
                    const struct lbr_target *target, int kind,
                    lbroute_latency_model *model)
{
    set_defaults(model);
    collect_plane(&target->latency.model[kind], model);
    collect_average(&target->latency.average[kind], view->at, model);
    model->queue = queue_of(target, view->at);
}

int lbroute_get_latency_model(lbroute_router *router, lbroute_target handle,
                              int kind, uint64_t now,
                              lbroute_latency_model *out)
{
    lbroute_latency_model model;
    const struct lbr_target *target;
    struct lbr_view view;

    if (!router || kind < 0 || kind >= LBROUTE_LATENCY_COUNT ||
        !lbr_abi_valid(out))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    target = lbr_router_target(router, handle);
    if (!target)
        return lbr_router_leave(router, LBROUTE_ERR_NOT_FOUND);
    lbr_view_begin(&view, router, now);
    collect(&view, target, kind, &model);
    lbr_view_restore(&view, target->pool->groups);
    lbr_view_end(&view);
    (void)lbr_router_leave(router, LBROUTE_OK);
    return lbr_abi_write(out, &model, sizeof model);
}
