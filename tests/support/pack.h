/* SPDX-License-Identifier: MIT */
/* Writes msgpack, in the shortest form unless told otherwise. */
#ifndef TESTS_SUPPORT_PACK_H
#define TESTS_SUPPORT_PACK_H

#include <stddef.h>
#include <stdint.h>

struct pack {
    unsigned char *bytes; /* NULL before the first; see pack_free() */
    size_t length, capacity;
};

void pack_free(struct pack *pack);

/* Forgets what was written. */
void pack_reset(struct pack *pack);

void pack_raw(struct pack *pack, const void *bytes, size_t length);

/* Appends bytes that are given in hexadecimal. */
void pack_hex(struct pack *pack, const char *hex);

void pack_nil(struct pack *pack);
void pack_uint(struct pack *pack, uint64_t value);
void pack_int(struct pack *pack, int64_t value);
void pack_double(struct pack *pack, double value);
void pack_str(struct pack *pack, const char *text);
void pack_bin(struct pack *pack, const void *bytes, size_t length);

/* The head; as many elements, or keys and values, follow. */
void pack_array(struct pack *pack, size_t count);
void pack_map(struct pack *pack, size_t count);

/* An array of |count| numbers from |first| on. */
void pack_range(struct pack *pack, uint64_t first, size_t count);

#endif
