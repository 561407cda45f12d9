/* SPDX-License-Identifier: MIT */
#include "fleet.h"
#include "gateway.h"
#include "guard.h"
#include "upstream_parts.h"
#include "upstream_tls.h"

#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>

static void on_over(struct evhttp_request *request, void *context);
static int on_head(struct evhttp_request *request, void *context);
static void on_body(struct evhttp_request *request, void *context);
static void on_error(enum evhttp_request_error error, void *context);

static uint64_t nanoseconds(double seconds)
{
    return (uint64_t)(seconds * 1e9);
}

static void set_timer(struct upstream_call *call, uint64_t now, uint64_t left)
{
    call->wakes_at = now + left;
    struct timeval wait = {(time_t)(left / 1000000000u),
                           (suseconds_t)(left % 1000000000u / 1000u)};
    event_add(&call->timer, &wait);
}

/* Outside of libevent's callbacks only. */
static void call_free(struct upstream_call *call)
{
    event_del(&call->timer);
    if (call->link && call->link->call == call)
        call->link->call = NULL;
    if (call->request)
        evhttp_request_free(call->request);
    call->pool->calls--;
    free(call->target);
    free(call);
}

static void fail(struct upstream_call *call, enum upstream_failure failure)
{
    const struct upstream_listener *listener = call->listener;
    void *context = call->context;
    call->state = CALL_OVER;
    upstream_cancel(call);
    listener->failed(context, failure);
}

/* There is no callback for a connection that was made: whether it was is looked
 * at when its time is over. */
static bool connect_is_over(struct upstream_call *call, uint64_t now)
{
    if (!call->connected)
        call->connected = upstream_link_connected(call->link);
    return !call->connected && now - call->sent_at >= call->connect_limit;
}

static uint64_t time_left(const struct upstream_call *call, uint64_t now)
{
    uint64_t since = call->sent_at, limit = call->first_limit;
    if (call->state == CALL_ANSWERING) {
        since = call->heard_at;
        limit = call->idle_limit;
    } else if (!call->connected && call->connect_limit < limit) {
        limit = call->connect_limit;
    }
    uint64_t end =
        since + limit < call->over_at ? since + limit : call->over_at;
    return now >= end ? 0 : end - now;
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    struct upstream_call *call = context;
    uint64_t now = gateway_now();
    if (call->cancelled || call->paused)
        return;
    if (call->state == CALL_OVER) { /* Failed while it was sent. */
        fail(call, call->failure);
        return;
    }
    if (call->state == CALL_SENT && connect_is_over(call, now)) {
        fail(call, UPSTREAM_CONNECT);
        return;
    }
    uint64_t left = time_left(call, now);
    if (left)
        set_timer(call, now, left);
    else
        fail(call, UPSTREAM_TIMEOUT);
}

static struct evhttp_request *request_new(struct upstream_call *call)
{
    struct evhttp_request *request = evhttp_request_new(on_over, call);
    if (!request)
        return NULL;
    evhttp_request_own(request);
    evhttp_request_set_header_cb(request, on_head);
    evhttp_request_set_chunked_cb(request, on_body);
    evhttp_request_set_error_cb(request, on_error);
    return request;
}

/* The body's memory is shared, not copied. */
static bool add_body(struct upstream_call *call)
{
    struct evbuffer *out = evhttp_request_get_output_buffer(call->request);
    return !call->body || evbuffer_add_buffer_reference(out, call->body) == 0;
}

static bool dispatch(struct upstream_call *call, bool fresh)
{
    call->link = upstream_link_take(call->pool, fresh);
    if (!call->link)
        return false;
    call->link->call = call;
    call->connected = call->link->answered;
    int result = evhttp_make_request(
        call->link->connection, call->request,
        call->post ? EVHTTP_REQ_POST : EVHTTP_REQ_GET, call->target);
    if (result != 0) {
        call->link->call = NULL;
        upstream_link_kill(call->link);
        return false;
    }
    upstream_link_tune(call->link);
    if (call->state == CALL_SENT)
        set_timer(call, call->sent_at, time_left(call, call->sent_at));
    return true;
}

static bool replaceable(const struct upstream_call *call)
{
    return call->link->answered && !call->replaced && !call->malformed &&
           call->state == CALL_SENT && !call->pool->closed;
}

