/* SPDX-License-Identifier: MIT */
/*
 * Files that are read at once.
 */
#ifndef LBROUTE_PROXY_WHOLE_FILE_H
#define LBROUTE_PROXY_WHOLE_FILE_H

#include <stddef.h>

/** Reads a file of at most `most` bytes. Returns it with a zero byte after its
 * end, to be freed; NULL with what is wrong, a static text. */
char *whole_file_read(const char *path, size_t most, size_t *len,
                      const char **problem);

#endif
