/* SPDX-License-Identifier: MIT */
#include "support/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pack_free(struct pack *pack)
{
    free(pack->bytes);
    memset(pack, 0, sizeof *pack);
}

void pack_reset(struct pack *pack)
{
    pack->length = 0;
}

void pack_raw(struct pack *pack, const void *bytes, size_t length)
{
    if (pack->capacity - pack->length < length) {
        pack->capacity = 2 * (pack->length + length) + 64;
        pack->bytes = realloc(pack->bytes, pack->capacity);
        if (!pack->bytes)
            abort();
    }
    if (length > 0)
        memcpy(pack->bytes + pack->length, bytes, length);
    pack->length += length;
}

void pack_hex(struct pack *pack, const char *hex)
{
    for (; hex[0] && hex[1]; hex += 2) {
        unsigned value;
        if (sscanf(hex, "%2x", &value) != 1)
            abort();
        unsigned char byte = (unsigned char)value;
        pack_raw(pack, &byte, 1);
    }
}

/* A first byte and |width| bytes, most significant first. */
static void put(struct pack *pack, unsigned first, uint64_t value,
                unsigned width)
{
    unsigned char bytes[9] = {(unsigned char)first};

    for (unsigned i = 0; i < width; i++)
        bytes[1 + i] = (unsigned char)(value >> 8 * (width - 1 - i));
    pack_raw(pack, bytes, 1 + width);
}

void pack_nil(struct pack *pack)
{
    put(pack, 0xc0, 0, 0);
}

void pack_uint(struct pack *pack, uint64_t value)
{
    if (value < 0x80)
        put(pack, (unsigned)value, 0, 0);
    else if (value <= UINT8_MAX)
        put(pack, 0xcc, value, 1);
    else if (value <= UINT16_MAX)
        put(pack, 0xcd, value, 2);
    else if (value <= UINT32_MAX)
        put(pack, 0xce, value, 4);
    else
        put(pack, 0xcf, value, 8);
}

void pack_int(struct pack *pack, int64_t value)
{
    if (value >= 0)
        pack_uint(pack, (uint64_t)value);
    else if (value >= -32)
        put(pack, (unsigned)(value & 0xff), 0, 0);
    else if (value >= INT8_MIN)
        put(pack, 0xd0, (uint64_t)value, 1);
    else if (value >= INT16_MIN)
        put(pack, 0xd1, (uint64_t)value, 2);
    else if (value >= INT32_MIN)
        put(pack, 0xd2, (uint64_t)value, 4);
    else
        put(pack, 0xd3, (uint64_t)value, 8);
}

void pack_double(struct pack *pack, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    put(pack, 0xcb, bits, 8);
}

void pack_str(struct pack *pack, const char *text)
{
    size_t length = strlen(text);

    if (length < 32)
        put(pack, 0xa0 | (unsigned)length, 0, 0);
    else
        put(pack, 0xdb, length, 4);
    pack_raw(pack, text, length);
}

void pack_bin(struct pack *pack, const void *bytes, size_t length)
{
    put(pack, length <= UINT8_MAX ? 0xc4 : 0xc6, length,
        length <= UINT8_MAX ? 1 : 4);
    pack_raw(pack, bytes, length);
}

/* A head of an array (0x90) or map (0x80). */
static void put_head(struct pack *pack, unsigned small, unsigned wide,
                     size_t count)
{
    if (count < 16)
        put(pack, small | (unsigned)count, 0, 0);
    else if (count <= UINT16_MAX)
        put(pack, wide, count, 2);
    else
        put(pack, wide + 1, count, 4);
}

void pack_array(struct pack *pack, size_t count)
{
    put_head(pack, 0x90, 0xdc, count);
}

void pack_map(struct pack *pack, size_t count)
{
    put_head(pack, 0x80, 0xde, count);
}

void pack_range(struct pack *pack, uint64_t first, size_t count)
{
    pack_array(pack, count);
    for (size_t i = 0; i < count; i++)
        pack_uint(pack, first + i);
}
