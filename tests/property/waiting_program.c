/* SPDX-License-Identifier: MIT */
#include "waiting_program.h"

#include <lbroute/lbroute.h>

#include <stdio.h>
#include <string.h>

#include "api.h"
#include "check.h"
#include "waiting_model.h"

enum {
    TARGETS = 5,
    TICKETS = 256,
    MOST_OPERATIONS = 400,
    MOST_PLACES = 40,
    TTL = 40 /* s */
};

struct target {
    lbroute_target handle; /* 0: not there */
    uint32_t limit, in_flight;
    int drained;
    uint64_t closed_until;
    size_t number; /* of its kind, for a fresh name */
};

struct ticket {
    lbroute_ticket handle;
    size_t target;
    uint64_t target_number;
    uint64_t picked_at;
    int charged;
    size_t client;
    uint64_t client_number;
    double input, output;
};

struct program {
    const uint8_t *next, *end;
    lbroute_router *router;
    lbroute_pool pool;
    uint64_t now;
    struct target targets[TARGETS];
    struct ticket tickets[TICKETS];
    size_t ticket_count;
    struct room room;
    uint64_t tags;
    int settled; /* nobody can go, and nothing has changed since */
    /* Parameters. */
    int mode, enabled, fair;
    uint32_t depth, fast_limit;
    uint64_t timeout;
    uint64_t queued, served, timeouts, cancelled, refused;
};

static uint8_t take(struct program *program)
{
    return program->next < program->end ? *program->next++ : 0;
}

/* ---- what the model knows of targets ---- */

static lbroute_pool_stats pool_stats(const struct program *program)
{
    lbroute_pool_stats stats;

    lbroute_pool_stats_init(&stats, sizeof stats);
    CHECK_I(lbroute_get_pool_stats(program->router, program->pool, &stats), 0);
    return stats;
}

static uint32_t limit_of(const struct program *program, size_t i)
{
    uint32_t limit = program->targets[i].limit;
    uint32_t cap = 0;

    if (program->mode == LBROUTE_ADMISSION_SUPERFAST ||
        (program->mode == LBROUTE_ADMISSION_HYBRID &&
         !pool_stats(program).busy))
        cap = program->fast_limit;
    if (cap && (!limit || limit > cap))
        return cap;
    return limit;
}

static int is_full(const struct program *program, size_t i)
{
    uint32_t limit = limit_of(program, i);

    return program->now < program->targets[i].closed_until ||
           (limit && program->targets[i].in_flight >= limit);
}

static int is_suitable(const struct program *program, size_t i,
                       uint32_t excluded)
{
    return program->targets[i].handle && !program->targets[i].drained &&
           !(excluded >> i & 1);
}

static int has_slot(const struct program *program, uint32_t excluded)
{
    for (size_t i = 0; i < TARGETS; i++)
        if (is_suitable(program, i, excluded) && !is_full(program, i))
            return 1;
    return 0;
}

static int has_hope(const struct program *program, uint32_t excluded)
{
    for (size_t i = 0; i < TARGETS; i++)
        if (is_suitable(program, i, excluded))
            return 1;
    return 0;
}

/* Somebody who can go, or be told that it never will. */
static int suits(const struct room_waiter *waiter, void *user)
{
    const struct program *program = user;

    return has_slot(program, waiter->excluded) ||
           !has_hope(program, waiter->excluded);
}

static int can_go(const struct room_waiter *waiter, void *user)
{
    return has_slot(user, waiter->excluded);
}

static size_t index_of(const struct program *program, lbroute_target handle)
{
    size_t i = 0;

    while (i < TARGETS && program->targets[i].handle != handle)
        i++;
    CHECK(i < TARGETS);
    return i;
}

static int any_target(const struct program *program)
{
    for (size_t i = 0; i < TARGETS; i++)
        if (program->targets[i].handle)
            return 1;
    return 0;
}

