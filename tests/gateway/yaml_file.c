/* SPDX-License-Identifier: MIT */
#include "support/test.h"

#include "yaml_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

void yaml_file_remove(void)
{
    if (path[0] != '\0')
        unlink(path);
    path[0] = '\0';
}

const char *yaml_file_write(const void *bytes, size_t len)
{
    FILE *file;
    int descriptor;

    yaml_file_remove();
    strcpy(path, "lbroute-test-XXXXXX");
    descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    file = fdopen(descriptor, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    return path;
}

struct config *yaml_load(const char *text)
{
    struct config_error error;
    struct config *config =
        config_load(yaml_file_write(text, strlen(text)), &error);

    if (config == NULL)
        print_error("%u:%u: %s\n", error.line, error.column, error.text);
    assert_non_null(config);
    return config;
}
