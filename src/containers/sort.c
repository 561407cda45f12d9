/* SPDX-License-Identifier: MIT */
/* Heapsort. Source: Williams, "Algorithm 232: Heapsort", 1964. */
#include "containers/sort.h"

/* Lets the item at |at| sink to where nothing below comes after it. */
static void sink(void **items, size_t count, size_t at,
                 lbr_comes_before *before)
{
    void *item = items[at];
    size_t child;

    while ((child = 2 * at + 1) < count) {
        if (child + 1 < count && before(items[child], items[child + 1]))
            child++;
        if (!before(item, items[child]))
            break;
        items[at] = items[child];
        at = child;
    }
    items[at] = item;
}

void lbr_sort(void **items, size_t count, lbr_comes_before *before)
{
    size_t i;

    for (i = count / 2; i-- > 0;)
        sink(items, count, i, before);
    for (i = count; i-- > 1;) {
        void *last = items[i];

        items[i] = items[0];
        items[0] = last;
        sink(items, i, 0, before);
    }
}
