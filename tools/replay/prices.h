/* SPDX-License-Identifier: MIT */
/*
 * A table of prices from a file, and what requests cost by it.
 */
#ifndef LBROUTE_REPLAY_PRICES_H
#define LBROUTE_REPLAY_PRICES_H

#include "price_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Reads a table into a sorted list. Returns false with a message that names
 * the line; `list` is then empty. */
bool prices_read(const char *path, struct price_list *list, char *error,
                 size_t error_size);

/** Dollars that a request cost; NaN where the price (or NULL) does not say. */
double price_cost_usd(const lbroute_price *price, uint64_t input_tokens,
                      uint64_t cached_tokens, uint64_t output_tokens);

#endif
