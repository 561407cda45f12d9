/* SPDX-License-Identifier: MIT */
#include "state/registry.h"

#include "base/hash.h"

/* The same in all routers: a room is found again by it, and pins that come from
 * elsewhere. */
static uint64_t key_of(struct lbr_text name)
{
    return lbr_hash(name.bytes, name.length);
}

static uint64_t table_key(const struct lbroute_router *router,
                          struct lbr_text name)
{
    return lbr_hash_seeded(name.bytes, name.length, router->table_secret);
}

/* The object of that name; its own name stands |name_at| bytes into it. */
static void *find_named(const struct lbroute_router *router,
                        const struct lbr_slab *slab,
                        const struct lbr_map *names, size_t name_at,
                        struct lbr_text name)
{
    uint64_t key = table_key(router, name);
    uint32_t cursor = 0;
    uint32_t index;

    while ((index = lbr_map_next(names, key, &cursor)) != LBR_MAP_NONE) {
        unsigned char *object = lbr_slab_at(slab, index);
        struct lbr_text own;

        memcpy(&own, object + name_at, sizeof own);
        if (lbr_text_equal(own, name))
            return object;
    }
    return NULL;
}

struct lbr_pool *lbr_pool_named(struct lbroute_router *router,
                                struct lbr_text name)
{
    return find_named(router, &router->pools, &router->pool_names,
                      offsetof(struct lbr_pool, name), name);
}

struct lbr_target *lbr_target_named(struct lbroute_router *router,
                                    struct lbr_text name)
{
    return find_named(router, &router->targets, &router->target_names,
                      offsetof(struct lbr_target, name), name);
}

struct lbr_model *lbr_model_named(struct lbroute_router *router,
                                  struct lbr_text name)
{
    return find_named(router, &router->models, &router->model_names,
                      offsetof(struct lbr_model, name), name);
}

/* Takes an object from |slab|, registers it under |name| and gives it a copy
 * of that: the common part of all named things. */
static int create_named(struct lbroute_router *router, struct lbr_slab *slab,
                        struct lbr_map *names, struct lbr_text name,
                        struct lbr_text *copy, void **object)
{
    int result;

    if (!lbr_map_reserve(names))
        return LBROUTE_ERR_NO_MEMORY;
    if (!lbr_text_copy(&router->memory, name, copy))
        return LBROUTE_ERR_NO_MEMORY;
    result = lbr_slab_take(slab, object);
    if (result) {
        lbr_text_free(&router->memory, *copy);
        return result;
    }
    memset((char *)*object + sizeof(struct lbr_slot), 0,
           slab->object_size - sizeof(struct lbr_slot));
    lbr_map_add(names, table_key(router, name),
                lbr_slab_index(((struct lbr_slot *)*object)->handle));
    return LBROUTE_OK;
}

static void destroy_named(struct lbroute_router *router, struct lbr_slab *slab,
                          struct lbr_map *names, struct lbr_text name,
                          struct lbr_slot *slot)
{
    lbr_map_remove(names, table_key(router, name),
                   lbr_slab_index(slot->handle));
    lbr_text_free(&router->memory, name);
    lbr_slab_give(slab, slot);
}

int lbr_pool_create(struct lbroute_router *router, struct lbr_text name,
                    struct lbr_pool **pool)
{
    struct lbr_text copy;
    void *object;
    int result = create_named(router, &router->pools, &router->pool_names, name,
                              &copy, &object);

    if (result)
        return result;
    *pool = object;
    (*pool)->name = copy;
    (*pool)->pin_key = key_of(copy);
    lbr_list_init(&(*pool)->stages);
    return LBROUTE_OK;
}

void lbr_pool_destroy(struct lbroute_router *router, struct lbr_pool *pool)
{
    destroy_named(router, &router->pools, &router->pool_names, pool->name,
                  &pool->slot);
}

int lbr_target_create(struct lbroute_router *router, struct lbr_text name,
                      struct lbr_target **target)
{
    struct lbr_text copy;
    void *object;
    int result = create_named(router, &router->targets, &router->target_names,
                              name, &copy, &object);

