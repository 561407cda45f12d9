/* SPDX-License-Identifier: MIT */
#include "policy/queueing.h"

#include "base/hash.h"
#include "policy/filter.h"
#include "policy/request.h"

#include <math.h>

/* ---- who waits for what ---- */

/* By pool; or, where the targets are in several, as the first of them whose
 * pool has a queue. */
static const struct lbr_params *params_of(const struct lbr_pick *pick)
{
    uint32_t i;

    if (pick->scope.pool)
        return &pick->scope.pool->params;
    for (i = 0; i < pick->group->count; i++)
        if (pick->group->members[i]->pool->params.queue.on)
            return &pick->group->members[i]->pool->params;
    return &pick->router->loose.params;
}

int lbr_queueing_is_on(const struct lbr_pick *pick)
{
    return params_of(pick)->queue.on;
}

static uint32_t bound(uint64_t tokens)
{
    return (uint32_t)(tokens < LBR_MOST_TOKENS ? tokens : LBR_MOST_TOKENS);
}

static void note_cost(const struct lbr_pick *pick, struct lbr_outlook *outlook)
{
    const struct lbr_params *params = outlook->params;
    const struct lbr_ask *ask = pick->ask;

    outlook->input =
        bound(ask->input_tokens != LBR_TOKENS_UNKNOWN ? ask->input_tokens
                                                      : params->input_tokens);
    outlook->output = bound(ask->request->output_tokens >= 0
                                ? (uint64_t)ask->request->output_tokens
                                : params->output_tokens);
    outlook->turn.cost = outlook->input * params->queue.input_cost +
                         outlook->output * params->queue.output_cost;
}

static unsigned band_of(const lbroute_request *request)
{
    return (unsigned)(request->priority - LBROUTE_PRIORITY_MIN);
}

/* Requests of one kind suit the same targets. Models that nobody serves are one
 * kind, since clients may make up as many as they like. */
static uint64_t kind_of(const struct lbr_pick *pick)
{
    const struct lbr_model *model = pick->scope.model;

    return model ? model->slot.handle : (uint64_t)pick->scope.model_asked;
}

/* Requests without a client are one client; in a queue that is not fair, all
 * are. */
static void note_client(const struct lbr_pick *pick,
                        struct lbr_outlook *outlook)
{
    const lbroute_request *request = pick->ask->request;
    uint64_t digest = 0;

    if (outlook->params->queue.fair && request->client_len)
        digest = lbr_client_digest(pick->router, request->client,
                                   request->client_len);
    outlook->turn.client = lbr_hash_pair(digest, pick->group->room_key);
    outlook->turn.kind = kind_of(pick);
    outlook->turn.band = band_of(request);
}

/* ---- what the targets look like ---- */

struct slots {
    uint64_t limit;   /* sum, of targets that are not draining */
    int unlimited;    /* somebody has none */
    int full;         /* somebody will have a slot when a request ends */
    uint64_t reopens; /* when the first of those opens that said to be full */
};

static void survey(const struct lbr_pick *pick, struct slots *slots)
{
    uint32_t i;

    memset(slots, 0, sizeof *slots);
    slots->reopens = LBR_NEVER;
    for (i = 0; i < pick->group->count; i++) {
        const struct lbr_target *target = pick->group->members[i];
        uint32_t limit = lbr_target_limit(target);

        if (lbr_target_drained(target))
            continue;
        slots->limit += limit;
        slots->unlimited |= !limit;
        if (lbr_filter_verdict(pick, target) != LBROUTE_REASON_SATURATED)
            continue;
        if (!lbr_target_closed(target, pick->now))
            slots->full = 1;
        else if (target->closed_until < slots->reopens)
            slots->reopens = target->closed_until;
    }
}

/* Time until |ahead| others and then the request have got slots, ns; NaN:
 * unknown. */
static double expect(const struct lbr_pick *pick, const struct slots *slots,
                     int free, uint32_t ahead)
{
    double gap = lbr_throughput_gap(&pick->group->throughput,
                                    lbr_group_in_flight(pick->group));
    double first = gap;

    if (free)
        first = 0;
    else if (!slots->full && slots->reopens != LBR_NEVER)
        first = (double)(slots->reopens - pick->now);
    return ahead ? first + ahead * gap : first;
}

