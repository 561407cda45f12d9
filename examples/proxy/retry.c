/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "exchange_parts.h"
#include "gateway.h"
#include "reply.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>
#include <string.h>

bool exchange_may_retry(const struct exchange *exchange)
{
    return exchange->attempts < EXCHANGE_TRIES &&
           exchange->attempts <= exchange->gateway->config->retries;
}

static void copy_value(char *out, size_t size, struct evkeyvalq *headers,
                       const char *name)
{
    const char *value = evhttp_find_header(headers, name);
    snprintf(out, size, "%s", value ? value : "");
}

void exchange_keep_no_body(struct exchange *exchange)
{
    if (exchange->kept.body)
        evbuffer_free(exchange->kept.body);
    exchange->kept.body = NULL;
}

void exchange_keep(struct exchange *exchange, int status,
                   struct evkeyvalq *headers)
{
    struct kept_answer *kept = &exchange->kept;
    exchange_keep_no_body(exchange);
    kept->body = evbuffer_new();
    kept->status = status;
    kept->decision = exchange->decision;
    copy_value(kept->content_type, sizeof kept->content_type, headers,
               "Content-Type");
    copy_value(kept->retry_after, sizeof kept->retry_after, headers,
               "Retry-After");
    exchange->keeping = true;
}

void exchange_keep_more(struct exchange *exchange, struct evbuffer *bytes)
{
    struct kept_answer *kept = &exchange->kept;
    if (!kept->body)
        return;
    evbuffer_add_buffer(kept->body, bytes);
    if (evbuffer_get_length(kept->body) > KEPT_MAX)
        exchange_keep_no_body(exchange);
}

/* An engine's own words, under the headers of the decision that led to them. */
static void pass_kept(struct exchange *exchange)
{
    struct kept_answer *kept = &exchange->kept;
    struct evhttp_request *request = exchange->request;
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    struct evbuffer *body = kept->body;
    exchange_add_headers(exchange, &kept->decision, LBROUTE_OK);
    if (*kept->content_type)
        evhttp_add_header(headers, "Content-Type", kept->content_type);
    if (*kept->retry_after)
        evhttp_add_header(headers, "Retry-After", kept->retry_after);
    exchange->gateway->counters.bytes_out += evbuffer_get_length(body);
    kept->body = NULL;
    int status = kept->status;
    exchange_end(exchange);
    evhttp_send_reply(request, status, NULL, body);
    evbuffer_free(body);
}

void exchange_give_up(struct exchange *exchange, int result,
                      const lbroute_decision *decision)
{
    struct asked_error error = {0};
    if (exchange->kept.status && exchange->kept.body) {
        pass_kept(exchange);
        return;
    }
    if (decision)
        exchange->decision = *decision;
    reply_bad_gateway(exchange->kept.status ? exchange->kept.status
                                            : exchange->failure_status,
                      &error);
    exchange_answer_error(exchange, result, &error);
}

void exchange_failed(struct exchange *exchange, int event, int status)
{
    exchange->keeping = false;
    exchange->failure_status = status;
    exchange_settle(exchange, event);
    exchange_drop_call(exchange);
    if (exchange_may_retry(exchange))
        exchange_choose(exchange);
    else
        exchange_give_up(exchange, LBROUTE_OK, NULL);
}
