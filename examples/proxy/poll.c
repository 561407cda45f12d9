/* SPDX-License-Identifier: MIT */
#include "poll.h"

#include "fleet.h"
#include "gateway.h"
#include "times.h"
#include "upstream.h"

#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>

/* The page of an engine with many series has some 100 kB. */
static const size_t most_bytes = 16 * 1024 * 1024;

struct poll {
    struct backend *backend;
    char *path;
    double interval;
    struct event tick, deadline;
    struct upstream_call *call; /* NULL: none is under way. */
    struct evbuffer *body;
    int status;
    poll_done *done;
    void *context;
};

/* A page that took longer than its interval would say what was. */
static double time_limit(const struct poll *poll)
{
    if (poll->interval < 0.5)
        return 0.5;
    return poll->interval > 10 ? 10 : poll->interval;
}

static void finish(struct poll *poll, bool good)
{
    size_t len = evbuffer_get_length(poll->body);

    poll->call = NULL;
    event_del(&poll->deadline);
    if (good && poll->status == 200)
        poll->done(poll->context,
                   len > 0 ? evbuffer_pullup(poll->body, -1)
                           : (const unsigned char *)"",
                   len);
    else
        poll->done(poll->context, NULL, 0);
    evbuffer_drain(poll->body, len);
}

static void give_up(struct poll *poll)
{
    upstream_cancel(poll->call);
    finish(poll, false);
}

static void on_head(void *context, int status, struct evkeyvalq *headers)
{
    struct poll *poll = context;

    (void)headers;
    poll->status = status;
}

static void on_body(void *context, struct evbuffer *bytes)
{
    struct poll *poll = context;

    if (evbuffer_add_buffer(poll->body, bytes) != 0 ||
        evbuffer_get_length(poll->body) > most_bytes)
        give_up(poll);
}

static void on_end(void *context)
{
    finish(context, true);
}

static void on_failed(void *context, enum upstream_failure failure)
{
    (void)failure;
    finish(context, false);
}

static void on_deadline(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    give_up(context);
}

static bool add_headers(const struct poll *poll, struct evkeyvalq *headers)
{
    return evhttp_add_header(headers, "Accept", "*/*") == 0 &&
           backend_add_key(poll->backend, headers);
}

static struct upstream_call *send_request(struct poll *poll)
{
    static const struct upstream_listener listener = {on_head, on_body, on_end,
                                                      on_failed};
    double limit = time_limit(poll);
    struct evkeyvalq headers;
    struct upstream_request request = {.method = "GET",
                                       .path = poll->path,
                                       .headers = &headers,
                                       .connect_timeout = limit,
                                       .first_byte_timeout = limit,
                                       .idle_timeout = limit};
    struct upstream_call *call = NULL;

    TAILQ_INIT(&headers);
    if (add_headers(poll, &headers))
        call = upstream_send(poll->backend->connections, &request, &listener,
                             poll);
    evhttp_clear_headers(&headers);
    return call;
}

static void on_tick(evutil_socket_t fd, short what, void *context)
{
    struct poll *poll = context;
    struct timeval interval = to_timeval(poll->interval);
    struct timeval limit = to_timeval(time_limit(poll));

    (void)fd;
    (void)what;
    event_add(&poll->tick, &interval);
    if (poll->call != NULL)
        return;
    poll->status = 0;
    poll->call = send_request(poll);
    if (poll->call != NULL)
        event_add(&poll->deadline, &limit);
    else
        finish(poll, false);
}

struct poll *poll_new(struct backend *backend, const char *path,
                      double interval, double phase, poll_done *done,
                      void *context)
{
    struct poll *poll = calloc(1, sizeof *poll);
    struct timeval first = to_timeval(interval * phase);

    if (poll == NULL)
        return NULL;
    poll->path = strdup(path);
    poll->body = evbuffer_new();
    poll->backend = backend;
    poll->interval = interval;
    poll->done = done;
    poll->context = context;
    evtimer_assign(&poll->tick, backend->gateway->base, on_tick, poll);
    evtimer_assign(&poll->deadline, backend->gateway->base, on_deadline, poll);
    if (poll->path == NULL || poll->body == NULL ||
        event_add(&poll->tick, &first) != 0) {
        poll_free(poll);
        return NULL;
    }
    return poll;
}

void poll_set_interval(struct poll *poll, double interval)
{
    poll->interval = interval;
}

void poll_free(struct poll *poll)
{
    if (poll == NULL)
        return;
    event_del(&poll->tick);
    event_del(&poll->deadline);
    if (poll->call != NULL)
        upstream_cancel(poll->call);
    if (poll->body != NULL)
        evbuffer_free(poll->body);
    free(poll->path);
    free(poll);
}
