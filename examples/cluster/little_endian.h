/* SPDX-License-Identifier: MIT */
/*
 * Numbers as bytes, the lowest first, on every machine.
 */
#ifndef LBROUTE_CLUSTER_LITTLE_ENDIAN_H
#define LBROUTE_CLUSTER_LITTLE_ENDIAN_H

#include <stdint.h>

static inline uint64_t get_number(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;

    while (count-- > 0)
        value = value << 8 | bytes[count];
    return value;
}

static inline void put_number(uint8_t *bytes, unsigned count, uint64_t value)
{
    for (unsigned i = 0; i < count; i++, value >>= 8)
        bytes[i] = (uint8_t)value;
}

#endif
