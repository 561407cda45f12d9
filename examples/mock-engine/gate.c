/* SPDX-License-Identifier: MIT */
#include "gate.h"

#include "leave.h"
#include "replay/grow.h"
#include "reply.h"

#include <event2/bufferevent.h>

#include <stdlib.h>
#include <string.h>

/* A request that is delayed, hangs, or has had its garbage. */
struct held {
    struct mock *mock;
    struct evhttp_request *request;
    struct event *timer; /* NULL: it hangs. */
    struct fault_plan plan;
    gate_handler handler;
    const void *data;
    struct held *next;
    struct held **link; /* What points to it. */
};

static void let_go(struct held *held)
{
    *held->link = held->next;
    if (held->next != NULL)
        held->next->link = held->link;
    if (held->timer != NULL)
        event_free(held->timer);
    free(held);
}

static void on_gone(struct evhttp_connection *connection, void *context)
{
    struct held *held = context;
    struct evhttp_request *request = held->request;

    (void)connection;
    held->mock->counts.cancelled++;
    let_go(held);
    leave_free(request);
}

static struct held *hold(const struct held *what)
{
    struct held *held = grow_zeroed(1, sizeof *held);
    struct mock *mock = what->mock;

    *held = *what;
    held->next = mock->held;
    held->link = &mock->held;
    if (held->next != NULL)
        held->next->link = &held->next;
    mock->held = held;
    leave_watch(held->request, on_gone, held);
    return held;
}

static void answer_error(const struct held *held)
{
    struct refusal refusal;
    const struct fault_plan *plan = &held->plan;
    const char *path = evhttp_request_get_uri(held->request);

    refuse(&refusal, plan->status,
           plan->status < 500 ? "BadRequestError" : "InternalServerError", NULL,
           "a fault that was asked for");
    if (plan->retry_after[0] != '\0')
        evhttp_add_header(evhttp_request_get_output_headers(held->request),
                          "Retry-After", plan->retry_after);
    reply_refusal(held->request, strncmp(path, "/v1/messages", 12) == 0,
                  &refusal);
}

/* What is left after a delay. */
static void serve(const struct held *held)
{
    if (held->plan.status != 0)
        answer_error(held);
    else
        held->handler(held->mock, held->request, &held->plan, held->data);
}

static void on_time(evutil_socket_t fd, short what, void *context)
{
    struct held *held = context;
    struct held copy = *held;

    (void)fd;
    (void)what;
    leave_ignore(held->request);
    let_go(held);
    serve(&copy);
}

static void delay(const struct held *what)
{
    struct held *held = hold(what);
    double ms = held->plan.delay_ms;
    struct timeval wait = {
        .tv_sec = (time_t)(ms / 1000.0),
        .tv_usec = (suseconds_t)(ms * 1000.0) % 1000000,
    };

    held->timer = evtimer_new(held->mock->base, on_time, held);
    event_add(held->timer, &wait);
}

static void close_held(struct held *held)
{
    struct evhttp_request *request = held->request;

    let_go(held);
    leave_close(request);
}

/* Once it is written, or cannot be. */
static void on_garbage(struct bufferevent *stream, void *context)
{
    (void)stream;
    close_held(context);
}

static void on_garbage_failed(struct bufferevent *stream, short what,
                              void *context)
{
    (void)stream;
    (void)what;
    close_held(context);
}

static void send_garbage(const struct held *what)
{
    static const char garbage[] = "\x15\x03\x01 no HTTP at all\r\n\r\n";
    struct held *held = hold(what);
    struct bufferevent *stream = evhttp_connection_get_bufferevent(
        evhttp_request_get_connection(held->request));

    bufferevent_write(stream, garbage, sizeof garbage - 1);
    bufferevent_setcb(stream, NULL, on_garbage, on_garbage_failed, held);
    bufferevent_enable(stream, EV_WRITE);
}

void gate_pass(struct mock *mock, struct evhttp_request *request,
               enum fault_scope scope, gate_handler handler, const void *data)
{
    struct held held = {
        .mock = mock,
        .request = request,
        .plan = faults_take(&mock->faults, scope),
        .handler = handler,
        .data = data,
    };

    if (held.plan.close_before_answer)
        leave_close(request);
    else if (held.plan.hang)
        hold(&held);
    else if (held.plan.malformed == MALFORMED_HTTP)
        send_garbage(&held);
    else if (held.plan.delay_ms > 0.0)
        delay(&held);
    else
        serve(&held);
}

void gate_drop_all(struct mock *mock)
{
    while (mock->held != NULL) {
        leave_ignore(mock->held->request);
        let_go(mock->held);
    }
}
