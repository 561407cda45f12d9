/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "state/registry.h"

#define LIGHTEST 1e-6
#define HEAVIEST 1e9

static void set_defaults(lbroute_target_options *options)
{
    memset(options, 0, sizeof *options);
    options->weight = 1.0;
    options->max_concurrency = 32;
}

void lbroute_target_options_init(lbroute_target_options *options, size_t size)
{
    lbroute_target_options defaults;

    set_defaults(&defaults);
    lbr_abi_init(options, size, &defaults, sizeof defaults);
}

static int bad_weight(double weight)
{
    return !(weight == 0 || (weight >= LIGHTEST && weight <= HEAVIEST));
}

/* Everything but the name. */
static int read_options(lbroute_target_options *options,
                        const lbroute_target_options *in)
{
    int result;

    set_defaults(options);
    result = lbr_abi_read(options, sizeof *options, in);
    if (result)
        return result;
    if (options->reserved0 ||
        lbr_text_broken(options->tier, options->tier_len) ||
        lbr_text_broken(options->model, options->model_len) ||
        lbr_text_broken(options->price_key, options->price_key_len))
        return LBROUTE_ERR_INVALID;
    if (!lbr_text_is_name(lbr_text(options->tier, options->tier_len), 1) ||
        !lbr_text_is_name(lbr_text(options->model, options->model_len), 1) ||
        !lbr_text_is_name(lbr_text(options->price_key, options->price_key_len),
                          1))
        return LBROUTE_ERR_NAME;
    return bad_weight(options->weight) ? LBROUTE_ERR_RANGE : LBROUTE_OK;
}

static int find_place(struct lbroute_router *router,
                      const lbroute_target_options *options,
                      struct lbr_place *place)
{
    place->pool = &router->loose;
    place->tier = lbr_text(options->tier, options->tier_len);
    place->model = lbr_text(options->model, options->model_len);
    if (options->pool)
        place->pool = lbr_router_pool(router, options->pool);
    return place->pool ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND;
}

static int is_there(const struct lbr_target *target,
                    const struct lbr_place *place)
{
    struct lbr_text model = lbr_text(NULL, 0);

    if (target->model)
        model = target->model->name;
    return target->pool == place->pool &&
           lbr_text_equal(target->tier, place->tier) &&
           lbr_text_equal(model, place->model);
}

/* Moves a target to its place and gives it its tier. */
static int settle(struct lbroute_router *router, struct lbr_target *target,
                  const struct lbr_place *place)
{
    struct lbr_text tier;
    int result;

    if (!lbr_text_copy(&router->memory, place->tier, &tier))
        return LBROUTE_ERR_NO_MEMORY;
    result = lbr_target_settle(router, target, place);
    if (result) {
        lbr_text_free(&router->memory, tier);
        return result;
    }
    lbr_text_free(&router->memory, target->tier);
    target->tier = tier;
    return LBROUTE_OK;
}

/* Starts the slow start of a target that serves again, and remembers when one
 * that served stopped. */
static void note_service(struct lbroute_router *router,
                         struct lbr_target *target, int was_drained)
{
    int drained = lbr_target_drained(target);

    if (was_drained || drained)
        target->drained_at = router->clock;
    if (was_drained && !drained)
        target->ramp_since = router->clock;
}

static int change_weight(struct lbroute_router *router,
                         struct lbr_target *target, double weight)
{
    int was_drained = lbr_target_drained(target);
    struct lbr_member *member = &target->by_pool;

    if (weight == target->weight)
        return LBROUTE_OK;
    if (member->group && !lbr_group_place(member->group, member, weight))
        return LBROUTE_ERR_NO_MEMORY;
    target->weight = weight;
    note_service(router, target, was_drained);
    lbr_target_changed(target);
    return LBROUTE_OK;
}

/* After a change that succeeded as a whole. */
static void note_weight(struct lbr_target *target, double before)
{
    if (target->weight >= before)
        return;
    if (target->by_pool.group)
        lbr_group_clamp_turns(target->by_pool.group);
    if (target->by_model.group)
        lbr_group_clamp_turns(target->by_model.group);
}

