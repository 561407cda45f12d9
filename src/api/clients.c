/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "base/clock.h"
#include "policy/request.h"

void lbroute_client_share_init(lbroute_client_share *share, size_t size)
{
    lbroute_client_share defaults = {0};

    lbr_abi_init(share, size, &defaults, sizeof defaults);
}

static double in_blocks(uint64_t charge)
{
    return (double)charge / (double)LBR_CHARGE_BLOCK;
}

static void describe(const struct lbr_account *account, uint64_t now,
                     uint64_t guarantee, uint64_t idle,
                     lbroute_client_share *row)
{
    row->client = account->client;
    row->blocks = in_blocks(*lbr_account_charge(account));
    row->share = account->active && lbr_account_is_active(account, now, idle)
                     ? in_blocks(guarantee)
                     : 0;
    row->evicted = account->lost;
    row->idle_ns = lbr_time_signed(lbr_time_since(now, account->used_at));
}

static size_t list_clients(const struct lbr_target *target, uint64_t now,
                           lbroute_client_share *shares, size_t capacity)
{
    const struct lbr_shared_owner *owner = &target->prefixes;
    const struct lbr_share_rules *rules = &target->pool->params.kv;
    size_t size = capacity ? lbr_abi_size(shares) : 0;
    uint32_t active;
    uint64_t guarantee = lbr_shared_guarantee(owner, now, rules, &active);
    uint32_t i;

    for (i = 0; i < owner->account_count && i < capacity; i++) {
        lbroute_client_share row = {0};

        describe(owner->places[i].account, now, guarantee, rules->idle, &row);
        (void)lbr_abi_write((unsigned char *)shares + i * size, &row,
                            sizeof row);
    }
    return owner->account_count;
}

int lbroute_target_clients(lbroute_router *router, lbroute_target handle,
                           uint64_t now, lbroute_client_share *shares,
                           size_t capacity, size_t *count)
{
    const struct lbr_target *target;
    size_t listed;

    if (!router || !lbr_abi_rows_valid(shares, capacity))
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    target = lbr_router_target(router, handle);
    if (!target)
        return lbr_router_leave(router, LBROUTE_ERR_NOT_FOUND);
    listed = list_clients(target, now > router->clock ? now : router->clock,
                          shares, capacity);
    if (count)
        *count = listed;
    return lbr_router_leave(router, LBROUTE_OK);
}

int lbroute_client_digest(lbroute_router *router, const void *client,
                          size_t client_len, uint64_t *digest)
{
    if (!router || !client || !client_len || !digest)
        return LBROUTE_ERR_INVALID;
    *digest = lbr_client_digest(router, client, client_len);
    return LBROUTE_OK;
}
