/* SPDX-License-Identifier: MIT */
/* Configurations written into a file of the test's own. */
#ifndef TESTS_GATEWAY_YAML_FILE_H
#define TESTS_GATEWAY_YAML_FILE_H

#include "config.h"

#include <stddef.h>

/* Writes bytes into a new file and gives its path, which the next call
 * overwrites. The file goes with the next call, or with yaml_file_remove(). */
const char *yaml_file_write(const void *bytes, size_t len);
void yaml_file_remove(void);

/* Loads a text. Fails the test, with the error, if it is refused. */
struct config *yaml_load(const char *text);

#endif
