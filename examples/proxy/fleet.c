/* SPDX-License-Identifier: MIT */
#include "fleet_plan.h"

#include "gateway.h"

#include <stdlib.h>
#include <string.h>

void fleet_target_options(const struct gateway *gateway,
                          const struct config_target *settings,
                          struct backend *backend, double weight,
                          lbroute_target_options *options)
{
    lbroute_target_options_init(options, sizeof *options);
    options->name = settings->name;
    options->name_len = strlen(settings->name);
    options->pool = fleet_pool_handle(gateway, settings->pool);
    options->weight = weight;
    options->max_concurrency = settings->max_concurrency;
    options->max_input_tokens = settings->max_input_tokens;
    options->tier = settings->tier;
    options->tier_len = strlen(settings->tier);
    options->model = settings->model;
    options->model_len = strlen(settings->model);
    options->price_key = settings->price_key;
    options->price_key_len = strlen(settings->price_key);
    options->user = backend;
}

/* It lives on for exchanges that still hold it. */
static void let_go(struct backend *backend, lbroute_router *router)
{
    lbroute_target_remove(router, backend->target);
    backend->target = 0;
    backend->settings = NULL;
    backend->next = NULL;
    backend_drop(backend);
}

void fleet_let_go(struct fleet *fleet, lbroute_router *router)
{
    while (fleet->backends != NULL) {
        struct backend *backend = fleet->backends;

        fleet->backends = backend->next;
        let_go(backend, router);
    }
}

void fleet_release(struct gateway *gateway)
{
    struct fleet *fleet = gateway->fleet;
    const struct config *config;

    if (fleet == NULL)
        return;
    fleet_let_go(fleet, gateway->router);
    config = gateway->config;
    for (size_t i = 0; config != NULL && i < config->pool_count; i++)
        lbroute_pool_remove(gateway->router,
                            fleet_pool_handle(gateway, config->pools[i].name));
    free(fleet->names);
    free(fleet);
    gateway->fleet = NULL;
}

struct backend *fleet_find(const struct fleet *fleet, const char *name)
{
    struct backend *backend = fleet->backends;

    while (backend != NULL && strcmp(backend->name, name) != 0)
        backend = backend->next;
    return backend;
}
