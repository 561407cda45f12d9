/* SPDX-License-Identifier: MIT */
#include "fleet_plan.h"

#include "gateway.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *left, const void *right)
{
    const struct fleet_name *a = left;
    const struct fleet_name *b = right;

    return strcmp(a->name, b->name);
}

/* Many targets serve the same model. */
static size_t without_repeats(struct fleet_name *names, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (kept == 0 || by_name(&names[kept - 1], &names[i]) != 0)
            names[kept++] = names[i];
    return kept;
}

bool fleet_list_names(struct fleet_plan *plan)
{
    const struct config *config = plan->config;
    size_t count = 0;

    plan->names = calloc(config->target_count + config->adapter_count + 1,
                         sizeof *plan->names);
    if (plan->names == NULL)
        return fleet_fail_memory(plan);
    for (size_t i = 0; i < config->target_count; i++)
        if (config->targets[i].model[0] != '\0')
            plan->names[count++] = (struct fleet_name){
                config->targets[i].model, config->targets[i].model, ""};
    for (size_t i = 0; i < config->adapter_count; i++)
        plan->names[count++] = (struct fleet_name){config->adapters[i].name,
                                                   config->adapters[i].model,
                                                   config->adapters[i].name};
    qsort(plan->names, count, sizeof *plan->names, by_name);
    plan->name_count = without_repeats(plan->names, count);
    return true;
}

const char *fleet_only_model(const struct config *config)
{
    for (size_t i = 0; i < config->target_count; i++)
        if (config->targets[i].model[0] == '\0' ||
            strcmp(config->targets[i].model, config->targets[0].model) != 0)
            return NULL;
    return config->target_count > 0 ? config->targets[0].model : NULL;
}

const struct fleet_name *fleet_find_name(const struct fleet *fleet,
                                         const char *name)
{
    struct fleet_name wanted = {.name = name};

    return bsearch(&wanted, fleet->names, fleet->name_count, sizeof wanted,
                   by_name);
}

bool fleet_resolve(const struct gateway *gateway, const char *model,
                   struct fleet_route *route)
{
    const struct fleet *fleet = gateway->fleet;
    const struct fleet_name *found = fleet_find_name(fleet, model);

    *route = (struct fleet_route){0, "", ""};
    if (found != NULL) {
        route->model = found->model;
        route->adapter = found->adapter;
        return true;
    }
    route->pool = fleet->default_pool;
    if (route->pool == 0 && model[0] == '\0' && fleet->only_model != NULL)
        route->model = fleet->only_model;
    return route->pool != 0 || route->model[0] != '\0';
}
