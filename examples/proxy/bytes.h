/* SPDX-License-Identifier: MIT */
/*
 * Bytes that grow at their end. A lack of memory is kept until someone asks,
 * so that writers need not look after each piece.
 */
#ifndef LBROUTE_PROXY_BYTES_H
#define LBROUTE_PROXY_BYTES_H

#include <stdbool.h>
#include <stddef.h>

struct bytes {
    char *data; /**< NULL as long as nothing was added. */
    size_t len, room;
    bool failed; /**< Something did not fit into memory and is missing. */
};

void bytes_add(struct bytes *bytes, const void *data, size_t len);
void bytes_add_text(struct bytes *bytes, const char *text);
void bytes_release(struct bytes *bytes);

#endif
