/* SPDX-License-Identifier: MIT */
#include "price_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool price_fail(struct price_error *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

static const char *add_line(struct price_list *list, char *line, size_t len)
{
    if (len > 0 && line[len - 1] == '\r')
        len--;
    line[len] = '\0';
    return price_list_add_line(list, line, len);
}

static bool read_table(struct price_list *list, char *text, size_t len,
                       struct price_error *error)
{
    char *end = text + len;

    for (size_t number = 1; text < end; number++) {
        char *stop = memchr(text, '\n', (size_t)(end - text));
        const char *wrong;

        if (stop == NULL)
            stop = end;
        wrong = add_line(list, text, (size_t)(stop - text));
        if (wrong != NULL)
            return price_fail(error, "line %zu: %s", number, wrong);
        text = stop + 1;
    }
    return true;
}

/* Tables begin with a comment or a key, and no model's name begins so. */
static bool is_json(const char *text)
{
    char first = text[strspn(text, " \t\r\n")];

    return first == '{' || first == '[';
}

bool price_file_read(struct price_list *list, char *text, size_t len,
                     struct price_error *error)
{
    const char *twice;

    if (!(is_json(text) ? price_catalog_read(list, text, len, error)
                        : read_table(list, text, len, error)))
        return false;
    twice = price_list_sort(list);
    return twice == NULL || price_fail(error, "\"%s\" has two prices", twice);
}
