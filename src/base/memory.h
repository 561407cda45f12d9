/* SPDX-License-Identifier: MIT */
/* All heap use of a router goes through here: the caller's allocator, sized
 * frees, and a running account of what is held. */
#ifndef LBR_BASE_MEMORY_H
#define LBR_BASE_MEMORY_H

#include <lbroute/lbroute.h>

struct lbr_memory {
    lbroute_allocator allocator;
    uint64_t held;        /* bytes now */
    uint64_t allocations; /* calls so far */
    uint64_t limit;       /* on what is held */
    uint64_t failures;    /* times that the allocator had nothing */
};

/* Uses |allocator|, or the C library's heap where its functions are NULL. */
void lbr_memory_init(struct lbr_memory *memory,
                     const lbroute_allocator *allocator);

/* Takes from |parent|, of which it is a part that may hold |limit| bytes. */
void lbr_memory_init_part(struct lbr_memory *memory, struct lbr_memory *parent,
                          uint64_t limit);

/* Zeroed memory for |count| objects of |size| bytes, or NULL (also when the
 * product overflows). A count of 0 is an error of the caller. */
void *lbr_memory_new(struct lbr_memory *memory, size_t count, size_t size);

/* Frees what lbr_memory_new() gave, with the same numbers. NULL is fine. */
void lbr_memory_free(struct lbr_memory *memory, void *object, size_t count,
                     size_t size);

/* Makes *|array| hold |new_count| objects, the new ones zeroed. On failure
 * returns 0 and leaves the array as it was. */
int lbr_memory_grow(struct lbr_memory *memory, void **array, size_t old_count,
                    size_t new_count, size_t size);

#endif
