/* SPDX-License-Identifier: MIT */
#include "base/bytes.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

/* ---- writing ---- */

/* Room for |length| more bytes, or NULL. */
static unsigned char *advance(struct lbr_writer *writer, size_t length)
{
    size_t at = writer->length;

    writer->length += length;
    if (at > writer->capacity || length > writer->capacity - at)
        return NULL;
    return writer->bytes + at;
}

void lbr_put_bytes(struct lbr_writer *writer, const void *bytes, size_t length)
{
    unsigned char *to = advance(writer, length);

    if (to && length)
        memcpy(to, bytes, length);
}

static void put(struct lbr_writer *writer, uint64_t value, size_t length)
{
    unsigned char *to = advance(writer, length);
    size_t i;

    for (i = 0; to && i < length; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

void lbr_put_u8(struct lbr_writer *writer, uint8_t value)
{
    put(writer, value, 1);
}

void lbr_put_u32(struct lbr_writer *writer, uint32_t value)
{
    put(writer, value, 4);
}

void lbr_put_u64(struct lbr_writer *writer, uint64_t value)
{
    put(writer, value, 8);
}

void lbr_put_units(struct lbr_writer *writer, const void *bytes, size_t length,
                   uint32_t unit)
{
    const unsigned char *from = bytes;
    size_t i;

    if (unit == 1) {
        lbr_put_bytes(writer, bytes, length);
        return;
    }
    for (i = 0; i < length; i += sizeof(uint64_t)) {
        uint64_t number;

        memcpy(&number, from + i, sizeof number);
        lbr_put_u64(writer, number);
    }
}

void lbr_put_u64_at(struct lbr_writer *writer, size_t at, uint64_t value)
{
    struct lbr_writer over = *writer;

    over.length = at;
    lbr_put_u64(&over, value);
}

void lbr_put_count(struct lbr_writer *writer, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        lbr_put_u8(writer, (uint8_t)(value | 0x80));
    lbr_put_u8(writer, (uint8_t)value);
}

void lbr_put_times(struct lbr_writer *writer, uint64_t times)
{
    lbr_put_count(writer, times < LBR_MOST_TIMES ? times : LBR_MOST_TIMES);
}

void lbr_put_real(struct lbr_writer *writer, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    lbr_put_u64(writer, bits);
}

void lbr_put_text(struct lbr_writer *writer, const char *bytes, size_t length)
{
    lbr_put_u8(writer, (uint8_t)length);
    lbr_put_bytes(writer, bytes, length);
}

void lbr_put_age(struct lbr_writer *writer, uint64_t time)
{
    lbr_put_count(writer, lbr_time_since(writer->now, time));
}

void lbr_put_rest(struct lbr_writer *writer, uint64_t time)
{
    lbr_put_count(writer, time == LBR_NEVER
                              ? LBR_NEVER
                              : lbr_time_since(time, writer->now));
}

/* ---- reading ---- */

const unsigned char *lbr_get_bytes(struct lbr_reader *reader, size_t length)
{
    const unsigned char *bytes = reader->next;

    lbr_demand(reader, length <= reader->left);
    if (reader->broken)
        return NULL;
    reader->next += length;
    reader->left -= length;
    return bytes;
}

static uint64_t get(struct lbr_reader *reader, size_t length)
{
    const unsigned char *bytes = lbr_get_bytes(reader, length);
    uint64_t value = 0;
    size_t i;

    for (i = 0; bytes && i < length; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

uint8_t lbr_get_u8(struct lbr_reader *reader)
{
    return (uint8_t)get(reader, 1);
}

uint32_t lbr_get_u32(struct lbr_reader *reader)
{
    return (uint32_t)get(reader, 4);
}

uint64_t lbr_get_u64(struct lbr_reader *reader)
{
    return get(reader, 8);
}

uint64_t lbr_get_count(struct lbr_reader *reader, uint64_t most)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = lbr_get_u8(reader);
        /* the tenth byte has room for one bit */
        lbr_demand(reader, shift < 63 || (shift == 63 && byte <= 1));
        if (!reader->broken)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && !reader->broken);
    lbr_demand(reader, value <= most);
    return reader->broken ? 0 : value;
}

uint64_t lbr_get_times(struct lbr_reader *reader)
{
    return lbr_get_count(reader, LBR_MOST_TIMES);
}

uint64_t lbr_get_number(struct lbr_reader *reader, size_t size)
{
    size_t most = reader->left / size;

    return lbr_get_count(reader, most < UINT32_MAX ? most : UINT32_MAX - 1);
}

double lbr_get_real(struct lbr_reader *reader)
{
    uint64_t bits = lbr_get_u64(reader);
    double value;

    memcpy(&value, &bits, sizeof value);
    lbr_demand(reader, isfinite(value));
    return reader->broken ? 0 : value;
}

double lbr_get_real_in(struct lbr_reader *reader, double least, double most)
{
    double value = lbr_get_real(reader);

    lbr_demand(reader, value >= least && value <= most);
    return reader->broken ? least : value;
}

const char *lbr_get_text(struct lbr_reader *reader, size_t *length)
{
    const unsigned char *bytes;

    *length = lbr_get_u8(reader);
    bytes = lbr_get_bytes(reader, *length);
    if (!bytes)
        *length = 0;
    return (const char *)bytes;
}

void lbr_get_units(struct lbr_reader *reader, void *bytes, size_t length,
                   uint32_t unit)
{
    unsigned char *to = bytes;
    size_t i;

    if (unit == 1) {
        const unsigned char *from = lbr_get_bytes(reader, length);

        if (from && length)
            memcpy(to, from, length);
        return;
    }
    for (i = 0; i < length; i += sizeof(uint64_t)) {
        uint64_t number = lbr_get_u64(reader);

        memcpy(to + i, &number, sizeof number);
    }
}

uint64_t lbr_get_age(struct lbr_reader *reader)
{
    uint64_t age =
        lbr_time_add(lbr_get_count(reader, UINT64_MAX), reader->elapsed);

    return lbr_time_since(reader->now, age);
}

uint64_t lbr_get_rest(struct lbr_reader *reader)
{
    uint64_t rest = lbr_get_count(reader, UINT64_MAX);

    if (rest == LBR_NEVER)
        return LBR_NEVER;
    rest = lbr_time_since(rest, reader->elapsed);
    return rest ? lbr_time_add(reader->now, rest) : 0;
}
