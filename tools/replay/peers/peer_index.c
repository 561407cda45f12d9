/* SPDX-License-Identifier: MIT */
#include "peer_index.h"

#include "../grow.h"

#include <stdlib.h>

void peer_index_init(struct peer_index *index, const struct peer_view *view,
                     uint64_t capacity_tokens, double ttl_s)
{
    *index = (struct peer_index){.view = view,
                                 .capacity = capacity_tokens,
                                 .ttl_ns = (uint64_t)(ttl_s * 1e9)};
}

void peer_index_init_guessing(struct peer_index *index,
                              const struct peer_view *view,
                              uint64_t capacity_tokens, double ttl_s)
{
    peer_index_init(index, view, capacity_tokens, ttl_s);
    index->guesses = true;
}

void peer_index_release(struct peer_index *index)
{
    if (index->memories != NULL)
        for (size_t i = 0; i < index->view->target_count; i++)
            peer_memory_release(&index->memories[i]);
    free(index->memories);
    index->memories = NULL;
}

/* Blocks that so many tokens fill, at least one. */
static uint64_t blocks_of(const struct peer_index *index, uint64_t tokens)
{
    uint64_t blocks = tokens / index->view->block_tokens;

    return blocks > 0 ? blocks : 1;
}

static uint64_t capacity_of(const struct peer_index *index, size_t target)
{
    return blocks_of(index, index->capacity > 0
                                ? index->capacity
                                : index->view->targets[target].cache_tokens);
}

/* Not before the first use: whether there are events is known late. */
static struct peer_memory *memory_of(struct peer_index *index, uint32_t target)
{
    const struct peer_view *view = index->view;

    if (index->memories == NULL) {
        index->memories =
            grow_zeroed(view->target_count, sizeof *index->memories);
        for (size_t i = 0; i < view->target_count; i++)
            peer_memory_init(&index->memories[i], view->distinct_ids,
                             capacity_of(index, i), index->ttl_ns);
    }
    return &index->memories[target];
}

static bool has_events(const struct peer_index *index)
{
    return !index->guesses && index->view->run != NULL;
}

uint32_t peer_index_run(struct peer_index *index, uint32_t target,
                        const struct peer_request *request)
{
    const struct peer_view *view = index->view;

    if (has_events(index))
        return view->run(view->run_context, target, request->ids,
                         request->id_count);
    return peer_memory_run(memory_of(index, target), request->ids,
                           request->id_count, view->now);
}

uint32_t peer_index_tokens(struct peer_index *index, uint32_t target,
                           const struct peer_request *request)
{
    return peer_index_run(index, target, request) * index->view->block_tokens;
}

void peer_index_sent(struct peer_index *index, uint32_t target,
                     const struct peer_request *request)
{
    struct peer_memory *memory;

    if (has_events(index))
        return;
    memory = memory_of(index, target);
    peer_memory_add(memory, request->ids, request->id_count, index->view->now);
    peer_memory_trim(memory);
}
