/* SPDX-License-Identifier: MIT */
#include "fleet_plan.h"

#include "gateway.h"
#include "pool_terms.h"

#include <string.h>

static const struct config_pool *find_pool(const struct config *config,
                                           const char *name)
{
    for (size_t i = 0; config != NULL && i < config->pool_count; i++)
        if (strcmp(config->pools[i].name, name) == 0)
            return &config->pools[i];
    return NULL;
}

static const struct config_parameter *find_parameter(
    const struct config_pool *pool, const char *name)
{
    for (size_t i = 0; pool != NULL && i < pool->parameter_count; i++)
        if (strcmp(pool->parameters[i].name, name) == 0)
            return &pool->parameters[i];
    return NULL;
}

lbroute_pool fleet_pool_handle(const struct gateway *gateway, const char *name)
{
    lbroute_pool pool;

    return lbroute_pool_find(gateway->router, name, strlen(name), &pool) ==
                   LBROUTE_OK
               ? pool
               : 0;
}

size_t fleet_pool_changes(const struct fleet_plan *plan)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->config->pool_count; i++) {
        const struct config_pool *pool = &plan->config->pools[i];
        const struct config_pool *before =
            find_pool(plan->gateway->config, pool->name);

        count += 2 + pool->parameter_count;
        count += before != NULL ? before->parameter_count : 0;
    }
    return count;
}

static bool set_parameter(struct fleet_plan *plan, lbroute_pool pool,
                          const char *name, double value)
{
    lbroute_router *router = plan->gateway->router;
    double before;
    int code = lbroute_pool_get(router, pool, name, &before);

    if (code == LBROUTE_OK)
        code = lbroute_pool_set(router, pool, name, value);
    if (code != LBROUTE_OK)
        return fleet_fail(plan, "parameter", name, code);
    fleet_remember(plan, (struct fleet_undo){.kind = UNDO_PARAMETER,
                                             .pool = pool,
                                             .text = name,
                                             .value = before});
    return true;
}

static double default_of(const char *name)
{
    lbroute_param_info info;

    return pool_find_parameter(name, &info) ? info.default_value : 0;
}

static bool set_parameters(struct fleet_plan *plan, lbroute_pool handle,
                           const struct config_pool *pool,
                           const struct config_pool *before)
{
    for (size_t i = 0; i < pool->parameter_count; i++) {
        const struct config_parameter *is = &pool->parameters[i];
        const struct config_parameter *was = find_parameter(before, is->name);

        if ((was == NULL || was->value < is->value || was->value > is->value) &&
            !set_parameter(plan, handle, is->name, is->value))
            return false;
    }
    /* What is not given any more is as if it had never been. */
    for (size_t i = 0; before != NULL && i < before->parameter_count; i++) {
        const char *name = before->parameters[i].name;

        if (find_parameter(pool, name) == NULL &&
            !set_parameter(plan, handle, name, default_of(name)))
            return false;
    }
    return true;
}

static bool set_strategy(struct fleet_plan *plan, lbroute_pool handle,
                         const struct config_pool *pool)
{
    lbroute_router *router = plan->gateway->router;
    lbroute_pool_info info;
    int code;

    lbroute_pool_info_init(&info, sizeof info);
    code = lbroute_pool_get_info(router, handle, &info);
    if (code == LBROUTE_OK)
        code = lbroute_pool_update(router, handle, pool->strategy,
                                   strlen(pool->strategy));
    if (code != LBROUTE_OK)
        return fleet_fail(plan, "pool", pool->name, code);
    fleet_remember(plan, (struct fleet_undo){.kind = UNDO_STRATEGY,
                                             .pool = handle,
                                             .text = info.strategy});
    return true;
}

static bool add_pool(struct fleet_plan *plan, const struct config_pool *pool,
                     lbroute_pool *handle)
{
    lbroute_pool_options options;
    int code;

    lbroute_pool_options_init(&options, sizeof options);
    options.name = pool->name;
    options.name_len = strlen(pool->name);
    options.strategy = pool->strategy;
    options.strategy_len = strlen(pool->strategy);
    code = lbroute_pool_add(plan->gateway->router, &options, handle);
    if (code != LBROUTE_OK)
        return fleet_fail(plan, "pool", pool->name, code);
    fleet_remember(
        plan, (struct fleet_undo){.kind = UNDO_POOL_ADDED, .pool = *handle});
    return true;
}

static bool apply_pool(struct fleet_plan *plan, const struct config_pool *pool)
{
    const struct config_pool *before =
        find_pool(plan->gateway->config, pool->name);
    lbroute_pool handle = fleet_pool_handle(plan->gateway, pool->name);

    if (handle == 0) {
        if (!add_pool(plan, pool, &handle))
            return false;
    } else if ((before == NULL ||
                strcmp(before->strategy, pool->strategy) != 0) &&
               !set_strategy(plan, handle, pool)) {
        return false;
    }
    return set_parameters(plan, handle, pool, before);
}

bool fleet_apply_pools(struct fleet_plan *plan)
{
    for (size_t i = 0; i < plan->config->pool_count; i++)
        if (!apply_pool(plan, &plan->config->pools[i]))
            return false;
    return true;
}

void fleet_remove_pools(struct fleet_plan *plan)
{
    const struct config *before = plan->gateway->config;

    for (size_t i = 0; before != NULL && i < before->pool_count; i++) {
        const char *name = before->pools[i].name;

        if (find_pool(plan->config, name) == NULL)
            lbroute_pool_remove(plan->gateway->router,
                                fleet_pool_handle(plan->gateway, name));
    }
}