/* A room that nobody needs is gone, and with it what clients have had. */
static void forget_room(struct program *program)
{
    if (!any_target(program) && !room_waiting(&program->room))
        room_reset(&program->room);
}

/* ---- time ---- */

static void end_ticket(struct program *program, size_t i)
{
    struct ticket *ticket = &program->tickets[i];
    struct target *target = &program->targets[ticket->target];

    if (target->handle && target->number == ticket->target_number) {
        CHECK(target->in_flight > 0);
        target->in_flight--;
    }
    *ticket = program->tickets[--program->ticket_count];
    program->settled = 0;
}

static void let_time_pass(struct program *program)
{
    size_t i = 0;

    while (i < program->ticket_count)
        if (program->tickets[i].picked_at + TTL * SECOND <= program->now)
            end_ticket(program, i);
        else
            i++;
    i = room_waiting(&program->room);
    room_expire(&program->room, program->now);
    program->timeouts += i - room_waiting(&program->room);
    forget_room(program);
}

/* ---- requests ---- */

static void fill_request(struct program *program, lbroute_request *request,
                         struct room_waiter *waiter,
                         lbroute_target excluded[TARGETS])
{
    static const char *const clients[] = {NULL, "a", "b", "c", "d"};
    static const char *const models[] = {NULL, "m", "n"}; /* nobody's */
    uint8_t who = take(program);
    uint8_t what = take(program);
    uint8_t more = take(program);

    api_request(request, program->pool);
    memset(waiter, 0, sizeof *waiter);
    waiter->tag = request->tag = ++program->tags;
    waiter->client = who % 5;
    request->client = clients[who % 5];
    request->client_len = who % 5 > 0;
    if (!program->fair)
        waiter->client = 0;
    request->model = models[who / 5 % 8 < 3 ? who / 5 % 8 : 0];
    request->model_len = request->model != NULL;
    waiter->model = request->model_len;
    if (who > 180)
        waiter->priority = request->priority = (int32_t)(who % 16) - 8;
    request->input_tokens = what % 16 * 100;
    request->output_tokens = what / 16 * 50;
    waiter->input = (double)request->input_tokens;
    waiter->output = (double)request->output_tokens;
    if (more & 1)
        request->deadline = program->now + more / 8 * SECOND;
    if (more & 2)
        waiter->excluded = more / 4 % 32;
    request->exclude = excluded;
    for (size_t i = 0; i < TARGETS; i++)
        if (!program->targets[i].handle)
            waiter->excluded &= ~(UINT32_C(1) << i);
        else if (waiter->excluded >> i & 1)
            excluded[request->exclude_len++] = program->targets[i].handle;
}

/* Notes a slot taken on the decision's target. */
static struct ticket *note_ticket(struct program *program,
                                  const lbroute_decision *decision,
                                  uint32_t excluded)
{
    struct ticket *ticket = &program->tickets[program->ticket_count++];
    size_t i = index_of(program, decision->target);
    struct target *target = &program->targets[i];

    CHECK(is_suitable(program, i, excluded));
    CHECK(!is_full(program, i));
    target->in_flight++;
    CHECK_U(decision->in_flight, target->in_flight);
    CHECK_U(decision->max_concurrency, limit_of(program, i));
    memset(ticket, 0, sizeof *ticket);
    ticket->handle = decision->ticket;
    ticket->target = i;
    ticket->target_number = target->number;
    ticket->picked_at = program->now;
    return ticket;
}

static int queue_is_full(const struct program *program)
{
    uint64_t sum = 0;
    int unlimited = 0;

    if (program->room.count >= MOST_PLACES)
        return 1;
    for (size_t i = 0; i < TARGETS; i++)
        if (is_suitable(program, i, 0)) {
            sum += limit_of(program, i);
            unlimited |= !limit_of(program, i);
        }
    if (program->mode == LBROUTE_ADMISSION_QUEUE_ALL ||
        (unlimited && program->depth))
        return 0;
    return room_waiting(&program->room) >= program->depth * sum;
}

