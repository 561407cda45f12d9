/* SPDX-License-Identifier: MIT */
#include "catalog.h"

#include <string.h>

#include "support/test.h"

lbroute_price catalog_price(int64_t input, int64_t output, int64_t cached)
{
    lbroute_price price;

    lbroute_price_init(&price, sizeof price);
    price.input = input;
    price.output = output;
    price.cached_input = cached;
    return price;
}

void catalog_set(struct fleet *fleet, const char *key, int64_t input,
                 int64_t output, int64_t cached)
{
    lbroute_price price = catalog_price(input, output, cached);

    assert_int_equal(lbroute_set_price(fleet->router, key, strlen(key), &price),
                     LBROUTE_OK);
}

void catalog_flat(struct fleet *fleet, const char *key, int64_t rate)
{
    catalog_set(fleet, key, rate, rate, rate);
}

void catalog_remove(struct fleet *fleet, const char *key)
{
    assert_int_equal(lbroute_remove_price(fleet->router, key, strlen(key)),
                     LBROUTE_OK);
}

size_t catalog_add(struct fleet *fleet, const char *key, uint32_t limit)
{
    lbroute_target_options options;

    fleet_target_options(fleet, &options);
    options.max_concurrency = limit;
    options.price_key = key;
    options.price_key_len = key ? strlen(key) : 0;
    return fleet_add_options(fleet, &options);
}

void catalog_teach(struct fleet *fleet, size_t index, uint64_t ms)
{
    fleet_hold(fleet, index, 1);
    fleet->now += ms * TEST_MS;
    fleet_settle(fleet, index, LBROUTE_EVENT_SUCCESS);
}
