/* SPDX-License-Identifier: MIT */
#include "state/envelope.h"

#include "base/hash.h"

#define CHECKSUM_AT ((size_t)8)
#define CHECKED_FROM ((size_t)16)
#define LENGTH_AT ((size_t)24)
#define VERSION 1U

/* ---- writing ---- */

void lbr_envelope_begin(struct lbr_writer *writer, const unsigned char *magic)
{
    lbr_put_bytes(writer, magic, LBR_MAGIC_LENGTH);
    lbr_put_u64(writer, 0); /* checksum */
    lbr_put_u32(writer, VERSION);
    lbr_put_u32(writer, 0);
    lbr_put_u64(writer, 0); /* length */
}

void lbr_envelope_end(struct lbr_writer *writer)
{
    if (writer->length > writer->capacity)
        return;
    lbr_put_u64_at(writer, LENGTH_AT, writer->length);
    lbr_put_u64_at(
        writer, CHECKSUM_AT,
        lbr_hash(writer->bytes + CHECKED_FROM, writer->length - CHECKED_FROM));
}

size_t lbr_section_open(struct lbr_writer *writer, uint32_t kind)
{
    size_t length_at;

    lbr_put_u32(writer, kind);
    lbr_put_u32(writer, VERSION);
    length_at = writer->length;
    lbr_put_u64(writer, 0);
    return length_at;
}

void lbr_section_close(struct lbr_writer *writer, size_t length_at)
{
    lbr_put_u64_at(writer, length_at, writer->length - (length_at + 8));
}

void lbr_put_comparison(struct lbr_writer *writer,
                        const struct lbr_comparison *comparison)
{
    lbr_put_u8(writer, comparison->kind);
    lbr_put_count(writer, comparison->block_bytes);
    lbr_put_count(writer, comparison->block_tokens);
}

/* ---- reading ---- */

static struct lbr_reader reader_of(const void *bytes, size_t length)
{
    struct lbr_reader reader = {bytes, length, 0, 0, 0};

    return reader;
}

/* Whether the bytes are as they were written, whatever the version. */
static int are_intact(struct lbr_reader reader, const unsigned char *magic)
{
    const unsigned char *begin = lbr_get_bytes(&reader, LBR_MAGIC_LENGTH);
    uint64_t checksum = lbr_get_u64(&reader);

    return !reader.broken && memcmp(begin, magic, LBR_MAGIC_LENGTH) == 0 &&
           checksum == lbr_hash(reader.next, reader.left);
}

int lbr_envelope_check(const void *bytes, size_t length,
                       const unsigned char *magic)
{
    struct lbr_reader reader = reader_of(bytes, length);
    uint32_t version;
    uint32_t reserved;
    uint64_t stated;

    if (!are_intact(reader, magic))
        return LBROUTE_ERR_FORMAT;
    (void)lbr_get_bytes(&reader, CHECKED_FROM);
    version = lbr_get_u32(&reader);
    reserved = lbr_get_u32(&reader);
    stated = lbr_get_u64(&reader);
    if (version > VERSION)
        return LBROUTE_ERR_UNSUPPORTED;
    return version == VERSION && !reserved && stated == length && !reader.broken
               ? LBROUTE_OK
               : LBROUTE_ERR_FORMAT;
}

struct lbr_reader lbr_envelope_open(const void *bytes, size_t length,
                                    uint64_t now, uint64_t elapsed)
{
    struct lbr_reader reader = reader_of(bytes, length);

    (void)lbr_get_bytes(&reader, LBR_ENVELOPE_HEADER);
    reader.now = now;
    reader.elapsed = elapsed;
    return reader;
}

struct lbr_section_view lbr_section_next(struct lbr_reader *reader)
{
    struct lbr_section_view section;
    uint64_t length;

    section.kind = lbr_get_u32(reader);
    section.readable = lbr_get_u32(reader) == VERSION;
    length = lbr_get_u64(reader);
    lbr_demand(reader, length <= reader->left);
    section.body = *reader;
    if (!reader->broken)
        section.body.left = (size_t)length;
    (void)lbr_get_bytes(reader, section.body.left);
    return section;
}

struct lbr_comparison lbr_get_comparison(struct lbr_reader *reader)
{
    struct lbr_comparison comparison;

    comparison.kind = lbr_get_u8(reader);
    comparison.block_bytes = lbr_get_count(reader, UINT64_MAX);
    comparison.block_tokens = lbr_get_count(reader, UINT64_MAX);
    lbr_demand(reader, comparison.kind <= LBR_TRIE_SHARED);
    return comparison;
}

struct lbr_text lbr_get_name(struct lbr_reader *reader, struct lbr_text *before)
{
    struct lbr_text name;

    name.bytes = lbr_get_text(reader, &name.length);
    lbr_demand(reader,
               lbr_text_is_name(name, 0) &&
                   (!before->length || lbr_text_compare(*before, name) < 0));
    *before = name;
    return name;
}
