/* SPDX-License-Identifier: MIT */
#include "state/view.h"

/* Adds |step| (1 or -1) requests for a ticket. */
static void shift(struct lbroute_router *router, struct lbr_ticket *ticket,
                  int step)
{
    struct lbr_target *target = lbr_router_target(router, ticket->target);

    if (!target)
        return;
    target->in_flight += (uint32_t)step;
    if (ticket->adapter)
        lbr_adapters_shift(&target->adapters, ticket->adapter, step);
    if (ticket->slot.spare & 1)
        target->health.trials += (uint32_t)step;
    if (ticket->task.state == LBR_TASK_WAITING) {
        if (step < 0)
            lbr_task_hide(target, &ticket->task);
        else
            lbr_task_show(target, &ticket->task);
    }
    lbr_target_moved(target, step);
}

void lbr_view_begin(struct lbr_view *view, struct lbroute_router *router,
                    uint64_t now)
{
    struct lbr_ticket *ticket = NULL;

    view->router = router;
    view->at = now > router->clock ? now : router->clock;
    view->last_expired = NULL;
    while ((ticket = lbr_tickets_expired(&router->tickets, ticket, view->at)) !=
           NULL) {
        shift(router, ticket, -1);
        view->last_expired = ticket;
    }
    lbr_peers_hide(router, view->at);
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

/* Backward, so that each waiting request comes before those behind it. */
void lbr_view_end(struct lbr_view *view)
{
    struct lbr_ticket *ticket = view->last_expired;

    lbr_peers_show(view->router, view->at);
    for (; ticket; ticket = lbr_tickets_before(&view->router->tickets, ticket))
        shift(view->router, ticket, 1);
}
