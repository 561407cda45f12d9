/* SPDX-License-Identifier: MIT */
#include "fleet_plan.h"

#include "gateway.h"
#include "secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool fleet_fail(struct fleet_plan *plan, const char *what, const char *name,
                int code)
{
    snprintf(plan->error, plan->error_size, "%s \"%s\": %s", what, name,
             lbroute_strerror(code));
    return false;
}

bool fleet_fail_memory(struct fleet_plan *plan)
{
    snprintf(plan->error, plan->error_size, "out of memory");
    return false;
}

/* By the router's own table of names: a fleet may be large. */
static struct backend *find_backend(lbroute_router *router, const char *name,
                                    lbroute_target_info *info)
{
    lbroute_target target;

    lbroute_target_info_init(info, sizeof *info);
    if (lbroute_target_find(router, name, strlen(name), &target) !=
            LBROUTE_OK ||
        lbroute_target_get_info(router, target, info) != LBROUTE_OK)
        return NULL;
    return info->user;
}

static bool prepare_move(struct fleet_plan *plan, struct fleet_move *move,
                         const struct config_target *settings)
{
    lbroute_target_info info;
    struct backend *backend =
        find_backend(plan->gateway->router, settings->name, &info);

    move->settings = settings;
    if (backend != NULL && backend_is_at(backend, settings)) {
        move->kept = backend;
        return backend_read_key(settings, &move->api_key) ||
               fleet_fail_memory(plan);
    }
    move->replaced = backend;
    move->fresh = backend_new(plan->gateway, settings);
    return move->fresh != NULL || fleet_fail_memory(plan);
}

/* All memory that is needed, so that only the router can fail later on. */
static bool prepare(struct fleet_plan *plan)
{
    const struct config *config = plan->config;
    size_t steps = fleet_pool_changes(plan) + 2 * config->target_count;

    plan->moves = calloc(config->target_count + 1, sizeof *plan->moves);
    plan->undo = calloc(steps + 1, sizeof *plan->undo);
    if (plan->moves == NULL || plan->undo == NULL)
        return fleet_fail_memory(plan);
    for (size_t i = 0; i < config->target_count; i++)
        if (!prepare_move(plan, &plan->moves[i], &config->targets[i]))
            return false;
    return fleet_list_names(plan);
}

/* A weight that an operator has set stays, unless the file's is a new one. */
static double weight_after(const struct config_target *before,
                           const struct config_target *after, double weight)
{
    bool same =
        before->weight >= after->weight && before->weight <= after->weight;

    return same ? weight : after->weight;
}

static bool update_target(struct fleet_plan *plan, struct fleet_move *move)
{
    lbroute_router *router = plan->gateway->router;
    struct backend *backend = move->kept;
    lbroute_target_options options;
    lbroute_target_info info;
    int code;

    lbroute_target_info_init(&info, sizeof info);
    code = lbroute_target_get_info(router, backend->target, &info);
    fleet_target_options(
        plan->gateway, move->settings, backend,
        weight_after(backend->settings, move->settings, info.weight), &options);
    if (code == LBROUTE_OK)
        code =
            lbroute_target_update(router, backend->target, &options, plan->now);
    if (code != LBROUTE_OK)
        return fleet_fail(plan, "target", backend->name, code);
    fleet_remember(plan, (struct fleet_undo){.kind = UNDO_TARGET_UPDATED,
                                             .backend = backend,
                                             .value = info.weight});
    return true;
}

static bool add_target(struct fleet_plan *plan, struct fleet_move *move)
{
    struct backend *backend = move->fresh;
    lbroute_target_options options;
    int code;

    fleet_target_options(plan->gateway, move->settings, backend,
                         move->settings->weight, &options);
    code = lbroute_target_add(plan->gateway->router, &options, plan->now,
                              &backend->target);
    if (code != LBROUTE_OK)
        return fleet_fail(plan, "target", backend->name, code);
    fleet_remember(plan, (struct fleet_undo){.kind = UNDO_TARGET_ADDED,
                                             .backend = backend});
    return true;
}

/* The name is taken until the old one is gone. Comes after all that may fail
 * for other reasons than memory: what was learned of it does not come back. */
