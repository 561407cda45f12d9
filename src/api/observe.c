/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "policy/queueing.h"

static void set_defaults(lbroute_event *event)
{
    memset(event, 0, sizeof *event);
    event->latency_ns = -1;
    event->input_tokens = event->cached_tokens = event->output_tokens = -1;
    event->retry_after_ns = -1;
}

void lbroute_event_init(lbroute_event *event, size_t size)
{
    lbroute_event defaults;

    set_defaults(&defaults);
    lbr_abi_init(event, size, &defaults, sizeof defaults);
}

/* What a success teaches besides health; 0: nothing. */
struct lesson {
    uint64_t pin_key, adapter;
};

/* Other routers are told where a session is. */
static void tell(struct lbroute_router *router, const struct lbr_target *target,
                 uint64_t pin_key)
{
    struct lbr_news_item item = {0};

    if (!router->sharing.news.bytes)
        return;
    item.kind = LBR_NEWS_SESSION;
    item.target = target->slot.handle;
    item.key = pin_key;
    item.at = router->clock;
    lbr_news_add(&router->sharing.news, &item, NULL, 0);
}

static void learn_success(struct lbroute_router *router,
                          struct lbr_target *target, lbr_health_mark mark,
                          const struct lesson *lesson)
{
    if (lbr_health_success(&target->health, mark)) {
        target->benched_at = target->ramp_since = router->clock;
        lbr_target_changed(target);
    }
    if (lesson->pin_key) {
        lbr_sessions_learn(&router->sessions, lesson->pin_key,
                           target->slot.handle, &target->sessions,
                           router->clock);
        tell(router, target, lesson->pin_key);
    }
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

static void learn_overload(struct lbroute_router *router,
                           struct lbr_target *target, int64_t retry_after)
{
    uint64_t most = target->pool->params.admission.retry_max;
    uint64_t until;

    /* The refused request counts among those that filled it. */
    lbr_signals_overload(&target->signals, target->in_flight + 1,
                         router->clock);
    if (retry_after > 0) {
        until = lbr_time_add(router->clock, (uint64_t)retry_after < most
                                                ? (uint64_t)retry_after
                                                : most);
        if (target->closed_until < until)
            target->closed_until = until;
        target->ceiling = 0;
    }
    lbr_target_changed(target);
}

/* What an outcome teaches about its target. */
static void learn(struct lbroute_router *router, struct lbr_target *target,
                  const lbroute_event *event, lbr_health_mark mark,
                  const struct lesson *lesson)
{
    switch (event->kind) {
    case LBROUTE_EVENT_SUCCESS:
        learn_success(router, target, mark, lesson);
        break;
    case LBROUTE_EVENT_FAILURE:
    case LBROUTE_EVENT_TIMEOUT:
        learn_failure(router, target, mark);
        break;
    case LBROUTE_EVENT_OVERLOAD:
        learn_overload(router, target, event->retry_after_ns);
        break;
    default:
        break;
    }
}

static int known_kind(int kind)
{
    return kind >= LBROUTE_EVENT_FIRST_TOKEN && kind < LBROUTE_EVENT_COUNT;
}

/* Whether anything was measured or reported: not all is -1. */
static int has_numbers(const lbroute_event *event)
{
    return (event->latency_ns & event->input_tokens & event->cached_tokens &
            event->output_tokens & event->retry_after_ns) != -1;
}

static void count_tokens(uint64_t *sum, int64_t tokens)
{
    if (tokens > 0)
        *sum += (uint64_t)tokens < LBR_MOST_TOKENS ? (uint64_t)tokens
                                                   : LBR_MOST_TOKENS;
}

/* Counts the usage that a success reported of |target| (NULL: removed). Returns
 * 0 or an error code. */
static int read_numbers(struct lbr_target *target, const lbroute_event *event)
{
    if (target && event->kind == LBROUTE_EVENT_SUCCESS) {
        count_tokens(&target->latency.input_tokens, event->input_tokens);
        count_tokens(&target->latency.cached_tokens, event->cached_tokens);
        count_tokens(&target->latency.output_tokens, event->output_tokens);
    }
    if (event->latency_ns < -1 || event->input_tokens < -1 ||
        event->cached_tokens < -1 || event->output_tokens < -1 ||
        event->retry_after_ns < -1)
        return LBROUTE_ERR_RANGE;
    return LBROUTE_OK;
}

static struct lbr_target *close_ticket(struct lbroute_router *router,
                                       const lbroute_event *event,
                                       struct lbr_ticket *ticket, int counted)
{
    struct lbr_target *target;
    lbr_health_mark mark;
    struct lesson lesson;

    lesson.pin_key = ticket->pin_key;
    lesson.adapter = ticket->adapter;
    if (ticket->task.state != LBR_TASK_UNTOLD &&
        event->kind == LBROUTE_EVENT_SUCCESS)
        lbr_router_learn_latency(router, ticket, event);
    if (ticket->client)
        lbr_queueing_settle(router, ticket, event);
    target = lbr_router_close_ticket(router, ticket, 0, &mark);
    router->settled[counted]++;
    if (target) {
        target->settled[counted]++;
        learn(router, target, event, mark, &lesson);
    }
    return target;
}

static int settle(struct lbroute_router *router, const lbroute_event *event)
{
    int known = known_kind(event->kind);
    struct lbr_target *target = NULL;
    struct lbr_ticket *ticket =
        lbr_tickets_find(&router->tickets, event->ticket);

    if (!ticket)
        return known ? LBROUTE_ERR_NOT_FOUND : LBROUTE_ERR_INVALID;
    if (event->kind == LBROUTE_EVENT_FIRST_TOKEN)
        lbr_router_first_token(router, ticket, event->latency_ns);
    else
        target = close_ticket(router, event, ticket, known ? event->kind : 0);
    if (!known)
        return LBROUTE_ERR_INVALID;
    return has_numbers(event) ? read_numbers(target, event) : LBROUTE_OK;
}

int lbroute_observe(lbroute_router *router, const lbroute_event *event,
                    uint64_t now)
{
    lbroute_event copy;
    int result;

    if (!router)
        return LBROUTE_ERR_INVALID;
    /* The usual caller was compiled with this very struct. */
    if (!event || lbr_abi_size(event) != sizeof copy) {
        set_defaults(&copy);
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
    uint64_t waiting;

    if (!router)
        return UINT64_MAX;
    lbr_router_enter(router);
    deadline = lbr_tickets_deadline(&router->tickets);
    waiting = lbr_waiting_deadline(&router->waiting);
    if (!lbr_list_empty(&router->waiting.awake) ||
        !lbr_list_empty(&router->waiting.ended))
        waiting = router->clock;
    if (waiting < deadline)
        deadline = waiting;
    (void)lbr_router_leave(router, LBROUTE_OK);
    return deadline;
}
