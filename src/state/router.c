/* SPDX-License-Identifier: MIT */
#include "state/router.h"

/* Counts how long a request took, for a group where somebody is full, or has
 * been. */
static void note_duration(struct lbroute_router *router,
                          struct lbr_group *group, int full, uint64_t duration)
{
    if (!group || !(group->throughput.measures || full))
        return;
    group->throughput.measures = router->waiting.used = 1;
    lbr_throughput_ended(&group->throughput, duration);
}

/* A request of a target that was |full|, or in a router where somebody has
 * been, ended: those who wait are told. */
static void note_end(struct lbroute_router *router,
                     const struct lbr_target *target, int full,
                     uint64_t duration)
{
    if (duration != LBR_NEVER) {
        note_duration(router, target->by_pool.group, full, duration);
        note_duration(router, target->by_model.group, full, duration);
    }
    lbr_target_wake(target);
}

struct lbr_target *lbr_router_close_ticket(struct lbroute_router *router,
                                           struct lbr_ticket *ticket,
                                           int expires, lbr_health_mark *mark)
{
    struct lbr_target *target = lbr_router_target(router, ticket->target);
    uint64_t adapter = ticket->adapter;
    uint64_t picked_at = ticket->picked_at;
    int full;

    *mark = ticket->slot.spare;
    if (target && ticket->task.state == LBR_TASK_WAITING)
        lbr_task_finish(target, &ticket->task);
    lbr_tickets_close(&router->tickets, ticket);
    if (!target) {
        router->orphans--;
        return NULL;
    }
    full = lbr_target_full_at(target, router->clock);
    if (full)
        target->full_at = router->clock;
    target->in_flight--;
    if (adapter)
        lbr_adapters_ended(&target->adapters, adapter);
    (void)lbr_health_ended(&target->health, *mark);
    lbr_target_moved(target, -1);
    if (full || router->waiting.used)
        note_end(router, target, full,
                 expires ? LBR_NEVER
                         : lbr_time_since(router->clock, picked_at));
    return target;
}

/* What an event says of the time since the pick, ns; 0: nothing. */
static double latency_of(const struct lbroute_router *router,
                         const struct lbr_ticket *ticket, int64_t latency_ns)
{
    if (latency_ns == -1)
        return (double)lbr_time_since(router->clock, ticket->picked_at);
    return latency_ns > 0 ? (double)latency_ns : 0;
}

void lbr_router_first_token(struct lbroute_router *router,
                            struct lbr_ticket *ticket, int64_t latency_ns)
{
    struct lbr_target *target = lbr_router_target(router, ticket->target);

    if (!target || ticket->task.state != LBR_TASK_WAITING)
        return;
    ticket->task.first_token = latency_of(router, ticket, latency_ns);
    lbr_task_finish(target, &ticket->task);
}

void lbr_router_learn_latency(struct lbroute_router *router,
                              const struct lbr_ticket *ticket,
                              const lbroute_event *success)
{
    struct lbr_target *target = lbr_router_target(router, ticket->target);

    if (target)
        lbr_latency_learn(target, &ticket->task,
                          latency_of(router, ticket, success->latency_ns),
                          success->input_tokens, success->cached_tokens,
                          success->output_tokens, router->clock);
}

static void expire(struct lbroute_router *router, struct lbr_ticket *ticket)
{
    lbr_health_mark mark;
    struct lbr_target *target =
        lbr_router_close_ticket(router, ticket, 1, &mark);

    router->expired++;
    if (target)
        target->expired++;
}

/* Tickets to come expire after all there are, or a whole life from now. */
static void set_alarm(struct lbroute_router *router)
{
    uint64_t alarm = lbr_time_add(router->clock, router->tickets.ttl);

    if (lbr_tickets_deadline(&router->tickets) < alarm)
        alarm = lbr_tickets_deadline(&router->tickets);
    if (lbr_waiting_deadline(&router->waiting) < alarm)
        alarm = lbr_waiting_deadline(&router->waiting);
    if (router->sharing.peers.until < alarm)
        alarm = router->sharing.peers.until;
    router->alarm = alarm;
}

void lbr_router_expire(struct lbroute_router *router)
{
    struct lbr_ticket *ticket;

    while ((ticket = lbr_tickets_expired(&router->tickets, NULL,
                                         router->clock)) != NULL)
        expire(router, ticket);
    lbr_waiting_expire(&router->waiting, router->clock);
    lbr_peers_expire(router);
    set_alarm(router);
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
