/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "exchange_parts.h"
#include "fleet.h"
#include "gateway.h"
#include "guard.h"
#include "log.h"
#include "retry_after.h"
#include "upstream.h"

#include <sys/queue.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/util.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void heard_head(void *context, int status, struct evkeyvalq *headers);
static void heard_body(void *context, struct evbuffer *bytes);
static void heard_end(void *context);
static void heard_failure(void *context, enum upstream_failure failure);

static const struct upstream_listener LISTENER = {heard_head, heard_body,
                                                  heard_end, heard_failure};

static bool same(const char *a, const char *b)
{
    return evutil_ascii_strcasecmp(a, b) == 0;
}

static bool is_key(const char *name)
{
    return same(name, "Authorization") || same(name, "x-api-key");
}

/* Engines of both dialects look for their own header, some for either. */
static bool add_key(const struct exchange *exchange, struct evkeyvalq *headers)
{
    const struct backend *backend = exchange->backend;
    return backend_add_key(backend, headers) &&
           (exchange->asked.dialect != DIALECT_ANTHROPIC ||
            evhttp_add_header(headers, "x-api-key", backend->api_key) == 0);
}

/* What passes to the engine. An answer that is compressed could not be read for
 * its usage, so none is asked for. */
static bool compose(const struct exchange *exchange, struct evkeyvalq *out)
{
    struct evkeyvalq *in = evhttp_request_get_input_headers(exchange->request);
    bool own_key = exchange->backend->api_key != NULL;
    struct evkeyval *header;
    TAILQ_FOREACH(header, in, next)
    {
        if (guard_is_hop_header(header->key, in) ||
            same(header->key, "Accept-Encoding") ||
            (own_key && is_key(header->key)))
            continue;
        if (evhttp_add_header(out, header->key, header->value) != 0)
            return false;
    }
    return !own_key || add_key(exchange, out);
}

static struct upstream_call *call(struct exchange *exchange)
{
    const struct config_timeouts *limits = &exchange->gateway->config->timeouts;
    struct evkeyvalq headers;
    TAILQ_INIT(&headers);
    struct upstream_request request = {
        .method = "POST",
        .path = evhttp_request_get_uri(exchange->request),
        .headers = &headers,
        .body = evhttp_request_get_input_buffer(exchange->request),
        .connect_timeout = limits->connect,
        .first_byte_timeout = limits->first_byte,
        .idle_timeout = limits->idle,
    };
    struct upstream_call *made = NULL;
    if (compose(exchange, &headers))
        made = upstream_send(exchange->backend->connections, &request,
                             &LISTENER, exchange);
    evhttp_clear_headers(&headers);
    return made;
}

void exchange_send(struct exchange *exchange)
{
    exchange->backend = exchange->decision.user;
    backend_hold(exchange->backend);
    if (exchange->attempts)
        exchange->gateway->counters.retries++;
    exchange->tried[exchange->attempts++] = exchange->decision.target;
    exchange->sent_at = gateway_now();
    exchange->status = 0;
    exchange->retry_after_ns = -1;
    exchange->call = call(exchange);
    /* Out of memory is nothing that a target could be blamed for. */
    if (!exchange->call)
        exchange_failed(exchange, LBROUTE_EVENT_CANCEL, HTTP_SERVUNAVAIL);
}

void exchange_drop_call(struct exchange *exchange)
{
    if (exchange->call)
        upstream_cancel(exchange->call);
    exchange->call = NULL;
    if (exchange->backend)
        backend_drop(exchange->backend);
    exchange->backend = NULL;
}

static void heard_head(void *context, int status, struct evkeyvalq *headers)
{
    struct exchange *exchange = context;
    bool error = status == 429 || status >= 500;
    exchange->status = status;
    exchange->retry_after_ns =
        retry_after_ns(evhttp_find_header(headers, "Retry-After"), time(NULL));
    if (error && exchange_may_retry(exchange))
        exchange_keep(exchange, status, headers);
    else
        exchange_start(exchange, status, headers);
}

static void heard_body(void *context, struct evbuffer *bytes)
{
    struct exchange *exchange = context;
    if (exchange->keeping)
        exchange_keep_more(exchange, bytes);
    else
        exchange_pass(exchange, bytes);
}

static void heard_end(void *context)
{
    struct exchange *exchange = context;
    exchange->call = NULL;
    if (exchange->keeping)
        exchange_failed(exchange, exchange_event_of(exchange, exchange->status),
                        exchange->status);
    else
        exchange_finish(exchange);
}

/* At most once a second for each target. */
static void complain(struct backend *backend, enum upstream_failure failure)
{
    static const char *const TEXTS[] = {
        [UPSTREAM_CONNECT] = "cannot be connected to",
        [UPSTREAM_TIMEOUT] = "did not answer in time",
        [UPSTREAM_BROKEN] = "closed the connection before the end",
        [UPSTREAM_MALFORMED] = "sent something that is no answer",
    };
    uint64_t now = gateway_now();
    if (backend->complained_at && now - backend->complained_at < 1000000000u)
        return;
    backend->complained_at = now;
    log_line("target %s %s", backend->name, TEXTS[failure]);
}

static void heard_failure(void *context, enum upstream_failure failure)
{
    struct exchange *exchange = context;
    bool slow = failure == UPSTREAM_TIMEOUT;
    int event = slow ? LBROUTE_EVENT_TIMEOUT : LBROUTE_EVENT_FAILURE;
    exchange->call = NULL;
    complain(exchange->backend, failure);
    if (exchange->started)
        exchange_cut(exchange, event);
    else
        exchange_failed(exchange, event, slow ? 504 : 502);
}
