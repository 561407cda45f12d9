/* SPDX-License-Identifier: MIT */
#include "whole_file.h"

#include "bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *read_stream(FILE *file, size_t most, struct bytes *bytes)
{
    char piece[65536];
    size_t len;

    while ((len = fread(piece, 1, sizeof piece, file)) > 0) {
        bytes_add(bytes, piece, len);
        if (bytes->failed)
            return "out of memory";
        if (bytes->len > most)
            return "the file is too large";
    }
    if (ferror(file))
        return strerror(errno);
    bytes_add(bytes, "", 1);
    return bytes->failed ? "out of memory" : NULL;
}

char *whole_file_read(const char *path, size_t most, size_t *len,
                      const char **problem)
{
    struct bytes bytes = {0};
    FILE *file = fopen(path, "rb");

    if (file == NULL) {
        *problem = strerror(errno);
        return NULL;
    }
    *problem = read_stream(file, most, &bytes);
    fclose(file);
    if (*problem != NULL) {
        bytes_release(&bytes);
        return NULL;
    }
    *len = bytes.len - 1;
    return bytes.data;
}
