/* SPDX-License-Identifier: MIT */
#include "line_reader.h"

#include "grow.h"

#include <stdlib.h>
#include <string.h>

enum { READ_SIZE = 65536 };

void line_reader_init(struct line_reader *reader, struct byte_source *source)
{
    *reader = (struct line_reader){.source = source};
}

void line_reader_release(struct line_reader *reader)
{
    free(reader->buffer);
    reader->buffer = NULL;
}

/* Appends bytes of the source after dropping what was consumed. Returns false
 * when there are none. */
static bool read_more(struct line_reader *reader)
{
    size_t got;

    if (reader->next > 0) {
        reader->used -= reader->next;
        memmove(reader->buffer, reader->buffer + reader->next, reader->used);
        reader->next = 0;
    }
    /* One byte more for the terminator of a last line without an end. */
    reader->buffer = grow_array(reader->buffer, &reader->capacity,
                                reader->used + READ_SIZE + 1, 1);
    got = byte_source_read(reader->source, reader->buffer + reader->used,
                           READ_SIZE);
    reader->used += got;
    return got > 0;
}

static void emit(struct line_reader *reader, size_t end, size_t next)
{
    char *line = reader->buffer + reader->next;

    reader->length = end - reader->next;
    if (reader->length > 0 && line[reader->length - 1] == '\r')
        reader->length--;
    line[reader->length] = '\0';
    reader->line = line;
    reader->next = next;
    reader->number++;
}

bool line_reader_next(struct line_reader *reader)
{
    size_t searched = reader->next;

    for (;;) {
        const char *found = NULL;

        if (reader->used > searched)
            found = memchr(reader->buffer + searched, '\n',
                           reader->used - searched);
        if (found != NULL) {
            size_t end = (size_t)(found - reader->buffer);

            emit(reader, end, end + 1);
            return true;
        }
        searched = reader->used - reader->next;
        if (!read_more(reader))
            break;
    }
    if (reader->used == reader->next ||
        byte_source_error(reader->source) != NULL)
        return false;
    emit(reader, reader->used, reader->used);
    return true;
}