/* A connection from before that was closed just now: the same again on a new
 * one. */
static bool replace(struct upstream_call *call)
{
    struct evhttp_request *old = call->request;
    struct evhttp_request *request =
        replaceable(call) ? request_new(call) : NULL;
    if (!request)
        return false;
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    TAILQ_CONCAT(headers, evhttp_request_get_output_headers(old), next);
    evhttp_remove_header(headers, "Content-Length"); /* libevent adds it. */
    upstream_spend(call->pool, old);
    call->request = request;
    call->replaced = true;
    call->link->call = NULL;
    upstream_link_kill(call->link);
    call->sent_at = gateway_now();
    return add_body(call) && dispatch(call, true);
}

static bool one_length(struct evkeyvalq *headers)
{
    const char *length = NULL;
    struct evkeyval *header;
    TAILQ_FOREACH(header, headers, next)
    {
        if (evutil_ascii_strcasecmp(header->key, "Content-Length") != 0)
            continue;
        if (!guard_is_length(header->value) ||
            (length && strcmp(length, header->value) != 0))
            return false;
        length = header->value;
    }
    return true;
}

/* What libevent would take for something else than the engine meant. */
static bool well_framed(struct evhttp_request *request)
{
    struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
    int status = evhttp_request_get_response_code(request);
    const char *coding = evhttp_find_header(headers, "Transfer-Encoding");
    struct guard_hops hops;
    if (status < 200 || status > 599)
        return false;
    if (coding && evutil_ascii_strcasecmp(coding, "chunked") != 0)
        return false;
    return one_length(headers) && guard_headers_clean(headers) &&
           guard_read_hops(&hops, headers);
}

static int on_head(struct evhttp_request *request, void *context)
{
    struct upstream_call *call = context;
    int status = evhttp_request_get_response_code(request);
    if (call->cancelled)
        return -1;
    if (status == 100) /* libevent reads on, to the real answer. */
        return 0;
    if (!well_framed(request)) {
        call->malformed = true;
        return -1;
    }
    upstream_link_tune(call->link);
    call->state = CALL_ANSWERING;
    call->heard_at = gateway_now();
    /* Otherwise it wakes early, and is set anew then. */
    if (call->heard_at + call->idle_limit < call->wakes_at)
        set_timer(call, call->heard_at, call->idle_limit);
    call->listener->head(call->context, status,
                         evhttp_request_get_input_headers(request));
    return call->cancelled ? -1 : 0;
}

static void on_body(struct evhttp_request *request, void *context)
{
    struct upstream_call *call = context;
    if (call->cancelled)
        return;
    call->heard_at = gateway_now();
    call->listener->body(call->context,
                         evhttp_request_get_input_buffer(request));
}

static void on_error(enum evhttp_request_error error, void *context)
{
    struct upstream_call *call = context;
    if (error == EVREQ_HTTP_INVALID_HEADER ||
        error == EVREQ_HTTP_DATA_TOO_LONG || error == EVREQ_HTTP_BUFFER_ERROR)
        call->malformed = true;
}

/* libevent hands a request back where it found nobody to connect to. */
static enum upstream_failure reason_of(const struct upstream_call *call,
                                       bool handed_back)
{
    bool tls = call->pool->backend->tls;
    if (call->malformed)
        return UPSTREAM_MALFORMED;
    if (handed_back || !call->link ||
        (tls && !upstream_tls_ready(call->link->bufev)))
        return UPSTREAM_CONNECT;
    return UPSTREAM_BROKEN;
}

/* Whether the connection serves for another call: HTTP/1.0 and answers that end
 * where the connection does leave it closed. */
static bool reusable(struct evhttp_request *request)
{
    struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
    if (request->major < 1 || request->minor < 1)
        return false;
    return request->chunked || evhttp_find_header(headers, "Content-Length") ||
           request->response_code == 204 || request->response_code == 304;
}

