/* SPDX-License-Identifier: MIT */
#include "trace_file.h"

#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "support/test.h"

enum { PACKED_CAPACITY = 1 << 16, GZIP_WINDOW_BITS = 15 + 16 };

int trace_file_set_up(void **state)
{
    struct trace_file *file = calloc(1, sizeof *file);

    assert_non_null(file);
    snprintf(file->folder, sizeof file->folder, "/tmp/lbroute-trace-XXXXXX");
    assert_non_null(mkdtemp(file->folder));
    snprintf(file->path, sizeof file->path, "%s/t", file->folder);
    file->options.max_think_s = 60.0;
    file->options.seed = 1;
    *state = file;
    return 0;
}

int trace_file_tear_down(void **state)
{
    struct trace_file *file = *state;

    workload_release(&file->workload);
    unlink(file->path);
    rmdir(file->folder);
    free(file);
    return 0;
}

static size_t pack_gzip(const char *text, unsigned char *packed)
{
    z_stream stream = {0};

    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, GZIP_WINDOW_BITS, 8,
                                  Z_DEFAULT_STRATEGY),
                     Z_OK);
    stream.next_in = (unsigned char *)text;
    stream.avail_in = (uInt)strlen(text);
    stream.next_out = packed;
    stream.avail_out = PACKED_CAPACITY;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&stream), Z_OK);
    return PACKED_CAPACITY - stream.avail_out;
}

static size_t pack_xz(const char *text, unsigned char *packed)
{
    size_t length = 0;

    assert_int_equal(lzma_easy_buffer_encode(
                         6, LZMA_CHECK_CRC32, NULL, (const unsigned char *)text,
                         strlen(text), packed, &length, PACKED_CAPACITY),
                     LZMA_OK);
    return length;
}

void trace_file_write(struct trace_file *file, const char *text,
                      enum trace_packing packing, size_t cut)
{
    unsigned char *packed = malloc(PACKED_CAPACITY);
    FILE *out = fopen(file->path, "wb");
    size_t length = strlen(text);

    assert_non_null(packed);
    assert_non_null(out);
    assert_true(length < PACKED_CAPACITY);
    if (packing == TRACE_GZIP)
        length = pack_gzip(text, packed);
    else if (packing == TRACE_XZ)
        length = pack_xz(text, packed);
    else
        memcpy(packed, text, length);
    if (cut > 0 && cut < length)
        length = cut;
    assert_int_equal(fwrite(packed, 1, length, out), length);
    assert_int_equal(fclose(out), 0);
    free(packed);
}

bool trace_file_read(struct trace_file *file)
{
    workload_release(&file->workload);
    return trace_read(file->path, &file->options, &file->workload,
                      &file->report);
}

bool trace_file_parse(struct trace_file *file, const char *text)
{
    trace_file_write(file, text, TRACE_PLAIN, 0);
    return trace_file_read(file);
}

const struct work_request *trace_file_request(const struct trace_file *file,
                                              size_t index)
{
    assert_true(index < file->workload.count);
    return &file->workload.requests[index];
}

const uint32_t *trace_file_ids(const struct trace_file *file, size_t index)
{
    return file->workload.ids + trace_file_request(file, index)->first_id;
}

void trace_file_assert_error(const struct trace_file *file, const char *end)
{
    size_t path = strlen(file->path);

    assert_memory_equal(file->report.error, file->path, path);
    assert_string_equal(file->report.error + path, end);
}
