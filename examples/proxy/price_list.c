/* SPDX-License-Identifier: MIT */
#include "price_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool price_fail(struct price_error *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

static bool grow(struct price_list *list, struct price_error *error)
{
    size_t capacity = list->capacity * 2 + 64;
    struct price_row *rows = realloc(list->rows, capacity * sizeof *rows);

    if (rows == NULL)
        return price_fail(error, "out of memory");
    list->rows = rows;
    list->capacity = capacity;
    return true;
}

bool price_list_add(struct price_list *list, const char *key,
                    const lbroute_price *price, struct price_error *error)
{
    char *copy;

    if (list->count == list->capacity && !grow(list, error))
        return false;
    copy = strdup(key);
    if (copy == NULL)
        return price_fail(error, "out of memory");
    list->rows[list->count++] = (struct price_row){copy, *price};
    return true;
}

static int by_key(const void *left, const void *right)
{
    const struct price_row *a = left;
    const struct price_row *b = right;

    return strcmp(a->key, b->key);
}

bool price_list_sort(struct price_list *list, struct price_error *error)
{
    if (list->count > 0)
        qsort(list->rows, list->count, sizeof *list->rows, by_key);
    for (size_t i = 1; i < list->count; i++)
        if (by_key(&list->rows[i - 1], &list->rows[i]) == 0)
            return price_fail(error, "\"%s\" has two prices",
                              list->rows[i].key);
    return true;
}

/* Tables begin with a comment or a key, and no model's name begins so. */
static bool is_json(const char *text)
{
    char first = text[strspn(text, " \t\r\n")];

    return first == '{' || first == '[';
}

bool price_list_read(struct price_list *list, char *text, size_t len,
                     struct price_error *error)
{
    bool good = is_json(text) ? price_list_read_catalog(list, text, len, error)
                              : price_list_read_table(list, text, len, error);

    return good && price_list_sort(list, error);
}

static int compare_key(const void *key, const void *row)
{
    return strcmp(key, ((const struct price_row *)row)->key);
}

const struct price_row *price_list_find(const struct price_list *list,
                                        const char *key)
{
    return list->count == 0 ? NULL
                            : bsearch(key, list->rows, list->count,
                                      sizeof *list->rows, compare_key);
}

void price_list_release(struct price_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->rows[i].key);
    free(list->rows);
    *list = (struct price_list){0};
}
