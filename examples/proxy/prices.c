/* SPDX-License-Identifier: MIT */
#include "signals.h"

#include "gateway.h"
#include "price_file.h"
#include "whole_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t most_bytes = 64 * 1024 * 1024;

static bool read_list(const char *path, struct price_list *list,
                      struct price_error *error)
{
    size_t len;
    const char *wrong;
    char *text = whole_file_read(path, most_bytes, &len, &wrong);
    bool good;

    if (text == NULL)
        return price_fail(error, "%s", wrong);
    good = price_file_read(list, text, len, error);
    free(text);
    return good;
}

/* What the router has now, to go back to. */
static bool list_present(lbroute_router *router, struct price_list *list,
                         struct price_error *error)
{
    char key[LBROUTE_NAME_MAX + 1];
    uint64_t place = 0;
    size_t len;

    while (lbroute_price_next(router, place, &place, key, sizeof key, &len) ==
           LBROUTE_OK) {
        lbroute_price price;

        lbroute_price_init(&price, sizeof price);
        if (lbroute_get_price(router, key, len, &price) != LBROUTE_OK)
            continue;
        if (!price_list_add(list, key, &price))
            return price_fail(error, "out of memory");
    }
    price_list_sort(list);
    return true;
}

static void set_back(lbroute_router *router, const struct price_list *list,
                     size_t count, const struct price_list *before)
{
    for (size_t i = 0; i < count; i++) {
        const char *key = list->rows[i].key;
        const lbroute_price *price = price_list_find(before, key);

        if (price != NULL)
            lbroute_set_price(router, key, strlen(key), price);
        else
            lbroute_remove_price(router, key, strlen(key));
    }
}

static bool set_all(lbroute_router *router, const struct price_list *list,
                    const struct price_list *before, struct price_error *error)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct price_row *row = &list->rows[i];
        int code =
            lbroute_set_price(router, row->key, strlen(row->key), &row->price);

        if (code != LBROUTE_OK) {
            set_back(router, list, i, before);
            return price_fail(error, "\"%.200s\": %s", row->key,
                              lbroute_strerror(code));
        }
    }
    return true;
}

static void remove_others(lbroute_router *router, const struct price_list *list,
                          const struct price_list *before)
{
    for (size_t i = 0; i < before->count; i++) {
        const char *key = before->rows[i].key;

        if (price_list_find(list, key) == NULL)
            lbroute_remove_price(router, key, strlen(key));
    }
}

bool prices_load(struct gateway *gateway, const char *path, char *error,
                 size_t error_size)
{
    struct price_list list = {0}, before = {0};
    struct price_error problem = {""};
    bool good = (path[0] == '\0' || read_list(path, &list, &problem)) &&
                list_present(gateway->router, &before, &problem) &&
                set_all(gateway->router, &list, &before, &problem);

    if (good)
        remove_others(gateway->router, &list, &before);
    else
        snprintf(error, error_size, "%s: %s", path, problem.text);
    price_list_release(&list);
    price_list_release(&before);
    return good;
}
