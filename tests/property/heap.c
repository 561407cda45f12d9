/* SPDX-License-Identifier: MIT */
#include "heap.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

static const uint64_t live_mark = UINT64_C(0x6c6976652d626c6b);
static const uint64_t dead_mark = UINT64_C(0x646561642d626c6b);

union block {
    struct {
        uint64_t mark;
        size_t bytes;
    } head;
    max_align_t align;
};

static void *heap_allocate(void *user, size_t bytes)
{
    struct heap *heap = user;
    CHECK(bytes > 0);
    if (++heap->calls == heap->fail_at) {
        heap->failures++;
        return NULL;
    }
    union block *block = malloc(sizeof *block + bytes);
    CHECK(block != NULL);
    block->head.mark = live_mark;
    block->head.bytes = bytes;
    heap->live++;
    heap->bytes += bytes;
    if (heap->bytes > heap->peak)
        heap->peak = heap->bytes;
    memset(block + 1, 0xa5, bytes);
    return block + 1;
}

static void heap_release(void *user, void *memory, size_t bytes)
{
    struct heap *heap = user;
    CHECK(memory != NULL);
    union block *block = (union block *)memory - 1;
    CHECK_U(block->head.mark, live_mark);
    CHECK_U(block->head.bytes, bytes);
    memset(memory, 0x5a, bytes);
    block->head.mark = dead_mark;
    heap->live--;
    heap->bytes -= bytes;
    free(block);
}

void heap_attach(struct heap *heap, lbroute_router_options *options)
{
    memset(heap, 0, sizeof *heap);
    options->allocator.allocate = heap_allocate;
    options->allocator.release = heap_release;
    options->allocator.user = heap;
}