static int misses_deadline(const struct program *program,
                           const lbroute_request *request, int64_t wait)
{
    if (!request->deadline)
        return 0;
    return request->deadline <= program->now ||
           (wait >= 0 && program->now + (uint64_t)wait > request->deadline);
}

static void check_turned_away(struct program *program,
                              const lbroute_request *request,
                              const lbroute_decision *decision)
{
    if (!program->enabled && program->mode != LBROUTE_ADMISSION_QUEUE_ALL)
        CHECK(decision->reason != LBROUTE_REASON_QUEUE_FULL &&
              decision->reason != LBROUTE_REASON_DEADLINE);
    else if (misses_deadline(program, request, decision->wait_ns))
        CHECK_I(decision->reason, LBROUTE_REASON_DEADLINE);
    else
        CHECK_I(decision->reason, LBROUTE_REASON_QUEUE_FULL);
}

static void enter(struct program *program, const lbroute_request *request,
                  const lbroute_decision *decision, struct room_waiter *waiter)
{
    struct room *room = &program->room;

    CHECK(program->enabled || program->mode == LBROUTE_ADMISSION_QUEUE_ALL);
    CHECK(!misses_deadline(program, request, decision->wait_ns));
    CHECK(!queue_is_full(program));
    CHECK(decision->place != 0);
    for (size_t i = 0; i < room->count; i++)
        CHECK(room->waiters[i].place != decision->place);
    waiter->place = decision->place;
    waiter->cost =
        waiter->input * room->input_cost + waiter->output * room->output_cost;
    waiter->arrived = program->now;
    waiter->expiry = program->now + program->timeout;
    waiter->by_deadline =
        request->deadline && request->deadline <= waiter->expiry;
    if (waiter->by_deadline)
        waiter->expiry = request->deadline;
    room_enter(room, waiter);
    program->queued++;
}

static void run_pick(struct program *program)
{
    lbroute_target excluded[TARGETS];
    lbroute_request request;
    lbroute_decision decision;
    struct room_waiter waiter;
    uint64_t changes;
    int result;

    if (program->ticket_count == TICKETS)
        return;
    fill_request(program, &request, &waiter, excluded);
    changes = pool_stats(program).mode_changes;
    lbroute_decision_init(&decision, sizeof decision);
    result = lbroute_pick(program->router, &request, program->now, &decision);
    CHECK_U(decision.tag, waiter.tag);
    if (pool_stats(program).mode_changes != changes)
        program->settled = 0;
    switch (result) {
    case LBROUTE_OK:
        /* Nobody is overtaken who could go. */
        CHECK(!(program->enabled ||
                program->mode == LBROUTE_ADMISSION_QUEUE_ALL) ||
              !room_first(&program->room, program->now, can_go, program));
        (void)note_ticket(program, &decision, waiter.excluded);
        break;
    case LBROUTE_ERR_QUEUED:
        CHECK(!has_slot(program, waiter.excluded) ||
              (!program->settled && room_waiting(&program->room)));
        CHECK(has_hope(program, waiter.excluded));
        enter(program, &request, &decision, &waiter);
        break;
    case LBROUTE_ERR_SATURATED:
        CHECK(!has_slot(program, waiter.excluded) || !program->settled);
        check_turned_away(program, &request, &decision);
        break;
    default:
        CHECK_I(result, LBROUTE_ERR_NO_TARGET);
        CHECK(!has_hope(program, waiter.excluded));
    }
}

/* ---- the next to go ---- */

static void served(struct program *program, const lbroute_decision *decision)
{
    struct room *room = &program->room;
    struct room_waiter *first = room_first(room, program->now, suits, program);
    struct room_waiter *waiter = room_tagged(room, decision->tag);
    struct ticket *ticket;

    CHECK(first && waiter);
    CHECK_U(waiter->tag, first->tag);
    CHECK_U(decision->place, waiter->place);
    CHECK_I(decision->wait_ns, program->now - waiter->arrived);
    ticket = note_ticket(program, decision, waiter->excluded);
    ticket->charged = 1;
    ticket->client = waiter->client;
    ticket->client_number = room->clients[waiter->client].number;
    ticket->input = waiter->input;
    ticket->output = waiter->output;
    room_serve(room, waiter);
    program->served++;
}