static void set_limits(struct lbr_target *target,
                       const lbroute_target_options *options)
{
    target->max_concurrency = options->max_concurrency;
    lbr_target_set_ceiling(target);
    target->max_input_tokens = options->max_input_tokens;
    target->user = options->user;
    lbr_target_changed(target);
}

/* No key of its own needs no memory. Returns 0 without any. */
static int copy_price_key(struct lbroute_router *router,
                          const lbroute_target_options *options,
                          struct lbr_text *key)
{
    *key = lbr_text(NULL, 0);
    return !options->price_key_len ||
           lbr_text_copy(&router->memory,
                         lbr_text(options->price_key, options->price_key_len),
                         key);
}

static void give_price_key(struct lbroute_router *router,
                           struct lbr_target *target, struct lbr_text key)
{
    lbr_text_free(&router->memory, target->price_key);
    target->price_key = key;
    target->price_found_at = 0;
}

static int add_target(struct lbroute_router *router,
                      const lbroute_target_options *options,
                      lbroute_target *out)
{
    struct lbr_text name = lbr_text(options->name, options->name_len);
    struct lbr_target *target = lbr_target_named(router, name);
    struct lbr_place place;
    int result;

    if (target) {
        *out = target->slot.handle;
        return LBROUTE_ERR_EXISTS;
    }
    result = find_place(router, options, &place);
    if (!result)
        result = lbr_target_create(router, name, &target);
    if (result)
        return result;
    target->weight = options->weight;
    result = copy_price_key(router, options, &target->price_key)
                 ? settle(router, target, &place)
                 : LBROUTE_ERR_NO_MEMORY;
    if (result) {
        lbr_target_destroy(router, target);
        return result;
    }
    target->ramp_since = router->clock;
    set_limits(target, options);
    *out = target->slot.handle;
    return LBROUTE_OK;
}

int lbroute_target_add(lbroute_router *router, const lbroute_target_options *in,
                       uint64_t now, lbroute_target *target)
{
    lbroute_target_options options;
    int result;

    if (!router || !target)
        return LBROUTE_ERR_INVALID;
    result = read_options(&options, in);
    if (result)
        return result;
    if (lbr_text_broken(options.name, options.name_len))
        return LBROUTE_ERR_INVALID;
    if (!lbr_text_is_name(lbr_text(options.name, options.name_len), 0))
        return LBROUTE_ERR_NAME;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    result = add_target(router, &options, target);
    return lbr_router_leave(router, result);
}

static int update_target(struct lbroute_router *router,
                         struct lbr_target *target,
                         const lbroute_target_options *options)
{
    double weight = target->weight;
    uint64_t ramp_since = target->ramp_since;
    uint64_t drained_at = target->drained_at;
    struct lbr_text price_key;
    struct lbr_place place;
    int result = find_place(router, options, &place);

    if (result)
        return result;
    if (!copy_price_key(router, options, &price_key))
        return LBROUTE_ERR_NO_MEMORY;
    result = change_weight(router, target, options->weight);
    if (!result && !is_there(target, &place)) {
        result = settle(router, target, &place);
        if (result) {
            /* Its former ring points always fit. */
            (void)change_weight(router, target, weight);
            target->ramp_since = ramp_since;
            target->drained_at = drained_at;
        }
    }
    if (result) {
        lbr_text_free(&router->memory, price_key);
        return result;
    }
    give_price_key(router, target, price_key);
    set_limits(target, options);
    note_weight(target, weight);
    return LBROUTE_OK;
}

int lbroute_target_update(lbroute_router *router, lbroute_target handle,
                          const lbroute_target_options *in, uint64_t now)
{
    lbroute_target_options options;
    struct lbr_target *target;
    int result;

    if (!router)
        return LBROUTE_ERR_INVALID;
    result = read_options(&options, in);
    if (result)
        return result;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    target = lbr_router_target(router, handle);
    result = target ? update_target(router, target, &options)
                    : LBROUTE_ERR_NOT_FOUND;
    return lbr_router_leave(router, result);
}

static int set_weight(struct lbroute_router *router, struct lbr_target *target,
                      double weight)
{
    double before = target->weight;
    int result = change_weight(router, target, weight);

    if (!result)
        note_weight(target, before);
    return result;
}

