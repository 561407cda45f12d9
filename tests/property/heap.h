/* SPDX-License-Identifier: MIT */
/*
 * An allocator that counts, fails on demand and checks what it gets back.
 *
 * Each block carries its size in front; a release with another size, or of a
 * block that is not live, fails a check. Released memory is overwritten.
 */
#ifndef LBROUTE_TESTS_PROPERTY_HEAP_H
#define LBROUTE_TESTS_PROPERTY_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include <lbroute/lbroute.h>

struct heap {
    uint64_t calls;    /**< Allocations asked for, failed ones included. */
    uint64_t failures; /**< Of these, refused. */
    uint64_t live;     /**< Blocks out now. */
    uint64_t bytes;    /**< Bytes out now. */
    uint64_t peak;     /**< Most bytes ever out. */
    uint64_t fail_at;  /**< Refuse this call, counted from 1; 0: none. */
};

/** Makes an empty heap the allocator of the options. */
void heap_attach(struct heap *heap, lbroute_router_options *options);

#endif
