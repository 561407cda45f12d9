/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the gateway's reader of JSON against the one of the library whose
 * values it makes: both take the same texts, and come to the same values. It
 * alone has a bound on depth and on the length of a number, and no mercy with a
 * NUL behind a number.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "json_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LONG_NUMBER = 512 };

/* Whole numbers beyond 64 bits make it read all numbers as real ones. */
static json_t *read_plainly(const char *text, size_t size, bool *reals)
{
    const size_t flags =
        JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY;
    json_error_t error;
    json_t *value = json_loadb(text, size, flags, &error);

    *reals = !value && json_error_code(&error) == json_error_numeric_overflow;
    if (*reals)
        value = json_loadb(text, size, flags | JSON_DECODE_INT_AS_REAL, &error);
    return value;
}

static bool has_long_number(const char *text, size_t size)
{
    size_t run = 0;

    for (size_t i = 0; i < size && run < LONG_NUMBER; i++)
        run = text[i] && strchr("0123456789+-.eE", text[i]) ? run + 1 : 0;
    return run >= LONG_NUMBER;
}

static size_t depth_of(const json_t *value)
{
    size_t most = 0, index;
    const char *key;
    json_t *child;

    if (!json_is_object(value) && !json_is_array(value))
        return 0;
    json_array_foreach(value, index, child)
    {
        size_t depth = depth_of(child);
        most = depth > most ? depth : most;
    }
    json_object_foreach((json_t *)value, key, child)
    {
        size_t depth = depth_of(child);
        most = depth > most ? depth : most;
    }
    return most + 1;
}

static void check_error(const struct json_read_error *error)
{
    CHECK(error->line >= 1);
    CHECK(error->column >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct json_read_error error = {json_error_unknown, 0, 0};
    bool reals;
    json_t *wanted = read_plainly(text, size, &reals);
    json_t *found = json_read(text, size, &error);

    if (!found)
        check_error(&error);
    if (found)
        CHECK(wanted != NULL);
    else if (wanted)
        CHECK(depth_of(wanted) > JSON_READ_LEVELS ||
              has_long_number(text, size) || memchr(text, 0, size));
    if (found && !reals)
        CHECK(json_equal(found, wanted));
    json_decref(found);
    json_decref(wanted);
    return 0;
}
