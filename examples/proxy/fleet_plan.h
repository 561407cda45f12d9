/* SPDX-License-Identifier: MIT */
/*
 * How a configuration is applied: what may fail comes first, each step with
 * what takes it back; what cannot fail comes last.
 *
 *     prepare ─▶ pools ─▶ updates ─▶ additions ─▶ replacements ─▶ commit
 *        │         │         │           │             │    removals, lists
 *        └─────────┴─────────┴─ failed ──┴─────────────┘
 *                                 └─▶ undone, the latest step first
 */
#ifndef LBROUTE_PROXY_FLEET_PLAN_H
#define LBROUTE_PROXY_FLEET_PLAN_H

#include "fleet.h"

#include <lbroute/lbroute.h>

enum fleet_undo_kind {
    UNDO_POOL_ADDED,
    UNDO_STRATEGY,
    UNDO_PARAMETER,
    UNDO_TARGET_ADDED,
    UNDO_TARGET_UPDATED,
    UNDO_TARGET_REMOVED
};

struct fleet_undo {
    enum fleet_undo_kind kind;
    lbroute_pool pool;
    const char *text;        /**< Strategy, or name of a parameter. */
    double value;            /**< Of the parameter, or weight. */
    struct backend *backend; /**< Of a target. */
    int draining;
};

/** What becomes of one target of the configuration. */
struct fleet_move {
    const struct config_target *settings;
    struct backend *kept;     /**< It stays; NULL: it is new. */
    struct backend *fresh;    /**< It is new, or has a new address. */
    struct backend *replaced; /**< What had its name and another address. */
    char *api_key;            /**< For the one that is kept. */
    struct backend *after;    /**< What stands for it once all is done. */
};

struct fleet_plan {
    struct gateway *gateway;
    struct fleet *fleet;
    const struct config *config;
    uint64_t now;
    struct fleet_move *moves; /**< One for each target. */
    struct fleet_undo *undo;
    size_t undo_count;
    struct fleet_name *names; /**< As in the fleet that will be. */
    size_t name_count;
    char *error;
    size_t error_size;
};

/** All three return false, with the message in the plan. */
bool fleet_fail(struct fleet_plan *plan, const char *what, const char *name,
                int code);
bool fleet_fail_memory(struct fleet_plan *plan);

/** Adds pools, and changes those whose settings differ. */
bool fleet_apply_pools(struct fleet_plan *plan);

/** Removes pools that are not in the configuration any more. */
void fleet_remove_pools(struct fleet_plan *plan);

/** Changes of settings a pool takes at most. */
size_t fleet_pool_changes(const struct fleet_plan *plan);

/** Handle of a pool by name; 0: none. */
lbroute_pool fleet_pool_handle(const struct gateway *gateway, const char *name);

/** What the router is told of a target. */
void fleet_target_options(const struct gateway *gateway,
                          const struct config_target *settings,
                          struct backend *backend, double weight,
                          lbroute_target_options *options);

/** Removes the backends that are in the fleet's list. */
void fleet_let_go(struct fleet *fleet, lbroute_router *router);

/** Room for all steps was made when the plan was. */
void fleet_remember(struct fleet_plan *plan, struct fleet_undo undo);
void fleet_undo_all(struct fleet_plan *plan);

/** Lists the names that clients may ask for. */
bool fleet_list_names(struct fleet_plan *plan);

/** The model that all targets serve, or NULL. */
const char *fleet_only_model(const struct config *config);

/** The key that the environment holds for a target, copied into `key`; NULL:
 * none is asked for. False: out of memory. Free it with secret_free(). */
bool backend_read_key(const struct config_target *settings, char **key);

/** A backend with one reference, still without a target; NULL: out of
 * memory. */
struct backend *backend_new(struct gateway *gateway,
                            const struct config_target *settings);

/** Whether settings name the address that it has. */
bool backend_is_at(const struct backend *backend,
                   const struct config_target *settings);

#endif
