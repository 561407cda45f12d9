/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "state/router.h"

void lbroute_price_init(lbroute_price *price, size_t size)
{
    lbroute_price defaults = lbr_price_unknown();

    lbr_abi_init(price, size, &defaults, sizeof defaults);
}

static int read_price(lbroute_price *price, const lbroute_price *in)
{
    int result;

    *price = lbr_price_unknown();
    result = lbr_abi_read(price, sizeof *price, in);
    return result ? result : lbr_price_check(price);
}

/* Without what stands behind the tiers that count. */
static void store(lbroute_price *own, const lbroute_price *price)
{
    *own = lbr_price_unknown();
    own->input = price->input;
    own->output = price->output;
    own->cached_input = price->cached_input;
    own->tier_count = price->tier_count;
    memcpy(own->tiers, price->tiers, price->tier_count * sizeof *own->tiers);
}

int lbroute_set_price(lbroute_router *router, const char *key, size_t key_len,
                      const lbroute_price *in)
{
    lbroute_price value;
    struct lbr_price *price;
    int result;

    if (!router || lbr_text_broken(key, key_len))
        return LBROUTE_ERR_INVALID;
    if (!lbr_text_is_name(lbr_text(key, key_len), 0))
        return LBROUTE_ERR_NAME;
    result = read_price(&value, in);
    if (result)
        return result;
    lbr_router_enter(router);
    price = lbr_prices_find(&router->prices, lbr_text(key, key_len));
    if (!price)
        result =
            lbr_prices_add(&router->prices, lbr_text(key, key_len), &price);
    if (!result)
        store(&price->value, &value);
    return lbr_router_leave(router, result);
}

int lbroute_get_price(lbroute_router *router, const char *key, size_t key_len,
                      lbroute_price *out)
{
    const struct lbr_price *price;
    int result = LBROUTE_ERR_NOT_FOUND;

    if (!router || !lbr_abi_valid(out) || lbr_text_broken(key, key_len))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    price = lbr_prices_find(&router->prices, lbr_text(key, key_len));
    if (price)
        result = lbr_abi_write(out, &price->value, sizeof price->value);
    return lbr_router_leave(router, result);
}

int lbroute_remove_price(lbroute_router *router, const char *key,
                         size_t key_len)
{
    struct lbr_price *price;

    if (!router || lbr_text_broken(key, key_len))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    price = lbr_prices_find(&router->prices, lbr_text(key, key_len));
    if (price)
        lbr_prices_remove(&router->prices, price);
    return lbr_router_leave(router, price ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}

int lbroute_price_next(lbroute_router *router, uint64_t previous,
                       uint64_t *place, char *key, size_t key_capacity,
                       size_t *key_len)
{
    const struct lbr_price *price;
    int result = LBROUTE_ERR_NOT_FOUND;

    if (!router || !place || !key_len || (!key && key_capacity))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    price = lbr_slab_next(&router->prices.slab, previous);
    if (price) {
        *key_len = price->key.length;
        result = LBROUTE_ERR_BUFFER;
    }
    if (price && price->key.length < key_capacity) {
        *place = price->slot.handle;
        memcpy(key, price->key.bytes, price->key.length + 1);
        result = LBROUTE_OK;
    }
    return lbr_router_leave(router, result);
}
