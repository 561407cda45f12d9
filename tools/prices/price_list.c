/* SPDX-License-Identifier: MIT */
#include "price_list.h"

#include <stdlib.h>
#include <string.h>

static bool grow(struct price_list *list)
{
    size_t capacity = list->capacity * 2 + 64;
    struct price_row *rows = realloc(list->rows, capacity * sizeof *rows);

    if (rows == NULL)
        return false;
    list->rows = rows;
    list->capacity = capacity;
    return true;
}

bool price_list_add(struct price_list *list, const char *key,
                    const lbroute_price *price)
{
    char *copy;

    if (list->count == list->capacity && !grow(list))
        return false;
    copy = strdup(key);
    if (copy == NULL)
        return false;
    list->rows[list->count++] = (struct price_row){copy, *price};
    return true;
}

static int by_key(const void *left, const void *right)
{
    const struct price_row *a = left;
    const struct price_row *b = right;

    return strcmp(a->key, b->key);
}

const char *price_list_sort(struct price_list *list)
{
    if (list->count > 0)
        qsort(list->rows, list->count, sizeof *list->rows, by_key);
    for (size_t i = 1; i < list->count; i++)
        if (by_key(&list->rows[i - 1], &list->rows[i]) == 0)
            return list->rows[i].key;
    return NULL;
}

static int compare_key(const void *key, const void *row)
{
    return strcmp(key, ((const struct price_row *)row)->key);
}

const lbroute_price *price_list_find(const struct price_list *list,
                                     const char *key)
{
    const struct price_row *row =
        list->count == 0 ? NULL
                         : bsearch(key, list->rows, list->count,
                                   sizeof *list->rows, compare_key);

    return row != NULL ? &row->price : NULL;
}

void price_list_release(struct price_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->rows[i].key);
    free(list->rows);
    *list = (struct price_list){0};
}
