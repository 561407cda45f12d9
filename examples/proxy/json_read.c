/* SPDX-License-Identifier: MIT */
#include "json_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

enum { NUMBER_MAX = 512 };

struct reader {
    yajl_handle yajl; /* NULL: all of the text was read. */
    size_t len;
    json_t *root;
    size_t end; /* Of the root in the text, once it is complete. */
    json_t *open[JSON_READ_LEVELS]; /* Borrowed: the root holds them all. */
    size_t depth;
    char *key; /* Of the value that comes next, in the object on top. */
    size_t key_len, key_room;
    enum json_error_code code; /* Set when an event is refused. */
};

static int refuse(struct reader *reader, enum json_error_code code)
{
    reader->code = code;
    return 0;
}

/* A number at the very end is told of only when there is no more. */
static void note_end(struct reader *reader)
{
    reader->end =
        reader->yajl ? yajl_get_bytes_consumed(reader->yajl) : reader->len;
}

/* Takes a value over, into the container on top. */
static int put(struct reader *reader, json_t *value)
{
    json_t *top = reader->depth ? reader->open[reader->depth - 1] : NULL;
    if (!value)
        return refuse(reader, json_error_out_of_memory);
    if (!top) {
        reader->root = value;
        note_end(reader);
        return 1;
    }
    if (json_is_array(top))
        return json_array_append_new(top, value) == 0
                   ? 1
                   : refuse(reader, json_error_out_of_memory);
    return json_object_setn_new(top, reader->key, reader->key_len, value) == 0
               ? 1
               : refuse(reader, json_error_invalid_utf8);
}

static int begin(struct reader *reader, json_t *container)
{
    if (reader->depth == JSON_READ_LEVELS) {
        json_decref(container);
        return refuse(reader, json_error_stack_overflow);
    }
    if (!put(reader, container))
        return 0;
    reader->open[reader->depth++] = container;
    return 1;
}

static int on_map(void *context)
{
    return begin(context, json_object());
}

static int on_array(void *context)
{
    return begin(context, json_array());
}

static int on_end(void *context)
{
    struct reader *reader = context;
    reader->depth--;
    note_end(reader);
    return 1;
}

static bool keep_key(struct reader *reader, const unsigned char *text,
                     size_t len)
{
    if (len >= reader->key_room) {
        char *room = realloc(reader->key, len + 64);
        if (!room)
            return false;
        reader->key = room;
        reader->key_room = len + 64;
    }
    if (len)
        memcpy(reader->key, text, len);
    reader->key_len = len;
    return true;
}

static int on_key(void *context, const unsigned char *text, size_t len)
{
    struct reader *reader = context;
    json_t *object = reader->open[reader->depth - 1];
    if (len && memchr(text, 0, len))
        return refuse(reader, json_error_null_byte_in_key);
    if (!keep_key(reader, text, len))
        return refuse(reader, json_error_out_of_memory);
    if (json_object_getn(object, reader->key, len))
        return refuse(reader, json_error_duplicate_key);
    return 1;
}

static int on_string(void *context, const unsigned char *text, size_t len)
{
    struct reader *reader = context;
    json_t *value = json_stringn((const char *)text, len);
    return value ? put(reader, value) : refuse(reader, json_error_invalid_utf8);
}

static int on_number(void *context, const char *text, size_t len)
{
    struct reader *reader = context;
    char copy[NUMBER_MAX];
    if (len >= sizeof copy)
        return refuse(reader, json_error_numeric_overflow);
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (!strpbrk(copy, ".eE")) {
        errno = 0;
        long long whole = strtoll(copy, NULL, 10);
        if (!errno)
            return put(reader, json_integer(whole));
    }
    json_t *real = json_real(strtod(copy, NULL));
    return real ? put(reader, real)
                : refuse(reader, json_error_numeric_overflow);
}

static int on_boolean(void *context, int value)
{
    return put(context, json_boolean(value));
}

