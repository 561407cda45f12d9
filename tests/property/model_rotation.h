/* SPDX-License-Identifier: MIT */
/*
 * The rotation of `round_robin` as a plain queue: whoever has waited longest
 * is next, and then waits behind all others.
 *
 *     list:   A B C D        in the order in which they joined
 *     queue:  C D A B        B was served last
 *
 * A newcomer waits behind the last of the list (E between D and A), or is next
 * if that one was served last.
 */
#ifndef LBROUTE_TESTS_PROPERTY_MODEL_ROTATION_H
#define LBROUTE_TESTS_PROPERTY_MODEL_ROTATION_H

#include <stddef.h>

#include <lbroute/lbroute.h>

enum { MODEL_ROTATION_MOST = 256 };

struct model_rotation {
    size_t count;
    lbroute_target list[MODEL_ROTATION_MOST];
    lbroute_target queue[MODEL_ROTATION_MOST];
    lbroute_target served_last; /**< 0: nobody who is still there. */
};

void model_rotation_join(struct model_rotation *rotation,
                         lbroute_target target);
void model_rotation_leave(struct model_rotation *rotation,
                          lbroute_target target);
void model_rotation_serve(struct model_rotation *rotation,
                          lbroute_target target);

#endif
