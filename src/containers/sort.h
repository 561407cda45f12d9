/* SPDX-License-Identifier: MIT */
/* Sorts pointers in place, without memory, in n log n steps whatever the
 * order. */
#ifndef LBR_CONTAINERS_SORT_H
#define LBR_CONTAINERS_SORT_H

#include <stddef.h>

/* Whether |a| comes before |b|. */
typedef int lbr_comes_before(const void *a, const void *b);

void lbr_sort(void **items, size_t count, lbr_comes_before *before);

#endif
