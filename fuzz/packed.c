/* SPDX-License-Identifier: MIT */
#include "packed.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "learned.h"

enum { HEADER = 32, SHORT = 3 };

/* Writes a section at |to| for the body at |data|, as far as there is one.
 * Returns how many bytes of |size| it took. */
static size_t put_section(uint8_t *to, const uint8_t *data, size_t size,
                          size_t *length)
{
    size_t body = size < SHORT ? 0 : data[1] + 256U * data[2];

    if (size < SHORT || body > size - SHORT)
        return size;
    memset(to, 0, PACKED_SECTION);
    to[0] = data[0];
    to[4] = 1;
    to[8] = data[1];
    to[9] = data[2];
    memcpy(to + PACKED_SECTION, data + SHORT, body);
    *length += PACKED_SECTION + body;
    return SHORT + body;
}

static uint8_t *assemble(const struct packed_kind *kind, const uint8_t *data,
                         size_t size, size_t *length)
{
    size_t most =
        HEADER + kind->first_length + (PACKED_SECTION + 1) * (size + 1);
    uint8_t *bytes = calloc(most, 1);
    size_t at = 0;

    CHECK(bytes != NULL);
    memcpy(bytes, kind->begin, sizeof kind->begin);
    if (kind->first)
        memcpy(bytes + HEADER, kind->first, kind->first_length);
    *length = HEADER + kind->first_length;
    while (at < size)
        at += put_section(bytes + *length, data + at, size - at, length);
    return bytes;
}

static uint8_t *copy(const uint8_t *data, size_t size, size_t *length)
{
    uint8_t *bytes = malloc(size ? size : 1);

    CHECK(bytes != NULL);
    memcpy(bytes, data, size);
    *length = size;
    return bytes;
}

uint8_t *packed_bytes(const struct packed_kind *kind, const uint8_t *data,
                      size_t size, size_t *length)
{
    uint8_t *bytes = data[0] & PACKED_BODIES
                         ? assemble(kind, data + 1, size - 1, length)
                         : copy(data + 1, size - 1, length);

    if (!(data[0] & PACKED_AS_IT_IS))
        mend_snapshot(bytes, *length);
    return bytes;
}