static void given_up(struct program *program, int result,
                     const lbroute_decision *decision)
{
    struct room *room = &program->room;
    struct room_waiter *waiter = room_tagged(room, decision->tag);

    CHECK(waiter != NULL);
    CHECK_U(decision->place, waiter->place);
    CHECK_U(decision->ticket, 0);
    if (result == LBROUTE_ERR_SATURATED) {
        CHECK(waiter->state == ROOM_OVER);
        CHECK_I(decision->reason, waiter->by_deadline
                                      ? LBROUTE_REASON_DEADLINE
                                      : LBROUTE_REASON_QUEUE_TIMEOUT);
    } else {
        CHECK_U(room_first(room, program->now, suits, program)->tag,
                waiter->tag);
        CHECK(!has_hope(program, waiter->excluded));
        program->refused++;
    }
    room_drop(room, waiter);
    forget_room(program);
}

static int run_next(struct program *program)
{
    lbroute_decision decision;
    int result;

    if (program->ticket_count == TICKETS)
        return 0;
    lbroute_decision_init(&decision, sizeof decision);
    result = lbroute_next_ready(program->router, program->now, &decision);
    if (result == LBROUTE_ERR_NOT_FOUND) {
        /* Nobody is left waiting who could go, or whose time is over. */
        CHECK_U(room_waiting(&program->room), program->room.count);
        CHECK(!room_first(&program->room, program->now, can_go, program));
        CHECK(has_hope(program, 0) || program->room.count == 0);
        program->settled = 1;
        return 0;
    }
    if (result == LBROUTE_OK) {
        CHECK_U(room_waiting(&program->room), program->room.count);
        served(program, &decision);
    } else {
        CHECK(result == LBROUTE_ERR_SATURATED ||
              result == LBROUTE_ERR_NO_TARGET);
        given_up(program, result, &decision);
    }
    forget_room(program);
    return 1;
}

static void run_cancel(struct program *program)
{
    uint8_t which = take(program);
    struct room *room = &program->room;
    struct room_waiter *waiter;
    lbroute_place place;

    if (!room->count) {
        CHECK_I(lbroute_place_cancel(program->router, which, program->now),
                LBROUTE_ERR_NOT_FOUND);
        return;
    }
    waiter = &room->waiters[which % room->count];
    place = waiter->place;
    CHECK_I(lbroute_place_cancel(program->router, place, program->now), 0);
    CHECK_I(lbroute_place_cancel(program->router, place, program->now),
            LBROUTE_ERR_NOT_FOUND);
    program->cancelled += waiter->state == ROOM_WAITS;
    room_drop(room, waiter);
    forget_room(program);
}

/* ---- ends of requests ---- */

static double beyond(int64_t used, double paid, int refund)
{
    if (used >= 0)
        return (double)used - paid;
    return refund ? -paid : 0;
}

static void correct(struct program *program, const struct ticket *ticket,
                    const lbroute_event *event)
{
    int refund = event->kind == LBROUTE_EVENT_FAILURE ||
                 event->kind == LBROUTE_EVENT_OVERLOAD ||
                 event->kind == LBROUTE_EVENT_CLIENT_ERROR;

    if (ticket->charged)
        room_correct(
            &program->room, ticket->client, ticket->client_number,
            program->room.input_cost *
                    beyond(event->input_tokens, ticket->input, refund) +
                program->room.output_cost *
                    beyond(event->output_tokens, ticket->output, refund));
}