static bool replace_target(struct fleet_plan *plan, struct fleet_move *move)
{
    lbroute_router *router = plan->gateway->router;
    lbroute_target_info info;

    lbroute_target_info_init(&info, sizeof info);
    lbroute_target_get_info(router, move->replaced->target, &info);
    lbroute_target_remove(router, move->replaced->target);
    fleet_remember(plan, (struct fleet_undo){.kind = UNDO_TARGET_REMOVED,
                                             .backend = move->replaced,
                                             .value = info.weight,
                                             .draining = info.draining});
    return add_target(plan, move);
}

static bool apply_targets(struct fleet_plan *plan)
{
    size_t count = plan->config->target_count;

    for (size_t i = 0; i < count; i++)
        if (plan->moves[i].kept != NULL &&
            !update_target(plan, &plan->moves[i]))
            return false;
    for (size_t i = 0; i < count; i++)
        if (plan->moves[i].kept == NULL && plan->moves[i].replaced == NULL &&
            !add_target(plan, &plan->moves[i]))
            return false;
    for (size_t i = 0; i < count; i++)
        if (plan->moves[i].replaced != NULL &&
            !replace_target(plan, &plan->moves[i]))
            return false;
    return true;
}

static void settle_move(struct fleet_move *move)
{
    move->after = move->kept != NULL ? move->kept : move->fresh;
    if (move->kept != NULL) {
        secret_free(move->kept->api_key);
        move->kept->api_key = move->api_key;
        move->api_key = NULL;
    }
    move->after->settings = move->settings;
}

/* Takes those that stay out of the old list; what is left there goes. */
static void take_out(struct fleet *fleet)
{
    struct backend **link = &fleet->backends;

    while (*link != NULL) {
        struct backend *backend = *link;

        if (backend->settings == NULL) {
            link = &backend->next;
            continue;
        }
        *link = backend->next;
        backend->next = NULL;
    }
}

static void commit_targets(struct fleet_plan *plan)
{
    struct fleet *fleet = plan->fleet;
    struct backend *list = NULL;

    for (struct backend *b = fleet->backends; b != NULL; b = b->next)
        b->settings = NULL;
    for (size_t i = plan->config->target_count; i-- > 0;)
        settle_move(&plan->moves[i]);
    take_out(fleet);
    fleet_let_go(fleet, plan->gateway->router);
    for (size_t i = plan->config->target_count; i-- > 0;) {
        struct backend *backend = plan->moves[i].after;

        backend->next = list;
        list = backend;
    }
    fleet->backends = list;
    fleet->tokenizes = false;
    for (const struct backend *b = list; b != NULL; b = b->next)
        fleet->tokenizes |= b->settings->tokenize_path[0] != '\0';
    fleet->count = plan->config->target_count;
}

static void commit(struct fleet_plan *plan)
{
    struct fleet *fleet = plan->fleet;

    commit_targets(plan);
    fleet_remove_pools(plan);
    free(fleet->names);
    fleet->names = plan->names;
    fleet->name_count = plan->name_count;
    plan->names = NULL;
    fleet->only_model = fleet_only_model(plan->config);
    fleet->default_pool =
        fleet_pool_handle(plan->gateway, plan->config->default_pool);
}

static void release_plan(struct fleet_plan *plan)
{
    for (size_t i = 0; plan->moves != NULL && i < plan->config->target_count;
         i++) {
        secret_free(plan->moves[i].api_key);
        if (plan->moves[i].fresh != NULL && plan->moves[i].after == NULL)
            backend_drop(plan->moves[i].fresh);
    }
    free(plan->moves);
    free(plan->undo);
    free(plan->names);
}

static bool make_fleet(struct fleet_plan *plan)
{
    if (plan->gateway->fleet == NULL)
        plan->gateway->fleet = calloc(1, sizeof *plan->gateway->fleet);
    plan->fleet = plan->gateway->fleet;
    return plan->fleet != NULL || fleet_fail_memory(plan);
}

bool fleet_apply(struct gateway *gateway, const struct config *config,
                 char *error, size_t error_size)
{
    struct fleet_plan plan = {.gateway = gateway,
                              .config = config,
                              .now = gateway_now(),
                              .error = error,
                              .error_size = error_size};
    bool good = make_fleet(&plan) && prepare(&plan) &&
                fleet_apply_pools(&plan) && apply_targets(&plan);

    if (good)
        commit(&plan);
    else
        fleet_undo_all(&plan);
    release_plan(&plan);
    return good;
}
