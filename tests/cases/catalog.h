/* SPDX-License-Identifier: MIT */
/* Prices of a fleet's targets. */
#ifndef TESTS_CASES_CATALOG_H
#define TESTS_CASES_CATALOG_H

#include "support/fleet.h"

/* Pico-dollars a token of one dollar per million tokens. */
#define USD_PER_MILLION INT64_C(1000000)

/* A price without tiers. */
lbroute_price catalog_price(int64_t input, int64_t output, int64_t cached);

/* Sets that price for |key|. */
void catalog_set(struct fleet *fleet, const char *key, int64_t input,
                 int64_t output, int64_t cached);

/* The same, one rate for all of a request's tokens. */
void catalog_flat(struct fleet *fleet, const char *key, int64_t rate);

void catalog_remove(struct fleet *fleet, const char *key);

/* Adds a target with a price key of its own (NULL: none) and a limit; gives
 * its index. */
size_t catalog_add(struct fleet *fleet, const char *key, uint32_t limit);

/* Teaches a target one latency, in ms, by a request that it alone may take. */
void catalog_teach(struct fleet *fleet, size_t index, uint64_t ms);

#endif
