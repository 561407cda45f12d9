/* SPDX-License-Identifier: MIT */
#include "event_heap.h"

#include "grow.h"

#include <stdlib.h>

static bool before(const struct heap_event *a, const struct heap_event *b)
{
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns;
    return a->order < b->order;
}

void event_heap_push(struct event_heap *heap, uint64_t at_ns, int32_t kind,
                     uint32_t index)
{
    struct heap_event added = {at_ns, heap->next_order++, kind, index};
    size_t place = heap->count;

    heap->events = grow_array(heap->events, &heap->capacity, heap->count + 1,
                              sizeof *heap->events);
    while (place > 0 && before(&added, &heap->events[(place - 1) / 2])) {
        heap->events[place] = heap->events[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    heap->events[place] = added;
    heap->count++;
}

bool event_heap_pop(struct event_heap *heap, struct heap_event *event)
{
    struct heap_event last;
    size_t place = 0;

    if (heap->count == 0)
        return false;
    *event = heap->events[0];
    last = heap->events[--heap->count];
    for (;;) {
        size_t child = place * 2 + 1;

        if (child >= heap->count)
            break;
        if (child + 1 < heap->count &&
            before(&heap->events[child + 1], &heap->events[child]))
            child++;
        if (!before(&heap->events[child], &last))
            break;
        heap->events[place] = heap->events[child];
        place = child;
    }
    heap->events[place] = last;
    return true;
}

void event_heap_release(struct event_heap *heap)
{
    free(heap->events);
    *heap = (struct event_heap){0};
}
