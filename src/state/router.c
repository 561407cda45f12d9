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
