/* SPDX-License-Identifier: MIT */
/*
 * What happens next in virtual time.
 *
 * A binary heap ordered by time, then by order of insertion, so that a run is
 * the same on every machine.
 */
#ifndef LBROUTE_REPLAY_EVENT_HEAP_H
#define LBROUTE_REPLAY_EVENT_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_event {
    uint64_t at_ns;
    uint64_t order; /**< Set by event_heap_push(). */
    int32_t kind;
    uint32_t index; /**< Of the request or target it is about. */
};

struct event_heap {
    struct heap_event *events;
    size_t count;
    size_t capacity;
    uint64_t next_order;
};

/** Adds an event. */
void event_heap_push(struct event_heap *heap, uint64_t at_ns, int32_t kind,
                     uint32_t index);

/** Takes the earliest event. Returns false if there is none. */
bool event_heap_pop(struct event_heap *heap, struct heap_event *event);

/** Frees the heap; a zeroed struct is an empty one. */
void event_heap_release(struct event_heap *heap);

#endif
