/* SPDX-License-Identifier: MIT */
#include "model_rotation.h"

#include <string.h>

#include "check.h"

/* The place of a target in one of the arrays; it must be there. */
static size_t find(const lbroute_target *array, size_t count,
                   lbroute_target target)
{
    size_t place = 0;
    while (place < count && array[place] != target)
        place++;
    CHECK(place < count);
    return place;
}

static void take_out(lbroute_target *array, size_t count, lbroute_target target)
{
    size_t place = find(array, count, target);
    memmove(&array[place], &array[place + 1],
            (count - place - 1) * sizeof array[0]);
}

static void put_in(lbroute_target *array, size_t count, size_t place,
                   lbroute_target target)
{
    memmove(&array[place + 1], &array[place],
            (count - place) * sizeof array[0]);
    array[place] = target;
}

void model_rotation_join(struct model_rotation *rotation, lbroute_target target)
{
    size_t count = rotation->count;
    size_t place = 0;
    if (count > 0 && rotation->list[count - 1] != rotation->served_last)
        place = find(rotation->queue, count, rotation->list[count - 1]) + 1;
    put_in(rotation->queue, count, place, target);
    rotation->list[count] = target;
    rotation->count++;
}

void model_rotation_leave(struct model_rotation *rotation,
                          lbroute_target target)
{
    take_out(rotation->list, rotation->count, target);
    take_out(rotation->queue, rotation->count, target);
    rotation->count--;
    if (rotation->served_last == target)
        rotation->served_last = 0;
}

void model_rotation_serve(struct model_rotation *rotation,
                          lbroute_target target)
{
    take_out(rotation->queue, rotation->count, target);
    rotation->queue[rotation->count - 1] = target;
    rotation->served_last = target;
}
