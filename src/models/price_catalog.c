/* SPDX-License-Identifier: MIT */
#include "models/price_catalog.h"

#include "base/hash.h"

#define KIND 6
#define CHUNK_BITS 4

void lbr_prices_init(struct lbr_price_catalog *catalog,
                     struct lbr_memory *memory, uint32_t limit, uint64_t secret)
{
    catalog->secret = secret;
    catalog->memory = memory;
    catalog->changes = 1;
    lbr_slab_init(&catalog->slab, memory, KIND, sizeof(struct lbr_price),
                  CHUNK_BITS, limit);
    lbr_map_init(&catalog->keys, memory);
}

void lbr_prices_destroy(struct lbr_price_catalog *catalog)
{
    struct lbr_price *price = NULL;

    while ((price = lbr_slab_next(&catalog->slab,
                                  price ? price->slot.handle : 0)) != NULL)
        lbr_text_free(catalog->memory, price->key);
    lbr_map_destroy(&catalog->keys);
    lbr_slab_destroy(&catalog->slab);
}

static uint64_t hash_of(const struct lbr_price_catalog *catalog,
                        struct lbr_text key)
{
    return lbr_hash_seeded(key.bytes, key.length, catalog->secret);
}

struct lbr_price *lbr_prices_find(const struct lbr_price_catalog *catalog,
                                  struct lbr_text key)
{
    uint64_t hash = hash_of(catalog, key);
    uint32_t cursor = 0;
    uint32_t index;

    while ((index = lbr_map_next(&catalog->keys, hash, &cursor)) !=
           LBR_MAP_NONE) {
        struct lbr_price *price = lbr_slab_at(&catalog->slab, index);

        if (lbr_text_equal(price->key, key))
            return price;
    }
    return NULL;
}

int lbr_prices_add(struct lbr_price_catalog *catalog, struct lbr_text key,
                   struct lbr_price **price)
{
    struct lbr_text copy;
    void *object;
    int result;

    /* Before the table of keys grows for nothing, beyond its bound. */
    if (catalog->slab.live == catalog->slab.limit)
        return LBROUTE_ERR_LIMIT;
    if (!lbr_map_reserve(&catalog->keys) ||
        !lbr_text_copy(catalog->memory, key, &copy))
        return LBROUTE_ERR_NO_MEMORY;
    result = lbr_slab_take(&catalog->slab, &object);
    if (result) {
        lbr_text_free(catalog->memory, copy);
        return result;
    }
    *price = object;
    (*price)->key = copy;
    lbr_map_add(&catalog->keys, hash_of(catalog, key),
                lbr_slab_index((*price)->slot.handle));
    catalog->changes++;
    return LBROUTE_OK;
}

void lbr_prices_remove(struct lbr_price_catalog *catalog,
                       struct lbr_price *price)
{
    lbr_map_remove(&catalog->keys, hash_of(catalog, price->key),
                   lbr_slab_index(price->slot.handle));
    lbr_text_free(catalog->memory, price->key);
    lbr_slab_give(&catalog->slab, price);
    catalog->changes++;
}

static int rates_good(int64_t input, int64_t cached, int64_t output)
{
    return input >= -1 && cached >= -1 && output >= -1;
}

int lbr_price_check(const lbroute_price *price)
{
    int64_t before = -1;
    uint32_t i;

    if (price->reserved0)
        return LBROUTE_ERR_INVALID;
    if (price->tier_count > LBROUTE_PRICE_TIERS ||
        !rates_good(price->input, price->cached_input, price->output))
        return LBROUTE_ERR_RANGE;
    for (i = 0; i < price->tier_count; i++) {
        const lbroute_price_tier *tier = &price->tiers[i];

        if (tier->above_tokens <= before ||
            !rates_good(tier->input, tier->cached_input, tier->output))
            return LBROUTE_ERR_RANGE;
        before = tier->above_tokens;
    }
    return LBROUTE_OK;
}

/* The rates of a request with so much input: one tier is for all of it. */
static lbroute_price_tier rates_for(const lbroute_price *price, uint64_t input)
{
    uint32_t i = price->tier_count;

    while (i--)
        if (input > (uint64_t)price->tiers[i].above_tokens)
            return price->tiers[i];
    return (lbroute_price_tier){0, price->input, price->output,
                                price->cached_input};
}

int lbr_price_cost(const lbroute_price *price, const struct lbr_usage *usage,
                   struct lbr_wide *cost)
{
    lbroute_price_tier rates = rates_for(price, usage->input);

    if (rates.input < 0 || (rates.output < 0 && usage->output))
        return 0;
    /* Without a price of its own, cached input is nothing special. */
    if (rates.cached_input < 0)
        rates.cached_input = rates.input;
    *cost =
        lbr_wide_product((uint64_t)rates.input, usage->input - usage->cached);
    *cost = lbr_wide_add(
        *cost, lbr_wide_product((uint64_t)rates.cached_input, usage->cached));
    if (usage->output)
        *cost = lbr_wide_add(
            *cost, lbr_wide_product((uint64_t)rates.output, usage->output));
    return 1;
}

size_t lbr_prices_estimate(uint32_t limit)
{
    return lbr_slab_estimate(sizeof(struct lbr_price), CHUNK_BITS, limit) +
           lbr_map_estimate(limit) + LBR_TEXT_LONGEST * (size_t)limit;
}

/* ---- as bytes ---- */

lbroute_price lbr_price_unknown(void)
{
    lbroute_price price = {0};
    size_t i;

    price.size = sizeof price;
    price.input = price.output = price.cached_input = -1;
    for (i = 0; i < LBROUTE_PRICE_TIERS; i++)
        price.tiers[i] = (lbroute_price_tier){0, -1, -1, -1};
    return price;
}

/* Unknown, -1, is 0 in bytes. */
static void put_rate(struct lbr_writer *writer, int64_t rate)
{
    lbr_put_count(writer, (uint64_t)rate + 1);
}

static int64_t get_rate(struct lbr_reader *reader)
{
    return (int64_t)lbr_get_count(reader, (uint64_t)INT64_MAX + 1) - 1;
}

void lbr_price_save(const struct lbr_price *price, struct lbr_writer *writer)
{
    const lbroute_price *value = &price->value;
    uint32_t i;

    lbr_put_text(writer, price->key.bytes, price->key.length);
    put_rate(writer, value->input);
    put_rate(writer, value->output);
    put_rate(writer, value->cached_input);
    lbr_put_count(writer, value->tier_count);
    for (i = 0; i < value->tier_count; i++) {
        put_rate(writer, value->tiers[i].above_tokens);
        put_rate(writer, value->tiers[i].input);
        put_rate(writer, value->tiers[i].output);
        put_rate(writer, value->tiers[i].cached_input);
    }
}

void lbr_price_load(struct lbr_text *key, lbroute_price *value,
                    struct lbr_reader *reader)
{
    uint32_t i;

    *value = lbr_price_unknown();
    key->bytes = lbr_get_text(reader, &key->length);
    value->input = get_rate(reader);
    value->output = get_rate(reader);
    value->cached_input = get_rate(reader);
    value->tier_count = (uint32_t)lbr_get_count(reader, LBROUTE_PRICE_TIERS);
    for (i = 0; i < value->tier_count; i++) {
        value->tiers[i].above_tokens = get_rate(reader);
        value->tiers[i].input = get_rate(reader);
        value->tiers[i].output = get_rate(reader);
        value->tiers[i].cached_input = get_rate(reader);
    }
    lbr_demand(reader,
               lbr_text_is_name(*key, 0) && lbr_price_check(value) == 0);
}
