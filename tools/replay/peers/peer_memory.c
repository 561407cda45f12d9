/* SPDX-License-Identifier: MIT */
#include "peer_memory.h"

#include "../grow.h"

#include <stdlib.h>

void peer_memory_init(struct peer_memory *memory, uint32_t distinct_ids,
                      uint64_t capacity, uint64_t ttl_ns)
{
    *memory = (struct peer_memory){.capacity = capacity,
                                   .ttl_ns = ttl_ns,
                                   .newest = PEER_END,
                                   .oldest = PEER_END};
    memory->newer = grow_zeroed(distinct_ids, sizeof *memory->newer);
    memory->older = grow_zeroed(distinct_ids, sizeof *memory->older);
    for (uint32_t i = 0; i < distinct_ids; i++)
        memory->newer[i] = PEER_ABSENT;
    if (ttl_ns > 0)
        memory->sent_at = grow_zeroed(distinct_ids, sizeof *memory->sent_at);
}

void peer_memory_release(struct peer_memory *memory)
{
    free(memory->newer);
    free(memory->older);
    free(memory->sent_at);
    *memory = (struct peer_memory){0};
}

bool peer_memory_has(const struct peer_memory *memory, uint32_t id,
                     uint64_t now)
{
    if (memory->newer[id] == PEER_ABSENT)
        return false;
    return memory->ttl_ns == 0 || now - memory->sent_at[id] < memory->ttl_ns;
}

uint32_t peer_memory_run(const struct peer_memory *memory, const uint32_t *ids,
                         uint32_t count, uint64_t now)
{
    uint32_t run = 0;

    while (run < count && peer_memory_has(memory, ids[run], now))
        run++;
    return run;
}

static void unlink_block(struct peer_memory *memory, uint32_t id)
{
    uint32_t newer = memory->newer[id];
    uint32_t older = memory->older[id];

    if (newer == PEER_END)
        memory->newest = older;
    else
        memory->older[newer] = older;
    if (older == PEER_END)
        memory->oldest = newer;
    else
        memory->newer[older] = newer;
    memory->newer[id] = PEER_ABSENT;
    memory->count--;
}

static void make_newest(struct peer_memory *memory, uint32_t id)
{
    memory->newer[id] = PEER_END;
    memory->older[id] = memory->newest;
    if (memory->newest == PEER_END)
        memory->oldest = id;
    else
        memory->newer[memory->newest] = id;
    memory->newest = id;
    memory->count++;
}

/* Backward, so that the head ends as the newest. */
void peer_memory_add(struct peer_memory *memory, const uint32_t *ids,
                     uint32_t count, uint64_t now)
{
    for (uint32_t i = count; i-- > 0;) {
        if (memory->newer[ids[i]] != PEER_ABSENT)
            unlink_block(memory, ids[i]);
        make_newest(memory, ids[i]);
        if (memory->sent_at != NULL)
            memory->sent_at[ids[i]] = now;
    }
}

void peer_memory_trim(struct peer_memory *memory)
{
    while (memory->count > memory->capacity)
        unlink_block(memory, memory->oldest);
}