    if (result)
        return result;
    *target = object;
    (*target)->name = copy;
    (*target)->pool = &router->loose;
    (*target)->arrival = router->arrivals++;
    (*target)->full_at = (*target)->benched_at = LBR_NEVER;
    (*target)->drained_at = LBR_NEVER;
    (*target)->ceiling = UINT32_MAX;
    lbr_signals_init(&(*target)->signals);
    lbr_adapters_init(&(*target)->adapters);
    lbr_list_init(&(*target)->sessions);
    lbr_kv_side_init(&(*target)->kv);
    lbr_latency_init(&(*target)->latency);
    lbr_shared_owner_init(&(*target)->prefixes,
                          lbr_slab_index((*target)->slot.handle));
    return LBROUTE_OK;
}

void lbr_target_destroy(struct lbroute_router *router,
                        struct lbr_target *target)
{
    lbr_sessions_purge(&router->sessions, &target->sessions);
    lbr_kv_side_purge(&router->kv, &target->kv);
    router->orphans += target->in_flight;
    lbr_adapters_destroy(&target->adapters, &router->memory);
    lbr_text_free(&router->memory, target->tier);
    lbr_text_free(&router->memory, target->price_key);
    destroy_named(router, &router->targets, &router->target_names, target->name,
                  &target->slot);
}

/* The group of |tier| in |*groups|, those of |pool| or (NULL) of a model, made
 * if there is none; NULL without memory. |owner| tells one pool or model from
 * another for as long as somebody may wait for it. */
static struct lbr_group *enter_group(struct lbroute_router *router,
                                     struct lbr_group **groups,
                                     struct lbr_text tier,
                                     const struct lbr_pool *pool,
                                     uint64_t owner)
{
    struct lbr_group *group = lbr_groups_find(*groups, tier);

    if (group)
        return group;
    group = lbr_group_create(&router->memory, &router->targets, tier,
                             pool ? pool->uses : LBR_USES_SCHEDULE,
                             pool != NULL, router->table_secret);
    if (!group)
        return NULL;
    if (pool)
        lbr_group_set_trie_kind(group, &router->memory, pool->trie_kind);
    group->room_key = lbr_hash_pair(owner, key_of(tier));
    lbr_waiting_adopt(&router->waiting, group);
    group->next = *groups;
    *groups = group;
    return group;
}

static void drop_group_if_empty(struct lbroute_router *router,
                                struct lbr_group **groups,
                                struct lbr_group *group)
{
    if (!group || group->count)
        return;
    while (*groups != group)
        groups = &(*groups)->next;
    *groups = group->next;
    if (group->room)
        lbr_room_orphan(group->room);
    lbr_group_destroy(group, &router->memory);
}

static struct lbr_model *enter_model(struct lbroute_router *router,
                                     struct lbr_text name)
{
    struct lbr_model *model = lbr_model_named(router, name);
    struct lbr_text copy;
    void *object;

    if (model)
        return model;
    if (create_named(router, &router->models, &router->model_names, name, &copy,
                     &object))
        return NULL;
    model = object;
    model->name = copy;
    return model;
}

static void drop_model_if_empty(struct lbroute_router *router,
                                struct lbr_model *model)
{
    if (model && !model->groups)
        destroy_named(router, &router->models, &router->model_names,
                      model->name, &model->slot);
}

/* Which pools a model's targets are in. */
static void survey_model(struct lbroute_router *router, struct lbr_model *model)
{
    const struct lbr_group *group;
    uint32_t i;

    model->pool = NULL;
    model->mixed = 0;
    for (group = model->groups; group; group = group->next)
        for (i = 0; i < group->count; i++) {
            struct lbr_pool *pool = group->members[i]->pool;

            if ((model->pool && pool != model->pool) || pool == &router->loose)
                model->mixed = 1;
            model->pool = pool;
        }
}

static void leave_pool(struct lbroute_router *router, struct lbr_pool *pool,
                       struct lbr_target *target)
{
    struct lbr_group *group = target->by_pool.group;

    if (!group)
        return;
    lbr_group_leave(group, target);
    drop_group_if_empty(router, &pool->groups, group);
    pool->targets--;
}

static void leave_model(struct lbroute_router *router, struct lbr_model *model,
                        struct lbr_target *target)
{
    struct lbr_group *group = target->by_model.group;

    if (!group)
        return;
    lbr_group_leave(group, target);
    drop_group_if_empty(router, &model->groups, group);
    survey_model(router, model);
    drop_model_if_empty(router, model);
}

