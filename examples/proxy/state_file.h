/* SPDX-License-Identifier: MIT */
/*
 * The file in which a gateway keeps what its router has learned. Numbers are
 * little-endian:
 *
 *      0  8  "lbrstate"
 *      8  4  version, 1
 *     12  4  0
 *     16  8  when it was written, ns since 1970 by the wall clock
 *     24 16  key of the router's digests; secret
 *     40     what lbroute_snapshot() wrote
 *
 * Nobody but the owner may read it, and it is replaced as a whole: whoever
 * opens it finds an old one or a new one.
 */
#ifndef LBROUTE_PROXY_STATE_FILE_H
#define LBROUTE_PROXY_STATE_FILE_H

#include <stddef.h>
#include <stdint.h>

enum { STATE_KEY_BYTES = 16, STATE_HEADER_BYTES = 40 };

/** The largest file that is read or written (1 GiB). */
#define STATE_MOST_BYTES ((size_t)1 << 30)

struct state_header {
    uint64_t written_ns;
    uint8_t key[STATE_KEY_BYTES];
};

/* What fails returns what is wrong, a static text; else NULL. */

const char *state_header_read(const void *data, size_t len,
                              struct state_header *header);

/** Writes STATE_HEADER_BYTES. */
void state_header_write(const struct state_header *header, void *data);

/** Reads a file; `data` is to be freed. */
const char *state_file_read(const char *path, char **data, size_t *len);

/** Replaces a file by way of a new one beside it, PATH.tmp. */
const char *state_file_write(const char *path, const void *data, size_t len);

#endif
