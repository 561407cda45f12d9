/* SPDX-License-Identifier: MIT */
#include "heap.h"

#include "support/test.h"

void unit_heap_open(struct unit_heap *heap)
{
    lbroute_allocator hook;

    test_alloc_init(&heap->alloc);
    test_alloc_hook(&heap->alloc, &hook);
    lbr_memory_init(&heap->memory, &hook);
}

void unit_heap_close(struct unit_heap *heap)
{
    assert_int_equal(heap->alloc.live_blocks, 0);
    assert_int_equal(heap->alloc.live_bytes, 0);
    assert_int_equal(heap->memory.held, 0);
    assert_int_equal(heap->memory.allocations, heap->alloc.calls);
}
