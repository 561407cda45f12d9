/* SPDX-License-Identifier: MIT */
/* Size-prefixed structs: every public struct begins with `size_t size`, what
 * its caller was compiled with. See "Structs" in lbroute.h. */
#ifndef LBR_BASE_ABI_H
#define LBR_BASE_ABI_H

#include <stddef.h>
#include <string.h>

/* Copies a default struct of |known| bytes into the first |size| bytes of the
 * caller's, zeroes what is beyond, and sets its size field. */
void lbr_abi_init(void *out, size_t size, const void *defaults, size_t known);

/* Reads a caller's struct into |copy|, which holds |known| bytes of defaults.
 * Returns 0 or an error code; on error |copy| is undefined. */
int lbr_abi_read(void *copy, size_t known, const void *in);

/* Writes the part of |result| (|known| bytes) that fits the size the caller's
 * struct states; the size field itself is kept. Returns 0 or an error. */
int lbr_abi_write(void *out, const void *result, size_t known);

/* The size that a caller's struct states. */
static inline size_t lbr_abi_size(const void *object)
{
    size_t size;

    memcpy(&size, object, sizeof size);
    return size;
}

/* Whether a caller's struct states a usable size: sizes that compilers give are
 * multiples of the word; anything else would cut a field in two. */
static inline int lbr_abi_valid(const void *object)
{
    return object && lbr_abi_size(object) >= sizeof(size_t) &&
           lbr_abi_size(object) % sizeof(size_t) == 0;
}

/* Whether |count| structs in a row all state the same usable size. */
int lbr_abi_rows_valid(const void *first, size_t count);

#endif
