/* SPDX-License-Identifier: MIT */
/*
 * Prices by key, from a table as price_table.py writes it (docs/prices.md):
 *
 *     key <tab> input <tab> output <tab> cached input [<tab> tier]...
 *
 * in whole pico-dollars a token, "-" where unknown; a tier is
 * above:input:output:cached. Empty lines and those that begin with # are
 * passed over.
 */
#ifndef LBROUTE_PRICES_PRICE_LIST_H
#define LBROUTE_PRICES_PRICE_LIST_H

#include <lbroute/lbroute.h>

#include <stdbool.h>
#include <stddef.h>

struct price_row {
    char *key;
    lbroute_price price;
};

/** Zeroed: an empty one. */
struct price_list {
    struct price_row *rows;
    size_t count, capacity;
};

/** Adds a row; the key is copied. False: out of memory. */
bool price_list_add(struct price_list *list, const char *key,
                    const lbroute_price *price);

/** Adds what a line of a table says, without its end and with a zero byte
 * behind it; it is cut into pieces. NULL, or what is wrong with it. */
const char *price_list_add_line(struct price_list *list, char *line,
                                size_t len);

/** Sorts by key. NULL, or a key that is there twice. */
const char *price_list_sort(struct price_list *list);

/** The price of a key in a sorted list, or NULL. It lives as long as the
 * list. */
const lbroute_price *price_list_find(const struct price_list *list,
                                     const char *key);

void price_list_release(struct price_list *list);

#endif
