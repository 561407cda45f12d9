/* SPDX-License-Identifier: MIT */
#include "state/target_list.h"

#include "containers/sort.h"

static int named_before(const void *a, const void *b)
{
    const struct lbr_target *first = a;
    const struct lbr_target *second = b;

    return lbr_text_compare(first->name, second->name) < 0;
}

void lbr_target_list_arrange(void **targets, uint32_t count)
{
    uint32_t i;

    if (count)
        lbr_sort(targets, count, named_before);
    for (i = 0; i < count; i++) {
        struct lbr_target *target = targets[i];

        target->slot.spare = i;
    }
}

void lbr_target_list_put(struct lbr_writer *writer, void *const *targets,
                         uint32_t count)
{
    uint32_t i;

    lbr_put_count(writer, count);
    for (i = 0; i < count; i++) {
        const struct lbr_target *target = targets[i];

        lbr_put_text(writer, target->name.bytes, target->name.length);
    }
}