static void run_settle(struct program *program)
{
    uint8_t which = take(program);
    uint8_t how = take(program);
    struct ticket *ticket;
    lbroute_event event;

    if (!program->ticket_count)
        return;
    ticket = &program->tickets[which % program->ticket_count];
    lbroute_event_init(&event, sizeof event);
    event.ticket = ticket->handle;
    event.kind = LBROUTE_EVENT_SUCCESS + how % 6;
    if (how & 64)
        event.input_tokens = how % 32 * 50;
    if (how & 128)
        event.output_tokens = how % 64 * 20;
    if (event.kind == LBROUTE_EVENT_OVERLOAD && how & 32) {
        struct target *target = &program->targets[ticket->target];
        uint64_t until = program->now + which / 32 * SECOND;
        event.retry_after_ns = (int64_t)(which / 32 * SECOND);
        if (target->handle && target->number == ticket->target_number &&
            target->closed_until < until)
            target->closed_until = until;
    }
    CHECK_I(lbroute_observe(program->router, &event, program->now), 0);
    CHECK_I(lbroute_observe(program->router, &event, program->now),
            LBROUTE_ERR_NOT_FOUND);
    correct(program, ticket, &event);
    end_ticket(program, (size_t)(ticket - program->tickets));
}

/* ---- the fleet ---- */

static void run_target(struct program *program)
{
    uint8_t which = take(program);
    uint8_t how = take(program);
    struct target *target = &program->targets[which % TARGETS];
    lbroute_target_options options;
    char name[32];

    program->settled = 0;
    if (!target->handle) {
        snprintf(name, sizeof name, "%u-%zu", which % TARGETS,
                 ++target->number);
        api_target_options(&options, program->pool, name, 1);
        options.max_concurrency = target->limit = how % 8;
        CHECK_I(lbroute_target_add(program->router, &options, program->now,
                                   &target->handle),
                0);
        target->in_flight = 0;
        target->drained = 0;
        target->closed_until = 0;
        return;
    }
    switch (which / TARGETS % 4) {
    case 0:
        CHECK_I(lbroute_target_remove(program->router, target->handle), 0);
        target->handle = 0;
        /* Whoever takes its place is another. */
        for (size_t i = 0; i < program->room.count; i++)
            program->room.waiters[i].excluded &=
                ~(UINT32_C(1) << which % TARGETS);
        forget_room(program);
        break;
    case 1:
        target->drained = how & 1;
        CHECK_I(lbroute_target_drain(program->router, target->handle,
                                     target->drained, program->now),
                0);
        break;
    default:
        api_target_options(&options, program->pool, "", 1);
        options.max_concurrency = target->limit = how % 8;
        CHECK_I(lbroute_target_update(program->router, target->handle, &options,
                                      program->now),
                0);
        break;
    }
}

static void set(struct program *program, const char *name, double value)
{
    CHECK_I(lbroute_pool_set(program->router, program->pool, name, value), 0);
}

static void run_change(struct program *program)
{
    static const char *const strategies[] = {"weighted", "round_robin",
                                             "least_connections",
                                             "power_of_two", "cache_aware"};
    uint8_t what = take(program);
    uint8_t value = take(program);

    program->settled = 0;
    switch (what % 7) {
    case 0:
        program->mode = value % LBROUTE_ADMISSION_COUNT;
        set(program, "admission.mode", program->mode);
        break;
    case 1:
        program->fast_limit = 1 + value % 6U;
        set(program, "admission.fast_limit", program->fast_limit);
        break;
    case 2:
        program->enabled = value % 4 > 0;
        set(program, "queue.enabled", program->enabled);
        break;
    case 3:
        program->depth = value % 6;
        set(program, "queue.depth", program->depth);
        break;
    case 4:
        program->timeout = (1 + value % 16U) * SECOND;
        set(program, "queue.timeout", 1 + value % 16);
        break;
    case 5:
        program->fair = value % 2;
        set(program, "queue.fair", program->fair);
        break;
    default:
        CHECK_I(lbroute_pool_update(program->router, program->pool,
                                    strategies[value % 5],
                                    strlen(strategies[value % 5])),
                0);
    }
}

