/* SPDX-License-Identifier: MIT */
/*
 * Prices on their way from a file into the router.
 */
#ifndef LBROUTE_PROXY_PRICE_LIST_H
#define LBROUTE_PROXY_PRICE_LIST_H

#include <lbroute/lbroute.h>

#include <stdbool.h>
#include <stddef.h>

struct price_row {
    char *key;
    lbroute_price price;
};

struct price_list {
    struct price_row *rows;
    size_t count, capacity;
};

/** What is wrong with a file; `text` is empty as long as nothing is. */
struct price_error {
    char text[384];
};

/** Sets the text, as printf() would; returns false. */
bool price_fail(struct price_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Adds a row; the key is copied. */
bool price_list_add(struct price_list *list, const char *key,
                    const lbroute_price *price, struct price_error *error);

/** Sorts by key. A key that is there twice is an error. */
bool price_list_sort(struct price_list *list, struct price_error *error);

/** Finds a key in a sorted list, or NULL. */
const struct price_row *price_list_find(const struct price_list *list,
                                        const char *key);

void price_list_release(struct price_list *list);

/** Reads either of the following, told apart by content, and sorts it. `text`
 * ends with a zero byte and is cut into pieces. */
bool price_list_read(struct price_list *list, char *text, size_t len,
                     struct price_error *error);

/** Reads a table of price_table.py (docs/prices.md). `text` ends with a zero
 * byte and is cut into pieces. */
bool price_list_read_table(struct price_list *list, char *text, size_t len,
                           struct price_error *error);

/** Reads LiteLLM's or models.dev's JSON, told apart by content. */
bool price_list_read_catalog(struct price_list *list, const char *text,
                             size_t len, struct price_error *error);

#endif
