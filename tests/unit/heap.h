/* SPDX-License-Identifier: MIT */
/* The memory of a module under test: tables take it directly, without a
 * router, from an allocator that counts and fails on demand. */
#ifndef TESTS_UNIT_HEAP_H
#define TESTS_UNIT_HEAP_H

#include "base/memory.h"
#include "support/alloc.h"

struct unit_heap {
    struct test_alloc alloc;
    struct lbr_memory memory;
};

void unit_heap_open(struct unit_heap *heap);

/* Checks that everything came back and was accounted for. */
void unit_heap_close(struct unit_heap *heap);

#endif