static void run_time(struct program *program)
{
    uint8_t step = take(program);

    program->now +=
        step < 200 ? step * 10 * MILLISECOND : (step - 200U) * SECOND / 4;
    program->settled = 0;
    if (step & 1)
        CHECK_I(lbroute_tick(program->router, program->now), 0);
    else
        /* A call that has nothing to do lets time pass as well. */
        CHECK_I(lbroute_place_cancel(program->router, 0, program->now),
                LBROUTE_ERR_NOT_FOUND);
    let_time_pass(program);
}

/* ---- everything agrees ---- */

static void check_targets(const struct program *program, uint64_t *in_flight)
{
    *in_flight = 0;
    for (size_t i = 0; i < TARGETS; i++) {
        const struct target *target = &program->targets[i];
        lbroute_target_stats stats;

        if (!target->handle)
            continue;
        stats = api_target_stats(program->router, target->handle, program->now);
        CHECK_U(stats.in_flight, target->in_flight);
        CHECK_U(stats.limit, limit_of(program, i));
        *in_flight += target->in_flight;
    }
}

static void check_all(const struct program *program)
{
    lbroute_stats stats = api_stats(program->router);
    size_t waiting = room_waiting(&program->room);
    uint64_t next = lbroute_next_deadline(program->router);
    uint64_t in_flight;

    check_targets(program, &in_flight);
    CHECK_U(stats.open_tickets, program->ticket_count);
    CHECK_U(stats.orphan_tickets, program->ticket_count - in_flight);
    CHECK_U(stats.waiting, waiting);
    CHECK_U(stats.places, program->room.count);
    CHECK_U(stats.queued, program->queued);
    CHECK_U(stats.queue_served, program->served);
    CHECK_U(stats.queue_timeouts, program->timeouts);
    CHECK_U(stats.queue_cancelled, program->cancelled);
    CHECK_U(stats.queue_refused, program->refused);
    CHECK_U(stats.queued, stats.queue_served + stats.queue_timeouts +
                              stats.queue_cancelled + stats.queue_refused +
                              stats.waiting);
    CHECK((stats.waiting_bytes > 0) == (waiting > 0));
    for (size_t i = 0; i < program->room.count; i++)
        if (program->room.waiters[i].state == ROOM_WAITS)
            CHECK(next <= program->room.waiters[i].expiry);
        else
            CHECK(next <= program->now);
}

static void run_one(struct program *program)
{
    uint8_t what = take(program);

    switch (what % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        run_pick(program);
        break;
    case 5:
    case 6:
    case 7:
    case 8:
        run_settle(program);
        break;
    case 9:
        (void)run_next(program);
        break;
    case 10:
    case 11:
        while (run_next(program))
            check_all(program);
        break;
    case 12:
        run_cancel(program);
        break;
    case 13:
        run_target(program);
        break;
    case 14:
        run_change(program);
        break;
    default:
        run_time(program);
    }
    check_all(program);
}

static void begin(struct program *program)
{
    lbroute_router_options options;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.single_threaded = 1;
    options.max_waiting = MOST_PLACES;
    options.ticket_ttl = TTL * SECOND;
    CHECK_I(lbroute_router_create(&options, &program->router), 0);
    program->pool = api_pool(program->router, "pool", "least_connections");
    program->enabled = program->fair = 1;
    program->depth = program->fast_limit = 4;
    program->timeout = 8 * SECOND;
    program->room.aging = 3 * SECOND;
    program->room.input_cost = 1;
    program->room.output_cost = 2;
    set(program, "queue.enabled", 1);
    set(program, "queue.timeout", 8);
    set(program, "queue.aging", 3);
    set(program, "health.bench_after", 0);
}

void waiting_program_run(const uint8_t *data, size_t size)
{
    static struct program program;

    memset(&program, 0, sizeof program);
    program.next = data;
    program.end = data + size;
    begin(&program);
    for (int i = 0; i < MOST_OPERATIONS && program.next < program.end; i++) {
        check_step((uint64_t)i);
        run_one(&program);
    }
    lbroute_router_destroy(program.router);
}
