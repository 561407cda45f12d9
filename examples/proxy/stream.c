/* SPDX-License-Identifier: MIT */
#include "client.h"
#include "config.h"
#include "exchange_parts.h"
#include "gateway.h"
#include "guard.h"
#include "reply.h"
#include "upstream.h"
#include "usage.h"

#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <event2/util.h>
#include <stdio.h>
#include <string.h>

static bool begins_with(const char *text, const char *start)
{
    return evutil_ascii_strncasecmp(text, start, strlen(start)) == 0;
}

void exchange_add_headers(struct exchange *exchange,
                          const lbroute_decision *decision, int result)
{
    struct evkeyvalq *headers =
        evhttp_request_get_output_headers(exchange->request);
    char number[16];
    reply_decision_headers(exchange->gateway, decision, result, headers);
    snprintf(number, sizeof number, "%u", (unsigned)exchange->attempts);
    evhttp_add_header(headers, exchange->gateway->attempts_name, number);
    if (exchange->gateway->draining)
        evhttp_add_header(headers, "Connection", "close");
}

/* An engine that is itself such a gateway does not speak for this one. */
static void copy_headers(struct exchange *exchange, struct evkeyvalq *in)
{
    const char *prefix = exchange->gateway->header_prefix;
    struct evkeyvalq *out =
        evhttp_request_get_output_headers(exchange->request);
    const char *coding = evhttp_find_header(in, "Transfer-Encoding");
    const char *length =
        coding ? NULL : evhttp_find_header(in, "Content-Length");
    struct evkeyval *header;
    struct guard_hops hops;
    guard_read_hops(&hops, in);
    TAILQ_FOREACH(header, in, next)
    if (!guard_is_hop_header(header->key, &hops) &&
        !(*prefix && begins_with(header->key, prefix)))
        evhttp_add_header(out, header->key, header->value);
    if (length)
        evhttp_add_header(out, "Content-Length", length);
    exchange->open_end = !coding && !length;
}

/* libevent would promise an HTTP/1.0 client that keeps connections a body of no
 * bytes: that one has to see the end of its connection instead. */
static void end_by_close(struct evhttp_request *request)
{
    if (request->major == 1 && request->minor == 0 &&
        !evhttp_find_header(request->output_headers, "Content-Length"))
        evhttp_remove_header(request->input_headers, "Connection");
}

void exchange_start(struct exchange *exchange, int status,
                    struct evkeyvalq *headers)
{
    const char *type = evhttp_find_header(headers, "Content-Type");
    exchange->started = true;
    exchange->events = type && begins_with(type, "text/event-stream");
    if (status < 300)
        exchange->usage =
            usage_reader_new(exchange->asked.dialect, exchange->events);
    copy_headers(exchange, headers);
    exchange_add_headers(exchange, &exchange->decision, LBROUTE_OK);
    end_by_close(exchange->request);
    evhttp_send_reply_start(exchange->request, status, NULL);
}

static void read_usage(struct exchange *exchange, struct evbuffer *bytes)
{
    struct evbuffer_iovec pieces[8];
    struct evbuffer_ptr at;
    size_t left = evbuffer_get_length(bytes);
    if (!exchange->usage)
        return;
    evbuffer_ptr_set(bytes, &at, 0, EVBUFFER_PTR_SET);
    while (left) {
        int count = evbuffer_peek(bytes, (ev_ssize_t)left, &at, pieces, 8);
        size_t seen = 0;
        for (int i = 0; i < count && i < 8; i++) {
            usage_reader_feed(exchange->usage, pieces[i].iov_base,
                              pieces[i].iov_len);
            seen += pieces[i].iov_len;
        }
        left = seen < left ? left - seen : 0;
        if (!seen || evbuffer_ptr_set(bytes, &at, seen, EVBUFFER_PTR_ADD) != 0)
            break;
    }
    if (exchange->events && !exchange->token_seen &&
        usage_reader_state(exchange->usage)->token_seen)
        exchange_note_token(exchange);
}

static void hold_back(struct exchange *exchange, bool pause)
{
    size_t limit = exchange->gateway->config->limits.stream_buffer;
    exchange->paused = pause;
    client_set_low_water(exchange->client, pause ? limit / 2 : 0);
    if (exchange->call)
        upstream_pause(exchange->call, pause);
}

/* The client has taken enough of what was sent ahead. */
static void drained(struct evhttp_connection *connection, void *context)
{
    (void)connection;
    struct exchange *exchange = context;
    if (exchange->paused)
        hold_back(exchange, false);
}

void exchange_pass(struct exchange *exchange, struct evbuffer *bytes)
{
    size_t len = evbuffer_get_length(bytes);
    size_t limit = exchange->gateway->config->limits.stream_buffer;
    read_usage(exchange, bytes);
    exchange->gateway->counters.bytes_out += len;
    bool full = client_backlog(exchange->client) + len > limit;
    if (full && !exchange->paused)
        hold_back(exchange, true);
    /* Each piece sets the callback anew. */
    evhttp_send_reply_chunk_with_cb(exchange->request, bytes,
                                    full ? drained : NULL, exchange);
}

/* Where the engine's connection ends the answer, only the last event tells
 * whether it is whole. */
static bool whole(const struct exchange *exchange)
{
    return !exchange->open_end || !exchange->events || !exchange->usage ||
           usage_reader_state(exchange->usage)->ended;
}

void exchange_finish(struct exchange *exchange)
{
    if (exchange->usage)
        usage_reader_finish(exchange->usage);
    if (!whole(exchange)) {
        exchange_cut(exchange, LBROUTE_EVENT_FAILURE);
        return;
    }
    exchange_settle(exchange, exchange_event_of(exchange, exchange->status));
    client_set_low_water(exchange->client, 0);
    struct evhttp_request *request = exchange->request;
    exchange_end(exchange);
    evhttp_send_reply_end(request);
}

void exchange_cut(struct exchange *exchange, int event)
{
    struct client *client = exchange->client;
    struct evhttp_request *request = exchange->request;
    bool marked = request->chunked ||
                  evhttp_find_header(request->output_headers, "Content-Length");
    if (event != LBROUTE_EVENT_CANCEL)
        exchange->gateway->counters.cut_short++;
    exchange_settle(exchange, event);
    exchange_end(exchange);
    client_break(client, !marked);
}
