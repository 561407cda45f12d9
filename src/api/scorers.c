/* SPDX-License-Identifier: MIT */
/* Scorers and filters of the host's own. */
#include "base/abi.h"
#include "state/router.h"

#define HEAVIEST 1000.0

static void set_defaults(lbroute_scorer_options *options)
{
    memset(options, 0, sizeof *options);
    options->weight = 1.0;
}

void lbroute_scorer_options_init(lbroute_scorer_options *options, size_t size)
{
    lbroute_scorer_options defaults;

    set_defaults(&defaults);
    lbr_abi_init(options, size, &defaults, sizeof defaults);
}

void lbroute_scorer_stats_init(lbroute_scorer_stats *stats, size_t size)
{
    lbroute_scorer_stats defaults = {0};

    lbr_abi_init(stats, size, &defaults, sizeof defaults);
}

static int bad_weight(double weight)
{
    return !(weight >= 0 && weight <= HEAVIEST);
}

static int check_options(const lbroute_scorer_options *options)
{
    if (!options->score || options->reserved0 || options->kind < 0 ||
        options->kind >= LBROUTE_SCORER_COUNT ||
        lbr_text_broken(options->name, options->name_len))
        return LBROUTE_ERR_INVALID;
    if (!lbr_text_is_name(lbr_text(options->name, options->name_len), 0))
        return LBROUTE_ERR_NAME;
    return bad_weight(options->weight) ? LBROUTE_ERR_RANGE : LBROUTE_OK;
}

static int register_stage(struct lbroute_router *router, lbroute_pool handle,
                          const lbroute_scorer_options *options,
                          lbroute_scorer *out)
{
    struct lbr_pool *pool = lbr_router_pool(router, handle);
    struct lbr_stage *stage;
    int result;

    if (!pool)
        return LBROUTE_ERR_NOT_FOUND;
    stage = lbr_stage_named(&pool->stages,
                            lbr_text(options->name, options->name_len));
    if (stage) {
        *out = stage->slot.handle;
        return LBROUTE_ERR_EXISTS;
    }
    result = lbr_stage_create(&router->stages, options, handle, &pool->stages,
                              &stage);
    if (!result)
        *out = stage->slot.handle;
    return result;
}

static int register_checked(struct lbroute_router *router, lbroute_pool pool,
                            const lbroute_scorer_options *options,
                            lbroute_scorer *scorer)
{
    int result;

    if (!router || !scorer)
        return LBROUTE_ERR_INVALID;
    result = check_options(options);
    if (result)
        return result;
    lbr_router_enter(router);
    return lbr_router_leave(router,
                            register_stage(router, pool, options, scorer));
}

int lbroute_scorer_register(lbroute_router *router, lbroute_pool pool,
                            const lbroute_scorer_options *in,
                            lbroute_scorer *scorer)
{
    lbroute_scorer_options options;
    int result;

    set_defaults(&options);
    result = lbr_abi_read(&options, sizeof options, in);
    /* What a newer caller wants is refused, but its `user` is freed. */
    if (result == LBROUTE_ERR_UNSUPPORTED)
        memcpy(&options, in, sizeof options);
    if (!result)
        result = register_checked(router, pool, &options, scorer);
    if (result && options.destroy)
        options.destroy(options.user);
    return result;
}

int lbroute_scorer_set_weight(lbroute_router *router, lbroute_scorer scorer,
                              double weight)
{
    struct lbr_stage *stage;

    if (!router)
        return LBROUTE_ERR_INVALID;
    if (bad_weight(weight))
        return LBROUTE_ERR_RANGE;
    lbr_router_enter(router);
    stage = lbr_stage_find(&router->stages, scorer);
    if (stage)
        stage->options.weight = weight;
    return lbr_router_leave(router, stage ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}

int lbroute_scorer_remove(lbroute_router *router, lbroute_scorer scorer)
{
    struct lbr_stage *stage;
    struct lbr_link dead;

    if (!router)
        return LBROUTE_ERR_INVALID;
    lbr_list_init(&dead);
    lbr_router_enter(router);
    stage = lbr_stage_find(&router->stages, scorer);
    if (stage)
        lbr_stage_remove(stage, &dead);
    (void)lbr_router_leave(router, LBROUTE_OK);
    lbr_stages_bury(&router->stages, &router->lock, &dead);
    return stage ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND;
}

/* The next stage that is not removed, of |pool| or (0) of any. */
static struct lbr_stage *next_stage(struct lbroute_router *router,
                                    lbroute_pool pool, lbroute_scorer previous)
{
    struct lbr_stage *stage;

    do {
        stage = lbr_slab_next(&router->stages.slab, previous);
        if (stage)
            previous = stage->slot.handle;
    } while (stage && (!stage->pool || (pool && stage->pool != pool)));
    return stage;
}

int lbroute_scorer_next(lbroute_router *router, lbroute_pool pool,
                        lbroute_scorer previous, lbroute_scorer *out)
{
    struct lbr_stage *stage;

    if (!router || !out)
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    stage = next_stage(router, pool, previous);
    if (stage)
        *out = stage->slot.handle;
    return lbr_router_leave(router, stage ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}

int lbroute_get_scorer_stats(lbroute_router *router, lbroute_scorer scorer,
                             lbroute_scorer_stats *out)
{
    lbroute_scorer_stats stats = {0};
    const struct lbr_stage *stage;
    int result = LBROUTE_ERR_NOT_FOUND;

    if (!router || !lbr_abi_valid(out))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    stage = lbr_stage_find(&router->stages, scorer);
    if (stage) {
        stats.pool = stage->pool;
        stats.kind = stage->options.kind;
        stats.weight = stage->options.weight;
        stats.calls = stage->calls;
        stats.errors = stage->errors;
        stats.not_finite = stage->not_finite;
        stats.name_len = (uint32_t)stage->name.length;
        lbr_text_export(stats.name, stage->name);
        result = lbr_abi_write(out, &stats, sizeof stats);
    }
    return lbr_router_leave(router, result);
}
