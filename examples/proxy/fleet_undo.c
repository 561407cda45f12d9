/* SPDX-License-Identifier: MIT */
#include "fleet_plan.h"

#include "gateway.h"

#include <string.h>

void fleet_remember(struct fleet_plan *plan, struct fleet_undo undo)
{
    plan->undo[plan->undo_count++] = undo;
}

/* What it had learned is lost, but it serves again. */
static void add_again(struct gateway *gateway, const struct fleet_undo *undo,
                      uint64_t now)
{
    struct backend *backend = undo->backend;
    lbroute_target_options options;

    fleet_target_options(gateway, backend->settings, backend, undo->value,
                         &options);
    if (lbroute_target_add(gateway->router, &options, now, &backend->target) !=
        LBROUTE_OK)
        backend->target = 0;
    else
        lbroute_target_drain(gateway->router, backend->target, undo->draining,
                             now);
}

static void take_back(struct fleet_plan *plan, const struct fleet_undo *undo)
{
    struct gateway *gateway = plan->gateway;
    lbroute_router *router = gateway->router;
    lbroute_target_options options;

    switch (undo->kind) {
    case UNDO_POOL_ADDED:
        lbroute_pool_remove(router, undo->pool);
        break;
    case UNDO_STRATEGY:
        lbroute_pool_update(router, undo->pool, undo->text, strlen(undo->text));
        break;
    case UNDO_PARAMETER:
        lbroute_pool_set(router, undo->pool, undo->text, undo->value);
        break;
    case UNDO_TARGET_ADDED:
        lbroute_target_remove(router, undo->backend->target);
        break;
    case UNDO_TARGET_UPDATED:
        fleet_target_options(gateway, undo->backend->settings, undo->backend,
                             undo->value, &options);
        lbroute_target_update(router, undo->backend->target, &options,
                              plan->now);
        break;
    case UNDO_TARGET_REMOVED:
        add_again(gateway, undo, plan->now);
        break;
    }
}

void fleet_undo_all(struct fleet_plan *plan)
{
    while (plan->undo_count > 0)
        take_back(plan, &plan->undo[--plan->undo_count]);
}
