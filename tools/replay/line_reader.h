/* SPDX-License-Identifier: MIT */
/*
 * Lines of a byte source, without their ends (LF or CR LF), counted from 1.
 */
#ifndef LBROUTE_REPLAY_LINE_READER_H
#define LBROUTE_REPLAY_LINE_READER_H

#include "byte_source.h"

#include <stdbool.h>
#include <stddef.h>

struct line_reader {
    struct byte_source *source;
    char *buffer;
    size_t capacity;
    size_t used; /**< Bytes in the buffer. */
    size_t next; /**< Start of the next line in it. */

    const char *line; /**< Current line, zero-terminated. */
    size_t length;    /**< Its length; it may hold zero bytes. */
    size_t number;    /**< Its number. */
};

/** Reads from an open source, which stays the caller's. */
void line_reader_init(struct line_reader *reader, struct byte_source *source);

/** Frees the buffer. */
void line_reader_release(struct line_reader *reader);

/** Goes to the next line. Returns false at the end or when the source failed;
 * an unfinished last line of a source that failed is not returned. */
bool line_reader_next(struct line_reader *reader);

#endif
