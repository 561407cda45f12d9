/* SPDX-License-Identifier: MIT */
/*
 * What the readers of the two catalogs share.
 *
 *     entry ──fields──▶ rates ─┐
 *       └──── tiers ──▶ rates ─┴─▶ lbroute_price      what a tier does not
 *                                                     name is as without it
 */
#ifndef LBROUTE_PROXY_PRICE_CATALOG_H
#define LBROUTE_PROXY_PRICE_CATALOG_H

#include "price_file.h"

#include <jansson.h>
#include <stdint.h>

enum { RATE_INPUT, RATE_OUTPUT, RATE_CACHED, RATE_COUNT };

/** Pico-dollars; -1: not given. */
struct price_rates {
    int64_t values[RATE_COUNT];
};

/** How a catalog writes prices. */
struct price_layout {
    const char *fields[RATE_COUNT];
    int digits; /**< As for price_pico(). */
};

struct price_level {
    int64_t above;
    struct price_rates rates;
};

/** Of one model. */
struct price_levels {
    struct price_rates plain;
    struct price_level levels[LBROUTE_PRICE_TIERS + 1]; /**< One from 0 on is
                                                         * not a tier. */
    size_t count;
};

/** Where an entry is being read, for messages. */
struct price_entry {
    const char *key;
    struct price_error *error;
};

/** Fails with key and field named. */
bool price_entry_fail(const struct price_entry *entry, const char *field,
                      const char *problem);

/** All rates unknown. */
struct price_rates price_rates_none(void);

/** Reads a rate; a missing or null value leaves it as it is. */
bool price_read_rate(const struct price_entry *entry, const char *field,
                     const json_t *value, int digits, int64_t *rate);

/** Reads the rates that an object has. */
bool price_read_rates(const struct price_entry *entry,
                      const struct price_layout *layout, const json_t *object,
                      struct price_rates *rates);

/** Reads a number of tokens. */
bool price_read_tokens(const struct price_entry *entry, const char *field,
                       const json_t *value, int64_t *tokens);

/** Reads a name of the form HEAD<number>[k|m]TAIL; false: it is of another
 * form. INT64_MAX for what is above it. */
bool price_read_threshold(const char *name, const char *head, const char *tail,
                          int64_t *above);

/** The level of a threshold, a new one if there is none; NULL with the error:
 * too many. */
struct price_level *price_level(const struct price_entry *entry,
                                struct price_levels *levels, int64_t above);

/** Adds the price of an entry, if any of it is known. */
bool price_entry_add(const struct price_entry *entry,
                     struct price_levels *levels, struct price_list *list);

/** Reads an entry of LiteLLM, or the cost of a model of models.dev. */
bool price_read_litellm(const struct price_entry *entry, const json_t *object,
                        struct price_levels *levels);
bool price_read_models_dev(const struct price_entry *entry,
                           const json_t *object, struct price_levels *levels);

#endif
