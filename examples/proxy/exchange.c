/* SPDX-License-Identifier: MIT */
#include "client.h"
#include "config.h"
#include "exchange_parts.h"
#include "fleet.h"
#include "gateway.h"
#include "listener.h"
#include "pulse.h"
#include "reply.h"
#include "tokenize.h"
#include "usage.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>

static void exchange_link(struct exchange *exchange)
{
    struct gateway *gateway = exchange->gateway;
    exchange->next = gateway->exchanges;
    if (gateway->exchanges)
        gateway->exchanges->previous = exchange;
    gateway->exchanges = exchange;
    gateway->open_exchanges++;
}

static void exchange_unlink(struct exchange *exchange)
{
    struct gateway *gateway = exchange->gateway;
    if (exchange->previous)
        exchange->previous->next = exchange->next;
    else
        gateway->exchanges = exchange->next;
    if (exchange->next)
        exchange->next->previous = exchange->previous;
    gateway->open_exchanges--;
}

void exchange_end(struct exchange *exchange)
{
    exchange_unlink(exchange);
    exchange_drop_call(exchange);
    if (exchange->client)
        client_attach(exchange->client, NULL);
    if (exchange->kept.body)
        evbuffer_free(exchange->kept.body);
    if (exchange->ids)
        evbuffer_free(exchange->ids);
    usage_reader_free(exchange->usage);
    asked_release(&exchange->asked);
    free(exchange);
}

static struct exchange *exchange_new(struct gateway *gateway,
                                     struct evhttp_request *request)
{
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return NULL;
    exchange->gateway = gateway;
    exchange->request = request;
    exchange->began = gateway_now();
    exchange->retry_after_ns = -1;
    exchange->client =
        client_find(listener_clients(gateway->listener), request);
    lbroute_decision_init(&exchange->decision, sizeof exchange->decision);
    client_attach(exchange->client, exchange);
    exchange_link(exchange);
    return exchange;
}

/* Whatever is wrong with it, nobody is asked. */
static void refuse(struct exchange *exchange, const struct asked_error *error)
{
    exchange->gateway->counters.refused++;
    reply_error(exchange->request, exchange->asked.dialect, error);
    exchange_end(exchange);
}

static bool read_request(struct exchange *exchange, enum dialect dialect,
                         enum asked_kind kind, struct asked_error *error)
{
    struct evhttp_request *request = exchange->request;
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    size_t len = evbuffer_get_length(body);
    exchange->gateway->counters.bytes_in += len;
    const void *bytes = len ? (void *)evbuffer_pullup(body, -1) : "";
    return asked_read(&exchange->asked, dialect, kind, bytes, len, error) &&
           exchange_describe(exchange->gateway, &exchange->asked,
                             evhttp_request_get_input_headers(request),
                             exchange->began, &exchange->identity,
                             &exchange->wanted, error);
}

void exchange_begin(struct gateway *gateway, struct evhttp_request *request,
                    enum dialect dialect, enum asked_kind kind)
{
    struct asked_error error = {0};
    struct exchange *exchange = exchange_new(gateway, request);
    if (!exchange) {
        evhttp_send_error(request, HTTP_SERVUNAVAIL, NULL);
        return;
    }
    if (!read_request(exchange, dialect, kind, &error)) {
        refuse(exchange, &error);
        return;
    }
    exchange->wanted.tag = (uint64_t)(uintptr_t)exchange;
    if (!tokenize_begin(exchange))
        exchange_choose(exchange);
}

void exchange_answer_error(struct exchange *exchange, int result,
                           const struct asked_error *error)
{
    exchange_note_status(exchange, error->status);
    exchange_add_headers(exchange, &exchange->decision, result);
    reply_error(exchange->request, exchange->asked.dialect, error);
    exchange_end(exchange);
}

/* Gives back what it holds of the router. */
static void give_back(struct exchange *exchange)
{
    struct gateway *gateway = exchange->gateway;
    if (exchange->waiting) {
        lbroute_place_cancel(gateway->router, exchange->decision.place,
                             gateway_now());
        exchange->waiting = false;
        gateway->waiting--;
        pulse_serve(gateway);
    }
    exchange_settle(exchange, LBROUTE_EVENT_CANCEL);
}

void exchange_client_gone(struct exchange *exchange)
{
    struct evhttp_request *request = exchange->request;
    exchange->gateway->counters.client_gone++;
    exchange->client = NULL;
    give_back(exchange);
    exchange_end(exchange);
    /* libevent leaves a request to its host when the connection failed, and
     * frees it itself where the host closes the connection. */
    if (!evhttp_request_get_connection(request))
        evhttp_request_free(request);
}

static void abort_one(struct exchange *exchange)
{
    static const struct asked_error ERROR = {
        .status = HTTP_SERVUNAVAIL, .text = "The gateway is shutting down."};
    if (exchange->started) {
        exchange_cut(exchange, LBROUTE_EVENT_CANCEL);
        return;
    }
    give_back(exchange);
    exchange_answer_error(exchange, LBROUTE_OK, &ERROR);
}

void exchanges_abort(struct gateway *gateway)
{
    while (gateway->exchanges)
        abort_one(gateway->exchanges);
}