int lbroute_target_set_weight(lbroute_router *router, lbroute_target handle,
                              double weight, uint64_t now)
{
    struct lbr_target *target;
    int result;

    if (!router)
        return LBROUTE_ERR_INVALID;
    if (bad_weight(weight))
        return LBROUTE_ERR_RANGE;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    target = lbr_router_target(router, handle);
    result =
        target ? set_weight(router, target, weight) : LBROUTE_ERR_NOT_FOUND;
    return lbr_router_leave(router, result);
}

int lbroute_target_drain(lbroute_router *router, lbroute_target handle,
                         int draining, uint64_t now)
{
    struct lbr_target *target;

    if (!router || draining < 0 || draining > 1)
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    target = lbr_router_target(router, handle);
    if (target && target->draining != draining) {
        int was_drained = lbr_target_drained(target);

        target->draining = draining;
        note_service(router, target, was_drained);
        lbr_target_changed(target);
    }
    return lbr_router_leave(router,
                            target ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}

int lbroute_target_bench(lbroute_router *router, lbroute_target handle,
                         uint64_t duration, uint64_t now)
{
    struct lbr_target *target;

    if (!router)
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    target = lbr_router_target(router, handle);
    if (target) {
        lbr_health_bench(&target->health, duration, router->clock);
        target->benched_at = router->clock;
        lbr_target_changed(target);
    }
    return lbr_router_leave(router,
                            target ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}

int lbroute_target_remove(lbroute_router *router, lbroute_target handle)
{
    struct lbr_target *target;

    if (!router)
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    target = lbr_router_target(router, handle);
    if (target) {
        lbr_target_unsettle(router, target);
        lbr_target_destroy(router, target);
    }
    return lbr_router_leave(router,
                            target ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}

int lbroute_target_find(lbroute_router *router, const char *name,
                        size_t name_len, lbroute_target *out)
{
    struct lbr_target *target;

    if (!router || !out || lbr_text_broken(name, name_len))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    target = lbr_target_named(router, lbr_text(name, name_len));
    if (target)
        *out = target->slot.handle;
    return lbr_router_leave(router,
                            target ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}

static struct lbr_target *next_target(struct lbroute_router *router,
                                      const struct lbr_pool *pool,
                                      lbroute_target previous)
{
    struct lbr_target *target;

    do {
        target = lbr_slab_next(&router->targets, previous);
        if (target)
            previous = target->slot.handle;
    } while (target && pool && target->pool != pool);
    return target;
}

int lbroute_target_next(lbroute_router *router, lbroute_pool pool_handle,
                        lbroute_target previous, lbroute_target *out)
{
    const struct lbr_pool *pool = NULL;
    struct lbr_target *target = NULL;

    if (!router || !out)
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    if (pool_handle)
        pool = lbr_router_pool(router, pool_handle);
    if (pool || !pool_handle)
        target = next_target(router, pool, previous);
    if (target)
        *out = target->slot.handle;
    return lbr_router_leave(router,
                            target ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}

void lbroute_target_info_init(lbroute_target_info *info, size_t size)
{
    lbroute_target_info defaults = {0};

    lbr_abi_init(info, size, &defaults, sizeof defaults);
}

static void describe(const struct lbr_target *target, lbroute_target_info *info)
{
    info->pool = target->pool->slot.handle;
    info->weight = target->weight;
    info->max_input_tokens = target->max_input_tokens;
    info->max_concurrency = target->max_concurrency;
    info->draining = target->draining;
    info->user = target->user;
    lbr_text_export(info->name, target->name);
    lbr_text_export(info->tier, target->tier);
    if (target->model)
        lbr_text_export(info->model, target->model->name);
    if (target->price_key.length)
        lbr_text_export(info->price_key, target->price_key);
}

int lbroute_target_get_info(lbroute_router *router, lbroute_target handle,
                            lbroute_target_info *out)
{
    lbroute_target_info info = {0};
    const struct lbr_target *target;
    int result = LBROUTE_ERR_NOT_FOUND;

    if (!router || !lbr_abi_valid(out))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    target = lbr_router_target(router, handle);
    if (target) {
        describe(target, &info);
        result = lbr_abi_write(out, &info, sizeof info);
    }
    return lbr_router_leave(router, result);
}
