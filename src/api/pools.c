/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "policy/request.h"
#include "policy/strategy.h"
#include "state/registry.h"

void lbroute_pool_options_init(lbroute_pool_options *options, size_t size)
{
    lbroute_pool_options defaults = {0};

    lbr_abi_init(options, size, &defaults, sizeof defaults);
}

void lbroute_pool_info_init(lbroute_pool_info *info, size_t size)
{
    lbroute_pool_info defaults = {0};

    lbr_abi_init(info, size, &defaults, sizeof defaults);
}

/* What the pool's tries compare follows from strategy and parameters. */
static void set_trie_kind(struct lbroute_router *router, struct lbr_pool *pool)
{
    struct lbr_group *group;

    pool->trie_kind = lbr_strategy_trie_kind(pool->strategy, &pool->params);
    for (group = pool->groups; group; group = group->next)
        lbr_group_set_trie_kind(group, &router->memory, pool->trie_kind);
    lbr_request_publish(router, pool);
}

static int add_pool(struct lbroute_router *router, struct lbr_text name,
                    const struct lbr_strategy *strategy, lbroute_pool *out)
{
    struct lbr_pool *pool = lbr_pool_named(router, name);
    int result;

    if (pool) {
        *out = pool->slot.handle;
        return LBROUTE_ERR_EXISTS;
    }
    result = lbr_pool_create(router, name, &pool);
    if (result)
        return result;
    pool->strategy = strategy;
    lbr_params_init(&pool->params);
    pool->uses = lbr_strategy_uses(strategy, &pool->params);
    set_trie_kind(router, pool);
    *out = pool->slot.handle;
    return LBROUTE_OK;
}

int lbroute_pool_add(lbroute_router *router, const lbroute_pool_options *in,
                     lbroute_pool *pool)
{
    lbroute_pool_options options = {0};
    const struct lbr_strategy *strategy;
    int result;

    if (!router || !pool)
        return LBROUTE_ERR_INVALID;
    result = lbr_abi_read(&options, sizeof options, in);
    if (result)
        return result;
    if (lbr_text_broken(options.name, options.name_len) ||
        lbr_text_broken(options.strategy, options.strategy_len))
        return LBROUTE_ERR_INVALID;
    if (!lbr_text_is_name(lbr_text(options.name, options.name_len), 0))
        return LBROUTE_ERR_NAME;
    strategy =
        lbr_strategy_find(lbr_text(options.strategy, options.strategy_len));
    if (!strategy)
        return LBROUTE_ERR_NOT_FOUND;
    lbr_router_enter(router);
    result = add_pool(router, lbr_text(options.name, options.name_len),
                      strategy, pool);
    return lbr_router_leave(router, result);
}

/* Every group first learns the new structures; only when all could, the old
 * ones go. Returns 0 without memory; then nothing changed. */
static int change_uses(struct lbroute_router *router, struct lbr_pool *pool,
                       unsigned uses)
{
    struct lbr_rng rng = router->rng;
    int fits = 1;
    struct lbr_group *group;

    for (group = pool->groups; group && fits; group = group->next)
        fits = lbr_group_extend(group, &router->memory, &router->rng, uses);
    if (fits)
        pool->uses = uses;
    else
        router->rng = rng;
    for (group = pool->groups; group; group = group->next)
        lbr_group_keep_only(group, &router->memory, pool->uses);
    return fits;
}

static int change_strategy(struct lbroute_router *router, struct lbr_pool *pool,
                           const struct lbr_strategy *strategy)
{
    if (!change_uses(router, pool, lbr_strategy_uses(strategy, &pool->params)))
        return LBROUTE_ERR_NO_MEMORY;
    pool->strategy = strategy;
    set_trie_kind(router, pool);
    return LBROUTE_OK;
}

int lbroute_pool_update(lbroute_router *router, lbroute_pool handle,
                        const char *name, size_t name_len)
{
    const struct lbr_strategy *strategy;
    struct lbr_pool *pool;
    int result = LBROUTE_OK;

    if (!router || lbr_text_broken(name, name_len))
        return LBROUTE_ERR_INVALID;
    strategy = lbr_strategy_find(lbr_text(name, name_len));
    if (!strategy)
        return LBROUTE_ERR_NOT_FOUND;
    lbr_router_enter(router);
    pool = lbr_router_pool(router, handle);
    if (!pool)
        result = LBROUTE_ERR_NOT_FOUND;
    else if (pool->strategy != strategy)
        result = change_strategy(router, pool, strategy);
    return lbr_router_leave(router, result);
}

static void remove_stages(struct lbr_pool *pool, struct lbr_link *dead)
{
    while (!lbr_list_empty(&pool->stages))
        lbr_stage_remove(
            LBR_OWNER(pool->stages.next, struct lbr_stage, siblings), dead);
}