static int64_t whole(double ns)
{
    if (isnan(ns))
        return -1;
    return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

/* ---- whether it may wait ---- */

static uint32_t count_waiting(const struct lbr_pick *pick)
{
    const struct lbr_room *room = pick->group->room;

    if (!room)
        return 0;
    if (pick->now == pick->router->clock)
        return room->count;
    return room->count - lbr_room_expiring(room, pick->now);
}

static int is_full(const struct lbr_pick *pick, const struct slots *slots,
                   const struct lbr_queue_rules *rules)
{
    const struct lbr_waiting *waiting = &pick->router->waiting;

    if (waiting->places.live >= waiting->places.limit)
        return 1;
    if (rules->unbounded || (slots->unlimited && rules->depth > 0))
        return 0;
    return count_waiting(pick) >= rules->depth * (double)slots->limit;
}

static int misses_deadline(const struct lbr_pick *pick, int64_t wait)
{
    uint64_t deadline = pick->ask->request->deadline;

    if (!deadline)
        return 0;
    return deadline <= pick->now ||
           (wait >= 0 && lbr_time_add(pick->now, (uint64_t)wait) > deadline);
}

static int reason_against(const struct lbr_pick *pick,
                          const struct slots *slots,
                          const struct lbr_outlook *outlook)
{
    if (misses_deadline(pick, outlook->wait))
        return LBROUTE_REASON_DEADLINE;
    if (is_full(pick, slots, &outlook->params->queue))
        return LBROUTE_REASON_QUEUE_FULL;
    return LBROUTE_REASON_NONE;
}

void lbr_queueing_foresee(const struct lbr_pick *pick, int free,
                          struct lbr_outlook *outlook)
{
    struct slots slots;

    memset(outlook, 0, sizeof *outlook);
    outlook->params = params_of(pick);
    outlook->result = LBROUTE_ERR_SATURATED;
    survey(pick, &slots);
    if (outlook->params->queue.on) {
        note_client(pick, outlook);
        note_cost(pick, outlook);
        if (pick->group->room)
            outlook->ahead =
                lbr_fair_ahead(&pick->group->room->queue, outlook->turn.client,
                               outlook->turn.band);
    }
    outlook->wait = whole(expect(pick, &slots, free, outlook->ahead));
    if (!outlook->params->queue.on)
        return;
    outlook->reason = reason_against(pick, &slots, outlook);
    if (!outlook->reason)
        outlook->result = LBROUTE_ERR_QUEUED;
}

void lbr_queueing_describe(const struct lbr_outlook *outlook,
                           lbroute_decision *decision)
{
    decision->wait_ns = outlook->wait;
    decision->queue_ahead = outlook->ahead;
    if (outlook->reason || outlook->result == LBROUTE_ERR_QUEUED)
        decision->reason = outlook->reason;
}

/* ---- waiting ---- */

/* What a room remembers of the pool's parameters. */
static void note_rules(struct lbr_room *room,
                       const struct lbr_queue_rules *rules)
{
    room->aging = rules->aging;
    room->input_cost = rules->input_cost;
    room->output_cost = rules->output_cost;
}

int lbr_queueing_enter(const struct lbr_pick *pick, struct lbr_ask *ask,
                       const struct lbr_outlook *outlook,
                       struct lbr_waiter **waiter)
{
    struct lbr_waiting *waiting = &pick->router->waiting;
    const lbroute_request *request = ask->request;
    uint64_t until = lbr_time_add(pick->now, outlook->params->queue.timeout);
    struct lbr_room *room = lbr_room_of(waiting, pick->group);
    int result;

    if (!room)
        return LBROUTE_ERR_NO_MEMORY;
    result = lbr_waiter_create(waiting, waiter);
    if (result)
        return result;
    note_rules(room, &outlook->params->queue);
    (*waiter)->misses_deadline =
        request->deadline && request->deadline <= until;
    if ((*waiter)->misses_deadline)
        until = request->deadline;
    (*waiter)->pool = 0;
    if (pick->scope.pool)
        (*waiter)->pool = pick->scope.pool->slot.handle;
    (*waiter)->tag = request->tag;
    (*waiter)->input = outlook->input;
    (*waiter)->output = outlook->output;
    (*waiter)->copy = ask->copy;
    ask->copy = NULL;
    lbr_waiter_enter(*waiter, room, &outlook->turn, pick->now, until);
    return LBROUTE_OK;
}

/* ---- copies ---- */

static int64_t known_tokens(const struct lbr_ask *ask)
{
    if (ask->input_tokens > (uint64_t)INT64_MAX)
        return -1;
    return (int64_t)ask->input_tokens;
}

void lbr_queueing_copy(struct lbroute_router *router, struct lbr_ask *ask)
{
    size_t bytes = lbr_request_copy_size(ask->request, 1);
    int with_prompt = 1;

    lbr_router_enter(router);
    ask->copy_failed = LBROUTE_ERR_LIMIT;
    if (bytes)
        ask->copy_failed =
            lbr_waiting_take_copy(&router->waiting, bytes, &ask->copy);
    if (ask->copy_failed == LBROUTE_ERR_LIMIT) {
        with_prompt = 0;
        bytes = lbr_request_copy_size(ask->request, 0);
        if (bytes)
            ask->copy_failed =
                lbr_waiting_take_copy(&router->waiting, bytes, &ask->copy);
    }
    (void)lbr_router_leave(router, 0);
    if (!ask->copy_failed)
        lbr_request_copy_fill(ask->copy, ask->request, with_prompt,
                              known_tokens(ask));
}

void lbr_queueing_release(struct lbroute_router *router, struct lbr_ask *ask)
{
    if (!ask->copy)
        return;
    lbr_router_enter(router);
    lbr_waiting_free_copy(&router->waiting, ask->copy);
    (void)lbr_router_leave(router, 0);
    ask->copy = NULL;
}

/* ---- what it did cost ---- */

/* Tokens that were used beyond those paid; |refund|: none, unless told. */
static double beyond(int64_t used, uint32_t paid, int refund)
{
    if (used >= 0)
        return (double)bound((uint64_t)used) - paid;
    return refund ? -(double)paid : 0;
}

void lbr_queueing_settle(struct lbroute_router *router,
                         const struct lbr_ticket *ticket,
                         const lbroute_event *event)
{
    struct lbr_fair_table *fair = &router->waiting.fair;
    const struct lbr_fair_client *client =
        lbr_slab_find(&fair->clients, ticket->client);
    int refund = event->kind == LBROUTE_EVENT_FAILURE ||
                 event->kind == LBROUTE_EVENT_OVERLOAD ||
                 event->kind == LBROUTE_EVENT_CLIENT_ERROR;
    const struct lbr_room *room;

    if (!client)
        return;
    room = LBR_OWNER(client->queue, const struct lbr_room, queue);
    lbr_fair_correct(
        fair, ticket->client,
        room->input_cost * beyond(event->input_tokens, ticket->input, refund) +
            room->output_cost *
                beyond(event->output_tokens, ticket->output, refund));
}
