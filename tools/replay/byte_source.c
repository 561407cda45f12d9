/* SPDX-License-Identifier: MIT */
#include "byte_source.h"

#include "grow.h"

#include <errno.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK = 65536, GZIP_WINDOW_BITS = 15 + 16 };

/* No legitimate xz file needs more to be read. */
#define XZ_MEMORY_LIMIT ((uint64_t)1 << 30)

static const unsigned char gzip_magic[] = {0x1f, 0x8b};
static const unsigned char xz_magic[] = {0xfd, '7', 'z', 'X', 'Z', 0};

struct byte_source {
    FILE *file;
    const char *error;
    /* Decompresses from `chunk`; NULL for plain bytes. */
    size_t (*decode)(struct byte_source *source, void *buffer, size_t capacity);
    z_stream gzip;
    lzma_stream xz;
    bool in_member; /* Inside a gzip member: the end may not come here. */
    bool at_end;    /* The decoder has ended. */
    size_t chunk_used;
    size_t chunk_size;
    unsigned char chunk[CHUNK];
};

/* Fills the chunk if it is used up. Returns false at the end of the file. */
static bool refill(struct byte_source *source)
{
    if (source->chunk_used < source->chunk_size)
        return true;
    source->chunk_used = 0;
    source->chunk_size = fread(source->chunk, 1, CHUNK, source->file);
    if (ferror(source->file))
        source->error = strerror(errno);
    return source->chunk_size > 0 && source->error == NULL;
}

static size_t copy_plain(struct byte_source *source, void *buffer,
                         size_t capacity)
{
    size_t length;

    if (!refill(source))
        return 0;
    length = source->chunk_size - source->chunk_used;
    if (length > capacity)
        length = capacity;
    memcpy(buffer, source->chunk + source->chunk_used, length);
    source->chunk_used += length;
    return length;
}

/* Ends one member; another may follow. */
static void end_member(struct byte_source *source)
{
    source->in_member = false;
    if (inflateReset(&source->gzip) != Z_OK)
        source->error = "gzip decoder cannot be restarted";
}

static size_t decode_gzip(struct byte_source *source, void *buffer,
                          size_t capacity)
{
    z_stream *stream = &source->gzip;

    stream->next_out = buffer;
    stream->avail_out = (uInt)capacity;
    while (stream->avail_out == capacity && source->error == NULL) {
        int status;

        if (!refill(source)) {
            if (source->in_member && source->error == NULL)
                source->error = "the gzip data is truncated";
            break;
        }
        stream->next_in = source->chunk + source->chunk_used;
        stream->avail_in = (uInt)(source->chunk_size - source->chunk_used);
        source->in_member = true;
        status = inflate(stream, Z_NO_FLUSH);
        source->chunk_used = source->chunk_size - stream->avail_in;
        if (status == Z_STREAM_END)
            end_member(source);
        else if (status != Z_OK && status != Z_BUF_ERROR)
            source->error = "the gzip data is damaged";
    }
    return capacity - stream->avail_out;
}

static const char *xz_error(lzma_ret status)
{
    switch (status) {
    case LZMA_BUF_ERROR:
        return "the xz data is truncated";
    case LZMA_MEM_ERROR:
    case LZMA_MEMLIMIT_ERROR:
        return "the xz data needs more memory than is allowed";
    default:
        return "the xz data is damaged";
    }
}

static size_t decode_xz(struct byte_source *source, void *buffer,
                        size_t capacity)
{
    lzma_stream *stream = &source->xz;

    stream->next_out = buffer;
    stream->avail_out = capacity;
    while (stream->avail_out == capacity && !source->at_end &&
           source->error == NULL) {
        bool more = refill(source);
        lzma_ret status;

        if (source->error != NULL)
            break;
        stream->next_in = source->chunk + source->chunk_used;
        stream->avail_in = source->chunk_size - source->chunk_used;
        status = lzma_code(stream, more ? LZMA_RUN : LZMA_FINISH);
        source->chunk_used = source->chunk_size - stream->avail_in;
        if (status == LZMA_STREAM_END)
            source->at_end = true;
        else if (status != LZMA_OK)
            source->error = xz_error(status);
    }
    return capacity - stream->avail_out;
}

static bool starts_with(const struct byte_source *source,
                        const unsigned char *magic, size_t length)
{
    return source->chunk_size >= length &&
           memcmp(source->chunk, magic, length) == 0;
}

static void choose_decoder(struct byte_source *source)
{
    lzma_stream fresh = LZMA_STREAM_INIT;

    source->xz = fresh;
    if (starts_with(source, gzip_magic, sizeof gzip_magic)) {
        source->decode = decode_gzip;
        if (inflateInit2(&source->gzip, GZIP_WINDOW_BITS) != Z_OK)
            source->error = "gzip decoder cannot be started";
    } else if (starts_with(source, xz_magic, sizeof xz_magic)) {
        source->decode = decode_xz;
        if (lzma_stream_decoder(&source->xz, XZ_MEMORY_LIMIT,
                                LZMA_CONCATENATED) != LZMA_OK)
            source->error = "xz decoder cannot be started";
    } else {
        source->decode = copy_plain;
    }
}

struct byte_source *byte_source_open(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct byte_source *source;

    if (file == NULL)
        return NULL;
    source = grow_zeroed(1, sizeof *source);
    source->file = file;
    refill(source);
    choose_decoder(source);
    return source;
}

void byte_source_close(struct byte_source *source)
{
    if (source == NULL)
        return;
    fclose(source->file);
    lzma_end(&source->xz);
    if (source->decode == decode_gzip)
        inflateEnd(&source->gzip);
    free(source);
}

size_t byte_source_read(struct byte_source *source, void *buffer,
                        size_t capacity)
{
    if (source->error != NULL || capacity == 0)
        return 0;
    return source->decode(source, buffer, capacity);
}

const char *byte_source_error(const struct byte_source *source)
{
    return source->error;
}
