/* SPDX-License-Identifier: MIT */
#include "support/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

/* Stands in front of each block: it proves origin and size at release. */
union block_head {
    struct {
        uint64_t mark;
        size_t bytes;
    } is;
    max_align_t align;
};

#define BLOCK_LIVE UINT64_C(0x6c62726f75746521)
#define BLOCK_DEAD UINT64_C(0xdeadb10cdeadb10c)

void test_alloc_init(struct test_alloc *alloc)
{
    memset(alloc, 0, sizeof *alloc);
}

void test_alloc_fail(struct test_alloc *alloc, uint64_t after, uint64_t span)
{
    alloc->fail_at = alloc->calls + after + 1;
    alloc->fail_span = span;
}

void test_alloc_heal(struct test_alloc *alloc)
{
    alloc->fail_at = 0;
    alloc->fail_span = 0;
}

static bool must_fail(const struct test_alloc *alloc)
{
    uint64_t span = alloc->fail_span == 0 ? 1 : alloc->fail_span;
    return alloc->fail_at != 0 && alloc->calls >= alloc->fail_at &&
           alloc->calls - alloc->fail_at < span;
}

static void *allocate(void *user, size_t bytes)
{
    struct test_alloc *alloc = user;
    union block_head *head = NULL;

    assert_true(bytes > 0);
    alloc->calls++;
    if (!must_fail(alloc) && bytes <= SIZE_MAX - sizeof *head)
        head = malloc(sizeof *head + bytes);
    if (head == NULL) {
        alloc->failures++;
        return NULL;
    }
    head->is.mark = BLOCK_LIVE;
    head->is.bytes = bytes;
    alloc->live_blocks++;
    alloc->live_bytes += bytes;
    if (alloc->live_bytes > alloc->peak_bytes)
        alloc->peak_bytes = alloc->live_bytes;
    /* Memory from a heap holds anything; zeroes would hide that. */
    memset(head + 1, 0xa5, bytes);
    return head + 1;
}

static void release(void *user, void *memory, size_t bytes)
{
    struct test_alloc *alloc = user;
    union block_head *head = memory;

    assert_non_null(memory);
    head--;
    assert_true(head->is.mark == BLOCK_LIVE);
    assert_int_equal(head->is.bytes, bytes);
    head->is.mark = BLOCK_DEAD;
    alloc->live_blocks--;
    alloc->live_bytes -= bytes;
    free(head);
}

void test_alloc_hook(struct test_alloc *alloc, lbroute_allocator *hook)
{
    hook->allocate = allocate;
    hook->release = release;
    hook->user = alloc;
}
