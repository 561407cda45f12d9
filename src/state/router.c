/* SPDX-License-Identifier: MIT */
#include "state/router.h"

struct lbr_target *lbr_router_close_ticket(struct lbroute_router *router,
                                           struct lbr_ticket *ticket,
                                           lbr_health_mark *mark)
{
    struct lbr_target *target = lbr_router_target(router, ticket->target);
    uint64_t adapter = ticket->adapter;

    *mark = ticket->slot.spare;
    lbr_tickets_close(&router->tickets, ticket);
    if (!target) {
        router->orphans--;
        return NULL;
    }
    if (lbr_target_full(target))
        target->full_at = router->clock;
    target->in_flight--;
    if (adapter)
        lbr_adapters_ended(&target->adapters, adapter);
    (void)lbr_health_ended(&target->health, *mark);
    lbr_target_moved(target, -1);
    return target;
}

static void expire(struct lbroute_router *router, struct lbr_ticket *ticket)
{
    lbr_health_mark mark;
    struct lbr_target *target = lbr_router_close_ticket(router, ticket, &mark);

    router->expired++;
    if (target)
        target->expired++;
}

void lbr_router_expire(struct lbroute_router *router)
{
    struct lbr_ticket *ticket;

    while ((ticket = lbr_tickets_expired(&router->tickets, NULL,
                                         router->clock)) != NULL)
        expire(router, ticket);
}

const struct lbr_price *lbr_router_find_price(
    const struct lbroute_router *router, struct lbr_target *target)
{
    struct lbr_text key = target->price_key;

    if (!key.length && target->model)
        key = target->model->name;
    target->price = key.length ? lbr_prices_find(&router->prices, key) : NULL;
    target->price_found_at = router->prices.changes;
    return target->price;
}