static int on_null(void *context)
{
    return put(context, json_null());
}

/* Where yajl stopped reading. */
static void locate(struct json_read_error *error, const char *text, size_t at)
{
    const char *line = text, *next;
    error->line = 1;
    while ((next = memchr(line, '\n', at - (size_t)(line - text))) != NULL) {
        line = next + 1;
        error->line++;
    }
    error->column = (int)(at - (size_t)(line - text)) + 1;
}

static unsigned hex4(const char *text, const char *end)
{
    char digits[5] = "";
    if (end - text < 4)
        return 0;
    memcpy(digits, text, 4);
    return (unsigned)strtoul(digits, NULL, 16);
}

/* yajl makes something up of a first half of a UTF-16 pair (D800 to DBFF) that
 * no second half (DC00 to DFFF) follows. Where that is, or the end. */
static const char *half_a_pair(const char *text, const char *end)
{
    const char *at = text;
    while ((at = memchr(at, '\\', (size_t)(end - at))) != NULL) {
        if (end - at < 6 || at[1] != 'u' || hex4(at + 2, end) >> 10 != 0x36) {
            at += end - at < 2 ? 1 : 2;
            continue;
        }
        if (end - at < 12 || at[6] != '\\' || at[7] != 'u' ||
            hex4(at + 8, end) >> 10 != 0x37)
            return at;
        at += 12;
    }
    return end;
}

/* yajl waits for the rest of a token that begins behind the value. */
static bool is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!text[i] || !strchr(" \t\r\n", text[i]))
            return false;
    return true;
}

/* These two are blanks to yajl, and stand in no JSON, strings included. */
static const char *odd_blank(const char *text, size_t len)
{
    const char *found = memchr(text, '\v', len);
    return found ? found : memchr(text, '\f', len);
}

static bool parse(struct reader *reader, const char *text, size_t len,
                  struct json_read_error *error)
{
    static const yajl_callbacks CALLBACKS = {
        .yajl_null = on_null,
        .yajl_boolean = on_boolean,
        .yajl_number = on_number,
        .yajl_string = on_string,
        .yajl_start_map = on_map,
        .yajl_map_key = on_key,
        .yajl_end_map = on_end,
        .yajl_start_array = on_array,
        .yajl_end_array = on_end,
    };
    yajl_handle handle = yajl_alloc(&CALLBACKS, NULL, reader);
    if (!handle) {
        refuse(reader, json_error_out_of_memory);
        return false;
    }
    reader->yajl = handle;
    reader->len = len;
    /* jansson checks UTF-8 when it makes a string, more strictly. */
    yajl_config(handle, yajl_dont_validate_strings, 1);
    yajl_status status = yajl_parse(handle, (const unsigned char *)text, len);
    size_t at = yajl_get_bytes_consumed(handle);
    reader->yajl = NULL;
    if (status == yajl_status_ok)
        status = yajl_complete_parse(handle);
    yajl_free(handle);
    if (status == yajl_status_ok &&
        !is_blank(text + reader->end, len - reader->end))
        status = yajl_status_error;
    if (status != yajl_status_ok && error)
        locate(error, text, at < len ? at : len);
    return status == yajl_status_ok;
}

json_t *json_read(const char *text, size_t len, struct json_read_error *error)
{
    struct reader reader = {.code = json_error_invalid_syntax};
    const char *wrong = len ? odd_blank(text, len) : NULL;
    if (!wrong)
        wrong = half_a_pair(text, text + len);
    if (wrong != text + len) {
        if (error) {
            error->code = json_error_invalid_syntax;
            locate(error, text, (size_t)(wrong - text));
        }
        return NULL;
    }
    bool good = parse(&reader, text, len, error);
    free(reader.key);
    if (good && reader.root)
        return reader.root;
    json_decref(reader.root);
    if (error)
        error->code = reader.code;
    return NULL;
}