/* The groups of a place, made if need be. */
struct lbr_seat {
    struct lbr_group *pool_group, *model_group; /* NULL: in none */
    struct lbr_model *model;
};

/* Frees what was made for a seat that nobody took. */
static void drop_seat(struct lbroute_router *router, struct lbr_pool *pool,
                      const struct lbr_seat *seat)
{
    drop_group_if_empty(router, &pool->groups, seat->pool_group);
    if (!seat->model)
        return;
    drop_group_if_empty(router, &seat->model->groups, seat->model_group);
    drop_model_if_empty(router, seat->model);
}

static int make_seat(struct lbroute_router *router,
                     const struct lbr_place *place, struct lbr_seat *seat)
{
    memset(seat, 0, sizeof *seat);
    if (place->pool != &router->loose) {
        seat->pool_group =
            enter_group(router, &place->pool->groups, place->tier, place->pool,
                        place->pool->slot.handle);
        if (!seat->pool_group)
            return 0;
        seat->pool_group->weighted_points = place->pool->params.weighted_points;
    }
    if (!place->model.length)
        return 1;
    seat->model = enter_model(router, place->model);
    if (!seat->model)
        return 0;
    seat->model_group = enter_group(router, &seat->model->groups, place->tier,
                                    NULL, key_of(place->model));
    return seat->model_group != NULL;
}

/* Admits a target to the groups of a seat in which it is not yet. */
static int admit(struct lbroute_router *router, const struct lbr_seat *seat,
                 const struct lbr_target *target)
{
    struct lbr_group *pool_group = seat->pool_group;
    struct lbr_group *model_group = seat->model_group;

    if (pool_group == target->by_pool.group)
        pool_group = NULL;
    if (model_group == target->by_model.group)
        model_group = NULL;
    if (pool_group && !lbr_group_admit(pool_group, &router->memory, target))
        return 0;
    if (!model_group || lbr_group_admit(model_group, &router->memory, target))
        return 1;
    if (pool_group)
        lbr_group_dismiss(pool_group, target);
    return 0;
}

static void move_to_pool(struct lbroute_router *router,
                         struct lbr_target *target, struct lbr_pool *pool,
                         struct lbr_group *group)
{
    struct lbr_pool *before = target->pool;

    if (group == target->by_pool.group)
        return;
    leave_pool(router, before, target);
    if (group) {
        lbr_group_join(group, &router->rng, target);
        pool->targets++;
    }
    target->pool = pool;
    if (lbr_list_empty(&target->kv.sources))
        return;
    lbr_kv_sizes_renew(before);
    lbr_kv_sizes_renew(pool);
}

static void move_to_model(struct lbroute_router *router,
                          struct lbr_target *target, struct lbr_model *model,
                          struct lbr_group *group)
{
    if (group == target->by_model.group)
        return;
    leave_model(router, target->model, target);
    if (group)
        lbr_group_join(group, &router->rng, target);
    target->model = model;
    target->price_found_at = 0;
}

/* Notes that a target of a model came or changed pools. */
static void count_in_model(struct lbroute_router *router,
                           const struct lbr_target *target, int moved)
{
    struct lbr_model *model = target->model;

    if (!model)
        return;
    if (moved) {
        survey_model(router, model);
        return;
    }
    if ((model->pool && model->pool != target->pool) ||
        target->pool == &router->loose)
        model->mixed = 1;
    model->pool = target->pool;
}

int lbr_target_settle(struct lbroute_router *router, struct lbr_target *target,
                      const struct lbr_place *place)
{
    int moved = target->by_pool.group || target->by_model.group;
    struct lbr_seat seat;

    if (!make_seat(router, place, &seat) || !admit(router, &seat, target)) {
        drop_seat(router, place->pool, &seat);
        return LBROUTE_ERR_NO_MEMORY;
    }
    move_to_pool(router, target, place->pool, seat.pool_group);
    move_to_model(router, target, seat.model, seat.model_group);
    count_in_model(router, target, moved);
    lbr_target_set_ceiling(target);
    lbr_target_changed(target);
    return LBROUTE_OK;
}

void lbr_target_unsettle(struct lbroute_router *router,
                         struct lbr_target *target)
{
    struct lbr_place nowhere = {&router->loose, {NULL, 0}, {NULL, 0}};

    /* Leaving needs no memory. */
    (void)lbr_target_settle(router, target, &nowhere);
}
