/* SPDX-License-Identifier: MIT */
#include "adapter_slots.h"

#include "grow.h"

#include <stdlib.h>

void adapter_slots_init(struct adapter_slots *slots, uint32_t count)
{
    *slots = (struct adapter_slots){.count = count};
    slots->slots = grow_zeroed(count, sizeof *slots->slots);
}

void adapter_slots_release(struct adapter_slots *slots)
{
    free(slots->slots);
    *slots = (struct adapter_slots){0};
}

/* The slot of an adapter, or NULL. */
static struct adapter_slot *find(const struct adapter_slots *slots,
                                 uint32_t adapter)
{
    for (uint32_t i = 0; i < slots->count; i++)
        if (slots->slots[i].adapter == adapter)
            return &slots->slots[i];
    return NULL;
}

/* The slot that is idle for the longest time, or NULL. One that was never
 * filled is so since before the first release. */
static struct adapter_slot *oldest_idle(const struct adapter_slots *slots)
{
    struct adapter_slot *oldest = NULL;

    for (uint32_t i = 0; i < slots->count; i++) {
        struct adapter_slot *slot = &slots->slots[i];

        if (slot->running == 0 &&
            (oldest == NULL || slot->idle_at < oldest->idle_at))
            oldest = slot;
    }
    return oldest;
}

bool adapter_slots_admit(const struct adapter_slots *slots, uint32_t adapter)
{
    return adapter == ADAPTER_NONE || find(slots, adapter) != NULL ||
           oldest_idle(slots) != NULL;
}

bool adapter_slots_begin(struct adapter_slots *slots, uint32_t adapter)
{
    struct adapter_slot *slot;

    if (adapter == ADAPTER_NONE)
        return false;
    slot = find(slots, adapter);
    if (slot != NULL) {
        slot->running++;
        return false;
    }
    slot = oldest_idle(slots);
    slot->adapter = adapter;
    slot->running = 1;
    return true;
}

void adapter_slots_end(struct adapter_slots *slots, uint32_t adapter)
{
    struct adapter_slot *slot;

    if (adapter == ADAPTER_NONE)
        return;
    slot = find(slots, adapter);
    if (--slot->running == 0)
        slot->idle_at = ++slots->releases;
}
