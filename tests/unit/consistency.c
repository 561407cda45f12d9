/* SPDX-License-Identifier: MIT */
#include "consistency.h"

#include "containers/bits.h"
#include "models/ring.h"
#include "state/registry.h"
#include "support/test.h"

static void check_tables(const struct lbr_group *group)
{
    uint32_t points = 0;

    if (group->uses & LBR_USES_RING)
        for (uint32_t i = 0; i < group->count; i++)
            points += lbr_group_member(group, i)->ring_points;
    assert_true(group->count <= group->capacity);
    assert_int_equal(group->ring.points, points);
    assert_int_equal(group->order.count,
                     group->uses & LBR_USES_ORDER ? group->count : 0);
    assert_int_equal(group->spare_ring.points, 0);
}

static void check_member(const struct lbr_group *group, uint32_t position)
{
    const struct lbr_target *target = group->members[position];
    const struct lbr_member *member = lbr_group_member(group, position);

    assert_ptr_equal(member->group, group);
    assert_int_equal(member->position, position);
    assert_true(lbr_text_equal(target->tier, group->tier));
    if (position)
        assert_true(group->members[position - 1] != target);
}

/* Groups are never empty and have tiers of their own. Returns the number of
 * members. */
static uint32_t check_groups(const struct lbr_group *groups, unsigned uses,
                             int by_pool)
{
    uint32_t members = 0;

    for (const struct lbr_group *group = groups; group; group = group->next) {
        assert_true(group->count > 0);
        assert_int_equal(group->uses, uses);
        assert_int_equal(group->by_pool, by_pool);
        assert_ptr_equal(
            lbr_groups_find((struct lbr_group *)groups, group->tier), group);
        for (uint32_t i = 0; i < group->count; i++)
            check_member(group, i);
        check_tables(group);
        members += group->count;
    }
    return members;
}

static void check_pool(struct lbroute_router *router, struct lbr_pool *pool)
{
    assert_int_equal(check_groups(pool->groups, pool->uses, 1), pool->targets);
    assert_ptr_equal(lbr_pool_named(router, pool->name), pool);
    for (const struct lbr_group *group = pool->groups; group;
         group = group->next)
        for (uint32_t i = 0; i < group->count; i++)
            assert_ptr_equal(group->members[i]->pool, pool);
}

/* A model is mixed when its targets are in several pools or one in none. */
static void check_model(struct lbroute_router *router, struct lbr_model *model)
{
    const struct lbr_pool *pool = model->groups->members[0]->pool;
    int mixed = pool == &router->loose;

    assert_true(check_groups(model->groups, LBR_USES_SCHEDULE, 0) > 0);
    assert_ptr_equal(lbr_model_named(router, model->name), model);
    for (const struct lbr_group *group = model->groups; group;
         group = group->next)
        for (uint32_t i = 0; i < group->count; i++) {
            assert_ptr_equal(group->members[i]->model, model);
            mixed |= group->members[i]->pool != pool;
        }
    assert_int_equal(model->mixed != 0, mixed);
    if (!mixed)
        assert_ptr_equal(model->pool, pool);
}

static void check_target(struct lbroute_router *router,
                         struct lbr_target *target)
{
    assert_ptr_equal(lbr_target_named(router, target->name), target);
    assert_int_equal(target->by_pool.group != NULL,
                     target->pool != &router->loose);
    assert_int_equal(target->by_model.group != NULL, target->model != NULL);
    if (target->by_pool.group)
        assert_ptr_equal(
            target->by_pool.group->members[target->by_pool.position], target);
    if (target->by_model.group)
        assert_ptr_equal(
            target->by_model.group->members[target->by_model.position], target);
}

void check_router(struct lbroute_router *router)
{
    void *object = NULL;
    uint64_t handle = 0;

    while ((object = lbr_slab_next(&router->pools, handle)) != NULL) {
        check_pool(router, object);
        handle = ((struct lbr_slot *)object)->handle;
    }
    handle = 0;
    while ((object = lbr_slab_next(&router->models, handle)) != NULL) {
        check_model(router, object);
        handle = ((struct lbr_slot *)object)->handle;
    }
    handle = 0;
    while ((object = lbr_slab_next(&router->targets, handle)) != NULL) {
        check_target(router, object);
        handle = ((struct lbr_slot *)object)->handle;
    }
    assert_null(router->loose.groups);
}

static void check_shown(const struct lbr_group *group, uint32_t position)
{
    const struct lbr_target *target = group->members[position];
    const struct lbr_member *member = lbr_group_member(group, position);
    int usable = lbr_target_usable(target);

    assert_int_equal(lbr_bits_has(group->usable, position), usable);
    if (group->uses & LBR_USES_SCHEDULE)
        assert_int_equal(member->turn.active, usable);
    if (group->uses & LBR_USES_ROTATION)
        assert_int_equal(member->place.active, usable);
}

/* The least loaded usable member comes first. */
static void check_first(const struct lbr_group *group)
{
    const struct lbr_target *first;

    if (!(group->uses & LBR_USES_ORDER) || !group->usable_count)
        return;
    first = group->members[lbr_load_order_first(&group->order)];
    assert_true(lbr_target_usable(first));
    for (uint32_t i = 0; i < group->count; i++)
        if (lbr_target_usable(group->members[i]))
            assert_true(lbr_target_relative_load(first) <=
                        lbr_target_relative_load(group->members[i]));
}

void check_group(const struct lbr_group *group)
{
    double loads = 0;
    double weights = 0;
    uint32_t usable = 0;

    for (uint32_t i = 0; i < group->count; i++) {
        const struct lbr_target *target = group->members[i];

        check_shown(group, i);
        usable += (uint32_t)lbr_target_usable(target);
        if (!target->in_service)
            continue;
        loads += lbr_target_load(target);
        weights += target->weight_now;
    }
    assert_int_equal(group->usable_count, usable);
    check_first(group);
    if (!group->by_pool)
        return;
    assert_near(group->load_sum, loads, 1e-9 * (1 + loads));
    assert_near(group->weight_sum, weights, 1e-9 * (1 + weights));
}
