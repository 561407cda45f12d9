/* SPDX-License-Identifier: MIT */
/* An allocator for routers under test. It counts what is out, checks that
 * every block comes back once and with its own size, and can fail from a
 * chosen call on. A router calls it under its lock, so it needs none. */
#ifndef TESTS_SUPPORT_ALLOC_H
#define TESTS_SUPPORT_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include <lbroute/lbroute.h>

struct test_alloc {
    uint64_t calls;     /* Calls of allocate, failed ones included. */
    uint64_t failures;  /* Of these, answered with NULL. */
    size_t live_bytes;  /* Bytes out now. */
    size_t live_blocks; /* Blocks out now. */
    size_t peak_bytes;  /* Most bytes out at once. */
    uint64_t fail_at;   /* Fails the call with this number; 0: none. */
    uint64_t fail_span; /* How many calls fail from there; 0 means one. */
};

/* Starts with nothing out and no failure planned. */
void test_alloc_init(struct test_alloc *alloc);

/* Lets |span| calls fail, after |after| more that succeed. */
void test_alloc_fail(struct test_alloc *alloc, uint64_t after, uint64_t span);

/* Takes a planned failure back. */
void test_alloc_heal(struct test_alloc *alloc);

/* Fills in the hook of a router's options. |alloc| must outlive the router. */
void test_alloc_hook(struct test_alloc *alloc, lbroute_allocator *hook);

#endif
