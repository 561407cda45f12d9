/* SPDX-License-Identifier: MIT */
/* What a token costs, by key, and what a request costs.
 *
 *     key ─hash─▶ map ─▶ slab: [ price, key ] …
 *
 * Money is counted in whole pico-dollars, tokens in whole tokens, so a cost is
 * exact: it is a sum of products in 128 bits, which cannot overflow. A price
 * that is not known makes the cost unknown where it would count. */
#ifndef LBR_MODELS_PRICE_CATALOG_H
#define LBR_MODELS_PRICE_CATALOG_H

#include "base/bytes.h"
#include "base/text.h"
#include "base/wide.h"
#include "containers/map.h"
#include "containers/slab.h"

struct lbr_price {
    struct lbr_slot slot;
    struct lbr_text key; /* own allocation */
    lbroute_price value;
};

struct lbr_price_catalog {
    struct lbr_memory *memory;
    struct lbr_slab slab;
    struct lbr_map keys;
    uint64_t secret;  /* of its keys: catalogs come from elsewhere */
    uint64_t changes; /* keys that came and went, from 1: what a search for a
                       * key found holds until this moves */
};

/* The tokens of a request; |cached| is a part of |input|. Each is below
 * 2^63. */
struct lbr_usage {
    uint64_t input, cached, output;
};

void lbr_prices_init(struct lbr_price_catalog *catalog,
                     struct lbr_memory *memory, uint32_t limit,
                     uint64_t secret);
void lbr_prices_destroy(struct lbr_price_catalog *catalog);

/* The price of |key|, or NULL. It stays where it is until it is removed. */
struct lbr_price *lbr_prices_find(const struct lbr_price_catalog *catalog,
                                  struct lbr_text key);

/* Adds a key without a value. Returns 0, LBROUTE_ERR_LIMIT or
 * LBROUTE_ERR_NO_MEMORY. */
int lbr_prices_add(struct lbr_price_catalog *catalog, struct lbr_text key,
                   struct lbr_price **price);

void lbr_prices_remove(struct lbr_price_catalog *catalog,
                       struct lbr_price *price);

/* Whether a price is well formed: LBROUTE_OK, or what is wrong with it. */
int lbr_price_check(const lbroute_price *price);

/* What a request costs in pico-dollars. Returns 0 when that is not known. */
int lbr_price_cost(const lbroute_price *price, const struct lbr_usage *usage,
                   struct lbr_wide *cost);

size_t lbr_prices_estimate(uint32_t limit);

/* A price without any figure. */
lbroute_price lbr_price_unknown(void);

/* A key and its price as bytes, and back: the text stands in the bytes. */
void lbr_price_save(const struct lbr_price *price, struct lbr_writer *writer);
void lbr_price_load(struct lbr_text *key, lbroute_price *value,
                    struct lbr_reader *reader);

#endif
