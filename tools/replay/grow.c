/* SPDX-License-Identifier: MIT */
#include "grow.h"

#include "tell.h"

#include <stdint.h>
#include <stdlib.h>

static _Noreturn void give_up(void)
{
    tell_and_stop("out of memory");
}

void *grow_zeroed(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);

    if (memory == NULL)
        give_up();
    return memory;
}

void *grow_array(void *array, size_t *capacity, size_t needed, size_t size)
{
    size_t wanted = *capacity < 16 ? 16 : *capacity;

    if (needed <= *capacity)
        return array;
    while (wanted < needed && wanted <= SIZE_MAX / 2)
        wanted *= 2;
    if (wanted < needed || wanted > SIZE_MAX / size)
        give_up();
    array = realloc(array, wanted * size);
    if (array == NULL)
        give_up();
    *capacity = wanted;
    return array;
}
