/* SPDX-License-Identifier: MIT */
#include "state/view.h"

/* Adds |step| (1 or -1) requests for each ticket that has expired by then. */
static void shift_expired(struct lbr_view *view, int step)
{
    struct lbroute_router *router = view->router;
    struct lbr_ticket *ticket = NULL;

    while ((ticket = lbr_tickets_expired(&router->tickets, ticket, view->at)) !=
           NULL) {
        struct lbr_target *target = lbr_router_target(router, ticket->target);

        if (!target)
            continue;
        target->in_flight += (uint32_t)step;
        if (ticket->adapter)
            lbr_adapters_shift(&target->adapters, ticket->adapter, step);
        if (ticket->slot.spare & 1)
            target->health.trials += (uint32_t)step;
        lbr_target_moved(target, step);
    }
}

void lbr_view_begin(struct lbr_view *view, struct lbroute_router *router,
                    uint64_t now)
{
    view->router = router;
    view->at = now > router->clock ? now : router->clock;
    shift_expired(view, -1);
}

void lbr_view_restore_one(struct lbr_view *view, struct lbr_group *group)
{
    if (group && view->at != view->router->clock &&
        group->renewed_at != view->router->clock)
        lbr_group_renew(group, view->router->clock);
}

void lbr_view_restore(struct lbr_view *view, struct lbr_group *groups)
{
    for (; groups; groups = groups->next)
        lbr_view_restore_one(view, groups);
}

void lbr_view_end(struct lbr_view *view)
{
    shift_expired(view, 1);
}
