/* SPDX-License-Identifier: MIT */
/*
 * A table of prices, as tools/prices/price_table.py writes it (docs/prices.md):
 *
 *     key <tab> input <tab> output <tab> cached input [<tab> tier]...
 *
 * in whole pico-dollars a token, "-" where unknown; a tier is
 * above:input:output:cached. Empty lines and those that begin with # are
 * passed over.
 */
#ifndef LBROUTE_REPLAY_PRICES_H
#define LBROUTE_REPLAY_PRICES_H

#include <lbroute/lbroute.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct price_row {
    char key[LBROUTE_NAME_MAX + 1];
    lbroute_price price;
};

/** Sorted by key. */
struct price_list {
    struct price_row *rows;
    size_t count;
    size_t capacity;
};

/** Reads a table. Returns false with a message that names the line; `list` is
 * then empty. */
bool price_list_read(const char *path, struct price_list *list, char *error,
                     size_t error_size);

void price_list_release(struct price_list *list);

/** The price of a key, or NULL. It lives as long as the list. */
const lbroute_price *price_list_find(const struct price_list *list,
                                     const char *key);

/** Dollars that a request cost; NaN where the price (or NULL) does not say. */
double price_cost_usd(const lbroute_price *price, uint64_t input_tokens,
                      uint64_t cached_tokens, uint64_t output_tokens);

#endif
