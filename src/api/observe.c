/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "state/router.h"

void lbroute_event_init(lbroute_event *event, size_t size)
{
    lbroute_event defaults = {0};

    lbr_abi_init(event, size, &defaults, sizeof defaults);
}

/* What a success teaches besides health; 0: nothing. */
struct lesson {
    uint64_t pin_key, adapter, picked_at;
};

/* How long the target took, for a ticket that ended well. */
static void learn_latency(const struct lbroute_router *router,
                          struct lbr_target *target, uint64_t picked_at)
{
    lbr_ewma_add(&target->latency,
                 (double)lbr_time_since(router->clock, picked_at),
                 LBR_LATENCY_ALPHA, router->clock);
}

static void learn_success(struct lbroute_router *router,
                          struct lbr_target *target, lbr_health_mark mark,
                          const struct lesson *lesson)
{
    if (lbr_health_success(&target->health, mark)) {
        target->benched_at = target->ramp_since = router->clock;
        lbr_target_changed(target);
    }
    if (lesson->pin_key)
        lbr_sessions_learn(&router->sessions, lesson->pin_key,
                           target->slot.handle, &target->sessions,
                           router->clock);
    if (lesson->adapter)
        lbr_adapters_see(&target->adapters, lesson->adapter, router->clock);
}

static void learn_failure(struct lbroute_router *router,
                          struct lbr_target *target, lbr_health_mark mark)
{
    if (!lbr_health_failure(&target->health, mark, router->clock,
                            &target->pool->params.health))
        return;
    target->benched_at = router->clock;
    lbr_target_changed(target);
}

/* What an outcome teaches about its target. */
static void learn(struct lbroute_router *router, struct lbr_target *target,
                  int kind, lbr_health_mark mark, const struct lesson *lesson)
{
    switch (kind) {
    case LBROUTE_EVENT_SUCCESS:
        learn_success(router, target, mark, lesson);
        learn_latency(router, target, lesson->picked_at);
        break;
    case LBROUTE_EVENT_FAILURE:
    case LBROUTE_EVENT_TIMEOUT:
        learn_failure(router, target, mark);
        break;
    case LBROUTE_EVENT_OVERLOAD:
        /* The refused request counts among those that filled it. */
        lbr_signals_overload(&target->signals, target->in_flight + 1,
                             router->clock);
        lbr_target_changed(target);
        break;
    default:
        break;
    }
}

static int known_kind(int kind)
{
    return kind >= LBROUTE_EVENT_FIRST_TOKEN && kind < LBROUTE_EVENT_COUNT;
}

static int settle(struct lbroute_router *router, const lbroute_event *event)
{
    int known = known_kind(event->kind);
    int counted = known ? event->kind : 0;
    struct lbr_ticket *ticket =
        lbr_tickets_find(&router->tickets, event->ticket);
    struct lbr_target *target;
    lbr_health_mark mark;
    struct lesson lesson;

    if (!ticket)
        return known ? LBROUTE_ERR_NOT_FOUND : LBROUTE_ERR_INVALID;
    if (event->kind == LBROUTE_EVENT_FIRST_TOKEN)
        return LBROUTE_OK;
    lesson.pin_key = ticket->pin_key;
    lesson.adapter = ticket->adapter;
    lesson.picked_at = ticket->picked_at;
    target = lbr_router_close_ticket(router, ticket, &mark);
    router->settled[counted]++;
    if (target) {
        target->settled[counted]++;
        learn(router, target, event->kind, mark, &lesson);
    }
    return known ? LBROUTE_OK : LBROUTE_ERR_INVALID;
}

int lbroute_observe(lbroute_router *router, const lbroute_event *event,
                    uint64_t now)
{
    lbroute_event copy = {0};
    int result;

    if (!router)
        return LBROUTE_ERR_INVALID;
    /* The usual caller was compiled with this very struct. */
    if (!event || lbr_abi_size(event) != sizeof copy) {
        result = lbr_abi_read(&copy, sizeof copy, event);
        if (result)
            return result;
        event = &copy;
    }
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    result = settle(router, event);
    return lbr_router_leave(router, result);
}

int lbroute_tick(lbroute_router *router, uint64_t now)
{
    if (!router)
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    return lbr_router_leave(router, LBROUTE_OK);
}

uint64_t lbroute_next_deadline(lbroute_router *router)
{
    uint64_t deadline;

    if (!router)
        return UINT64_MAX;
    lbr_router_enter(router);
    deadline = lbr_tickets_deadline(&router->tickets);
    (void)lbr_router_leave(router, LBROUTE_OK);
    return deadline;
}
