/* SPDX-License-Identifier: MIT */
#include "usage.h"

#include "bytes.h"
#include "usage_json.h"

#include <stdlib.h>
#include <string.h>

/* Of a body, or of one event. A response.completed repeats the whole answer. */
enum { MOST_BYTES = 1 << 20 };

/*
 * The bytes kept are the data of the event under way and the line under way:
 *
 *     data of line 1 \n data of line 2 \n  data: {"cho
 *     └─────────── data_len ───────────┘
 */
struct usage_reader {
    enum dialect dialect;
    bool events;
    struct usage_counts counts;
    struct usage usage;
    struct bytes bytes;
    size_t data_len;
    bool overlong; /* something of the event or body was dropped */
    bool in_line;  /* the line under way is not empty */
    bool after_cr; /* a LF that comes now belongs to the last line's end */
};

struct usage_reader *usage_reader_new(enum dialect dialect, bool events)
{
    struct usage_reader *reader = calloc(1, sizeof *reader);

    if (!reader)
        return NULL;
    reader->dialect = dialect;
    reader->events = events;
    usage_counts_init(&reader->counts);
    usage_counts_sum(&reader->counts, dialect, &reader->usage);
    return reader;
}

void usage_reader_free(struct usage_reader *reader)
{
    if (reader)
        bytes_release(&reader->bytes);
    free(reader);
}

const struct usage *usage_reader_state(const struct usage_reader *reader)
{
    return &reader->usage;
}

static void keep(struct usage_reader *reader, const char *bytes, size_t len)
{
    if (reader->overlong || len > MOST_BYTES - reader->bytes.len)
        reader->overlong = true;
    else
        bytes_add(&reader->bytes, bytes, len);
    reader->overlong |= reader->bytes.failed;
}

static void forget(struct usage_reader *reader)
{
    reader->bytes.len = 0;
    reader->bytes.failed = false;
    reader->data_len = 0;
    reader->overlong = false;
}

static void end_event(struct usage_reader *reader)
{
    if (!reader->overlong && reader->data_len > 0 &&
        usage_event(&reader->counts, &reader->usage, reader->bytes.data,
                    reader->data_len - 1))
        usage_counts_sum(&reader->counts, reader->dialect, &reader->usage);
    forget(reader);
}

/* Keeps what follows "data:" and one space, and drops other lines. */
static void end_field(struct usage_reader *reader)
{
    static const char name[] = "data:";
    char *line = reader->bytes.data + reader->data_len;
    size_t len = reader->bytes.len - reader->data_len;
    size_t skip = sizeof name - 1;

    if (len < skip || memcmp(line, name, skip) != 0) {
        reader->bytes.len = reader->data_len;
        return;
    }
    if (len > skip && line[skip] == ' ')
        skip++;
    memmove(line, line + skip, len - skip);
    reader->bytes.len -= skip;
    keep(reader, "\n", 1);
    reader->data_len = reader->bytes.len;
}

static void end_line(struct usage_reader *reader)
{
    if (!reader->in_line)
        end_event(reader);
    else if (!reader->overlong)
        end_field(reader);
    reader->in_line = false;
}

/* Bytes up to the next end of line. */
static size_t line_part(const char *bytes, size_t len)
{
    const char *lf = memchr(bytes, '\n', len);
    size_t part = lf ? (size_t)(lf - bytes) : len;
    const char *cr = memchr(bytes, '\r', part);

    return cr ? (size_t)(cr - bytes) : part;
}

static void feed_events(struct usage_reader *reader, const char *bytes,
                        size_t len)
{
    while (len > 0) {
        size_t part = line_part(bytes, len);

        if (part > 0) {
            keep(reader, bytes, part);
            reader->in_line = true;
        } else if (*bytes != '\n' || !reader->after_cr) {
            end_line(reader);
        }
        reader->after_cr = part == 0 && *bytes == '\r';
        part += part == 0;
        bytes += part;
        len -= part;
    }
}

void usage_reader_feed(struct usage_reader *reader, const void *bytes,
                       size_t len)
{
    if (reader->events)
        feed_events(reader, bytes, len);
    else
        keep(reader, bytes, len);
}

/* A last line or event without its end counts, too, if it is complete JSON:
 * some engines leave the last empty line out. */
void usage_reader_finish(struct usage_reader *reader)
{
    if (!reader->events) {
        if (!reader->overlong)
            usage_body(&reader->counts, reader->bytes.data, reader->bytes.len);
        usage_counts_sum(&reader->counts, reader->dialect, &reader->usage);
        forget(reader);
        return;
    }
    if (reader->in_line)
        end_line(reader);
    end_event(reader);
}