int lbroute_pool_remove(lbroute_router *router, lbroute_pool handle)
{
    struct lbr_pool *pool;
    struct lbr_link dead;
    int result = LBROUTE_OK;

    if (!router)
        return LBROUTE_ERR_INVALID;
    lbr_list_init(&dead);
    lbr_router_enter(router);
    pool = lbr_router_pool(router, handle);
    if (!pool)
        result = LBROUTE_ERR_NOT_FOUND;
    else if (pool->targets)
        result = LBROUTE_ERR_BUSY;
    else {
        remove_stages(pool, &dead);
        lbr_pool_destroy(router, pool);
    }
    (void)lbr_router_leave(router, result);
    lbr_stages_bury(&router->stages, &router->lock, &dead);
    return result;
}

int lbroute_pool_find(lbroute_router *router, const char *name, size_t name_len,
                      lbroute_pool *out)
{
    struct lbr_pool *pool;

    if (!router || !out || lbr_text_broken(name, name_len))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    pool = lbr_pool_named(router, lbr_text(name, name_len));
    if (pool)
        *out = pool->slot.handle;
    return lbr_router_leave(router, pool ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}

int lbroute_pool_next(lbroute_router *router, lbroute_pool previous,
                      lbroute_pool *out)
{
    struct lbr_pool *pool;

    if (!router || !out)
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    pool = lbr_slab_next(&router->pools, previous);
    if (pool)
        *out = pool->slot.handle;
    return lbr_router_leave(router, pool ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}

int lbroute_pool_get_info(lbroute_router *router, lbroute_pool handle,
                          lbroute_pool_info *out)
{
    lbroute_pool_info info = {0};
    const struct lbr_pool *pool;
    int result = LBROUTE_ERR_NOT_FOUND;

    if (!router || !lbr_abi_valid(out))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    pool = lbr_router_pool(router, handle);
    if (pool) {
        info.strategy = pool->strategy->name;
        info.targets = pool->targets;
        info.name_len = (uint32_t)pool->name.length;
        lbr_text_export(info.name, pool->name);
        result = lbr_abi_write(out, &info, sizeof info);
    }
    return lbr_router_leave(router, result);
}

/* Ring points that follow weights, or no longer: in all groups or in none. */
static int change_rings(struct lbr_pool *pool, int weighted)
{
    struct lbr_group *group;
    int fits = 1;

    for (group = pool->groups; group && fits; group = group->next)
        fits = lbr_group_prepare_ring(group, weighted);
    for (group = pool->groups; group; group = group->next)
        if (fits)
            lbr_group_adopt_ring(group, weighted);
        else
            lbr_group_drop_spare(group);
    return fits;
}

/* Counts in buckets of another length mean nothing. */
static void restart_shares(struct lbr_pool *pool)
{
    struct lbr_group *group;
    uint32_t i;

    for (group = pool->groups; group; group = group->next) {
        group->share_until = 0;
        for (i = 0; i < group->count; i++)
            memset(&group->members[i]->shares, 0,
                   sizeof group->members[i]->shares);
    }
}

/* What the groups keep by these parameters: all of it, or nothing changes. No
 * parameter is about both. */
static int change_structures(struct lbroute_router *router,
                             struct lbr_pool *pool,
                             const struct lbr_params *params)
{
    return change_rings(pool, params->weighted_points) &&
           change_uses(router, pool, lbr_strategy_uses(pool->strategy, params));
}

static int set_param(struct lbroute_router *router, struct lbr_pool *pool,
                     enum lbr_param param, double value)
{
    struct lbr_params params = pool->params;
    struct lbr_group *group;
    uint32_t i;

    if (params.value[param] == value)
        return LBROUTE_OK;
    if (!lbr_params_set(&params, param, value))
        return LBROUTE_ERR_RANGE;
    if (!change_structures(router, pool, &params))
        return LBROUTE_ERR_NO_MEMORY;
    if (params.share_bucket != pool->params.share_bucket)
        restart_shares(pool);
    pool->params = params;
    set_trie_kind(router, pool);
    lbr_pool_renew_cap(pool);
    for (group = pool->groups; group; group = group->next)
        for (i = 0; i < group->count; i++)
            lbr_target_changed(group->members[i]);
    return LBROUTE_OK;
}

int lbroute_pool_set(lbroute_router *router, lbroute_pool handle,
                     const char *name, double value)
{
    struct lbr_pool *pool;
    enum lbr_param param;
    int result = LBROUTE_ERR_NOT_FOUND;

    if (!router || !name)
        return LBROUTE_ERR_INVALID;
    param = lbr_param_find(name);
    if (param == LBR_PARAM_COUNT)
        return LBROUTE_ERR_NOT_FOUND;
    lbr_router_enter(router);
    pool = lbr_router_pool(router, handle);
    if (pool)
        result = set_param(router, pool, param, value);
    return lbr_router_leave(router, result);
}

int lbroute_pool_get(lbroute_router *router, lbroute_pool handle,
                     const char *name, double *value)
{
    const struct lbr_pool *pool;
    enum lbr_param param;

    if (!router || !name || !value)
        return LBROUTE_ERR_INVALID;
    param = lbr_param_find(name);
    if (param == LBR_PARAM_COUNT)
        return LBROUTE_ERR_NOT_FOUND;
    lbr_router_enter(router);
    pool = lbr_router_pool(router, handle);
    if (pool)
        *value = pool->params.value[param];
    return lbr_router_leave(router, pool ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}
