/* SPDX-License-Identifier: MIT */
#include "models/rotation.h"

#include "containers/list.h"

/* The turn behind everybody who was served so far: values fall by 2^64 with
 * each service, which leaves room for newcomers in between. */
static struct lbr_wide last_turn(const struct lbr_rotation *rotation)
{
    struct lbr_wide turn = {0 - rotation->served, 0};

    return turn;
}

void lbr_rotation_add(struct lbr_rotation *rotation,
                      struct lbr_rotation_place *place,
                      const struct lbr_rotation_place *before,
                      const struct lbr_rotation_place *front)
{
    static const struct lbr_wide step_back = {0, 1};
    static const struct lbr_wide to_front = {1, 0};

    place->active = 0;
    place->node.order = 0;
    if (!before)
        place->node.value = last_turn(rotation);
    else if (before == rotation->last)
        place->node.value = lbr_wide_add(front->node.value, to_front);
    else
        place->node.value = lbr_wide_sub(before->node.value, step_back);
}

void lbr_rotation_remove(struct lbr_rotation *rotation,
                         struct lbr_rotation_place *place)
{
    lbr_rotation_set_active(rotation, place, 0);
    if (rotation->last == place)
        rotation->last = NULL;
}

void lbr_rotation_set_active(struct lbr_rotation *rotation,
                             struct lbr_rotation_place *place, int active)
{
    if (active == place->active)
        return;
    place->active = active;
    if (active)
        lbr_heap_insert(&rotation->top, &place->node);
    else
        lbr_heap_remove(&rotation->top, &place->node);
}

struct lbr_rotation_place *lbr_rotation_peek(
    const struct lbr_rotation *rotation)
{
    if (!rotation->top)
        return NULL;
    return LBR_OWNER(rotation->top, struct lbr_rotation_place, node);
}

void lbr_rotation_serve(struct lbr_rotation *rotation,
                        struct lbr_rotation_place *place)
{
    int active = place->active;

    lbr_rotation_set_active(rotation, place, 0);
    rotation->served++;
    rotation->last = place;
    place->node.value = last_turn(rotation);
    lbr_rotation_set_active(rotation, place, active);
}

struct lbr_wide lbr_rotation_lead(const struct lbr_rotation *rotation,
                                  const struct lbr_rotation_place *place)
{
    return lbr_wide_sub(place->node.value, last_turn(rotation));
}

void lbr_rotation_set_lead(struct lbr_rotation *rotation,
                           struct lbr_rotation_place *place,
                           struct lbr_wide lead)
{
    int active = place->active;

    lbr_rotation_set_active(rotation, place, 0);
    place->node.value = lbr_wide_add(last_turn(rotation), lead);
    lbr_rotation_set_active(rotation, place, active);
}
