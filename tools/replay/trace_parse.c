/* SPDX-License-Identifier: MIT */
#include "trace_parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Times may count from the Unix epoch, in ms. */
static const double latest_ms = 1e14;

bool trace_line_fail(struct trace_line *line, size_t column, const char *format,
                     ...)
{
    va_list arguments;

    line->column = column;
    va_start(arguments, format);
    vsnprintf(line->message, sizeof line->message, format, arguments);
    va_end(arguments);
    return false;
}

size_t trace_member_column(const struct trace_line *line, const char *name,
                           size_t occurrence)
{
    char quoted[64];
    const char *found = line->text;

    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    for (size_t seen = 0;; found++) {
        const char *after;

        found = strstr(found, quoted);
        if (found == NULL)
            return 1;
        /* A string value may look like the name: members have a colon. */
        after = found + strlen(quoted);
        after += strspn(after, " \t");
        if (*after != ':' || seen++ < occurrence)
            continue;
        after++;
        after += strspn(after, " \t");
        return (size_t)(after - line->text) + 1;
    }
}

static bool missing(const struct trace_object *object, const char *name)
{
    return trace_line_fail(object->line, 1, "\"%s\" is missing", name);
}

static bool wrong(const struct trace_object *object, const char *name,
                  const char *kind, double minimum, double maximum)
{
    size_t column = trace_member_column(object->line, name, object->occurrence);

    return trace_line_fail(object->line, column,
                           "\"%s\" is not a %s from %.0f to %.0f", name, kind,
                           minimum, maximum);
}

bool trace_get_real(const struct trace_object *object, const char *name,
                    double minimum, double maximum, double *value)
{
    const json_t *member = json_object_get(object->json, name);

    if (member == NULL)
        return missing(object, name);
    *value = json_number_value(member);
    if (!json_is_number(member) || !(*value >= minimum && *value <= maximum))
        return wrong(object, name, "number", minimum, maximum);
    return true;
}

bool trace_get_count(const struct trace_object *object, const char *name,
                     uint32_t minimum, uint32_t maximum, uint32_t *value)
{
    const json_t *member = json_object_get(object->json, name);
    json_int_t number = json_integer_value(member);

    if (member == NULL)
        return missing(object, name);
    if (!json_is_integer(member) || number < (json_int_t)minimum ||
        number > (json_int_t)maximum)
        return wrong(object, name, "whole number", minimum, maximum);
    *value = (uint32_t)number;
    return true;
}

bool trace_get_array(const struct trace_object *object, const char *name,
                     const json_t **value)
{
    *value = json_object_get(object->json, name);
    if (*value == NULL)
        return missing(object, name);
    if (!json_is_array(*value))
        return trace_line_fail(
            object->line,
            trace_member_column(object->line, name, object->occurrence),
            "\"%s\" is not an array", name);
    return true;
}

bool trace_get_time(const struct trace_object *object, double *at_s)
{
    double ms;

    if (!trace_get_real(object, "timestamp", 0.0, latest_ms, &ms))
        return false;
    *at_s = ms / 1000.0;
    return true;
}

bool trace_get_session(const struct trace_object *object, uint64_t *session)
{
    const json_t *name = json_object_get(object->json, "session_id");

    if (name == NULL || json_is_null(name))
        return true;
    if (!json_is_string(name))
        return trace_line_fail(
            object->line,
            trace_member_column(object->line, "session_id", object->occurrence),
            "\"session_id\" is not a string");
    *session = block_key_mix_text(0, json_string_value(name),
                                  json_string_length(name));
    return true;
}
