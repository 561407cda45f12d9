/* SPDX-License-Identifier: MIT */
/* Numbers as bytes, least significant first, whatever the platform; and back,
 * from bytes that may be anything.
 *
 *     writer:  [ written … | room ]     counts on beyond its room
 *     reader:  [ read … | left ]        at the end, or at the first fault, it
 * is broken: everything else reads as 0
 *
 * Times are written as ages, so that they mean something to another clock. */
#ifndef LBR_BASE_BYTES_H
#define LBR_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct lbr_writer {
    unsigned char *bytes;
    size_t capacity;
    size_t length; /* of all that was written, whether it fitted or not */
    uint64_t now;  /* what ages count from */
};

struct lbr_reader {
    const unsigned char *next;
    size_t left;
    int broken;
    uint64_t now;     /* what ages count from … */
    uint64_t elapsed; /* … and what they have grown by since */
};

void lbr_put_bytes(struct lbr_writer *writer, const void *bytes, size_t length);
void lbr_put_u8(struct lbr_writer *writer, uint8_t value);
void lbr_put_u32(struct lbr_writer *writer, uint32_t value);
void lbr_put_u64(struct lbr_writer *writer, uint64_t value);
/* Seven bits a byte, the lowest first; the last one is below 128. */
void lbr_put_count(struct lbr_writer *writer, uint64_t value);
/* How often something happened: beyond LBR_MOST_TIMES all is the same. */
#define LBR_MOST_TIMES (UINT64_C(1) << 53)
void lbr_put_times(struct lbr_writer *writer, uint64_t times);
void lbr_put_real(struct lbr_writer *writer, double value);
/* A text of at most 255 bytes, with its length. */
void lbr_put_text(struct lbr_writer *writer, const char *bytes, size_t length);
/* |length| bytes that stand for numbers of |unit| bytes, 1 or 8, as they are in
 * memory. */
void lbr_put_units(struct lbr_writer *writer, const void *bytes, size_t length,
                   uint32_t unit);
/* How long ago |time| was; what lies ahead is now. */
void lbr_put_age(struct lbr_writer *writer, uint64_t time);

/* How long until |time|; what is over is 0, LBR_NEVER stays that. */
void lbr_put_rest(struct lbr_writer *writer, uint64_t time);

/* Writes a number over what stands |at| bytes from the beginning. */
void lbr_put_u64_at(struct lbr_writer *writer, size_t at, uint64_t value);

/* The next |length| bytes; NULL when there are fewer. */
const unsigned char *lbr_get_bytes(struct lbr_reader *reader, size_t length);
uint8_t lbr_get_u8(struct lbr_reader *reader);
uint32_t lbr_get_u32(struct lbr_reader *reader);
uint64_t lbr_get_u64(struct lbr_reader *reader);
/* Up to |most|; more breaks the reader. */
uint64_t lbr_get_count(struct lbr_reader *reader, uint64_t most);
uint64_t lbr_get_times(struct lbr_reader *reader);
/* Anything but a finite number breaks the reader. */
double lbr_get_real(struct lbr_reader *reader);
/* The same, and so does a number that is not from |least| to |most|: what comes
 * back always is. */
double lbr_get_real_in(struct lbr_reader *reader, double least, double most);
const char *lbr_get_text(struct lbr_reader *reader, size_t *length);
/* Fills in what lbr_put_units() wrote of as many bytes. */
void lbr_get_units(struct lbr_reader *reader, void *bytes, size_t length,
                   uint32_t unit);
/* The time that an age means by the reader's clock; what was before that began
 * is its beginning. */
uint64_t lbr_get_age(struct lbr_reader *reader);

/* The time until which a rest lasts. */
uint64_t lbr_get_rest(struct lbr_reader *reader);

/* A number of things of at least |size| bytes each: no more than there is room
 * for in what is left. */
uint64_t lbr_get_number(struct lbr_reader *reader, size_t size);

/* Breaks the reader unless |holds|. */
static inline void lbr_demand(struct lbr_reader *reader, int holds)
{
    if (!holds)
        reader->broken = 1;
}

#endif
