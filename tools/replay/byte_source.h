/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a file, decompressed if they are gzip or xz. What a file is, is
 * told by its first bytes, never by its name.
 */
#ifndef LBROUTE_REPLAY_BYTE_SOURCE_H
#define LBROUTE_REPLAY_BYTE_SOURCE_H

#include <stddef.h>

struct byte_source;

/** Opens a file. Returns NULL with errno set if that fails. */
struct byte_source *byte_source_open(const char *path);

/** Closes the file; NULL does nothing. */
void byte_source_close(struct byte_source *source);

/** Reads up to `capacity` bytes. Returns how many, 0 at the end or on an
 * error; byte_source_error() tells which. */
size_t byte_source_read(struct byte_source *source, void *buffer,
                        size_t capacity);

/** What went wrong, or NULL if nothing did. */
const char *byte_source_error(const struct byte_source *source);

#endif