static void complete(struct upstream_call *call)
{
    const struct upstream_listener *listener = call->listener;
    void *context = call->context;
    struct upstream_link *link = call->link;
    struct upstream_pool *pool = call->pool;
    struct evhttp_request *request = call->request;
    bool keep = reusable(request);
    call->request = NULL;
    call_free(call);
    link->answered = true;
    if (keep)
        upstream_link_keep(link);
    else
        upstream_link_kill(link);
    listener->end(context);
    /* Last, since what the listener sent may have spent another one. */
    upstream_spend(pool, request);
}

/* libevent is done with a request, one way or the other. */
static void on_over(struct evhttp_request *request, void *context)
{
    struct upstream_call *call = context;
    if (call->cancelled) {
        call->detached = true; /* The reaper frees it. */
        return;
    }
    if (request && evhttp_request_get_response_code(request) != 0) {
        complete(call);
        return;
    }
    if (replace(call))
        return;
    call->detached = true;
    call->failure = reason_of(call, request != NULL);
    if (call->sending) { /* The listener is told from the event loop. */
        call->state = CALL_OVER;
        event_active(&call->timer, EV_TIMEOUT, 0);
        return;
    }
    fail(call, call->failure);
}

static char *joined(const char *base, const char *path)
{
    size_t base_len = strlen(base), path_len = strlen(path);
    char *text = malloc(base_len + path_len + 1);
    if (!text)
        return NULL;
    memcpy(text, base, base_len);
    memcpy(text + base_len, path, path_len + 1);
    return text;
}

static bool add_headers(struct upstream_call *call, struct evkeyvalq *headers)
{
    struct evkeyvalq *out = evhttp_request_get_output_headers(call->request);
    if (evhttp_add_header(out, "Host", call->pool->authority) != 0)
        return false;
    if (headers)
        TAILQ_CONCAT(out, headers, next);
    return true;
}

static struct upstream_call *call_new(struct upstream_pool *pool,
                                      const struct upstream_request *request)
{
    struct upstream_call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    evtimer_assign(&call->timer, pool->backend->gateway->base, on_timer, call);
    pool->calls++;
    call->pool = pool;
    call->post = strcmp(request->method, "POST") == 0;
    call->body = request->body;
    call->connect_limit = nanoseconds(request->connect_timeout);
    call->first_limit = nanoseconds(request->first_byte_timeout);
    call->idle_limit = nanoseconds(request->idle_timeout);
    call->sent_at = gateway_now();
    call->over_at = request->total_timeout > 0
                        ? call->sent_at + nanoseconds(request->total_timeout)
                        : UINT64_MAX;
    call->target = joined(pool->backend->base_path, request->path);
    call->request = request_new(call);
    if (!call->target || !call->request ||
        !add_headers(call, request->headers) || !add_body(call)) {
        call_free(call);
        return NULL;
    }
    return call;
}

struct upstream_call *upstream_send(struct upstream_pool *pool,
                                    const struct upstream_request *request,
                                    const struct upstream_listener *listener,
                                    void *context)
{
    struct upstream_call *call = call_new(pool, request);
    if (!call)
        return NULL;
    call->listener = listener;
    call->context = context;
    call->sending = true;
    bool sent = dispatch(call, false);
    call->sending = false;
    if (!sent) {
        call_free(call);
        return NULL;
    }
    return call;
}

void upstream_pause(struct upstream_call *call, bool pause)
{
    if (call->paused == pause || call->cancelled)
        return;
    call->paused = pause;
    if (pause) {
        bufferevent_disable(call->link->bufev, EV_READ);
        event_del(&call->timer);
        return;
    }
    call->heard_at = gateway_now();
    bufferevent_enable(call->link->bufev, EV_READ);
    set_timer(call, call->heard_at, time_left(call, call->heard_at));
}

/* libevent must not lose a request while it calls back because of it. */
void upstream_cancel(struct upstream_call *call)
{
    if (call->cancelled)
        return;
    call->cancelled = true;
    event_del(&call->timer);
    call->next_cancelled = call->pool->cancelled;
    call->pool->cancelled = call;
    upstream_reap_later(call->pool);
}

void upstream_reap_calls(struct upstream_pool *pool)
{
    while (pool->cancelled) {
        struct upstream_call *call = pool->cancelled;
        pool->cancelled = call->next_cancelled;
        if (!call->detached)
            evhttp_cancel_request(call->request);
        if (call->link)
            upstream_link_kill(call->link);
        call_free(call);
    }
}
