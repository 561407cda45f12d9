/* SPDX-License-Identifier: MIT */
#include "routes.h"
#include "client.h"
#include "config.h"
#include "exchange.h"
#include "gateway.h"
#include "guard.h"
#include "listener.h"
#include "models.h"
#include "reply.h"

#include <event2/http.h>
#include <event2/http_struct.h>
#include <stdio.h>
#include <string.h>

/* Of one request. */
struct visit {
    struct gateway *gateway;
    struct client *client;
    struct evhttp_request *request;
    const char *target;
    size_t path_len;
    enum dialect dialect;
};

static bool is_path(const struct visit *visit, const char *path)
{
    return strlen(path) == visit->path_len &&
           memcmp(visit->target, path, visit->path_len) == 0;
}

static bool is_below(const struct visit *visit, const char *path)
{
    size_t len = strlen(path);
    return visit->path_len > len && memcmp(visit->target, path, len) == 0;
}

static void answer(const struct visit *visit, int status, const char *text)
{
    struct asked_error error = {.status = status};
    snprintf(error.text, sizeof error.text, "%s", text);
    reply_error(visit->request, visit->dialect, &error);
}

static void refuse_method(const struct visit *visit, const char *allowed)
{
    evhttp_add_header(evhttp_request_get_output_headers(visit->request),
                      "Allow", allowed);
    answer(visit, 405, "The method is not allowed here.");
}

/* After a request whose end may lie elsewhere for somebody else, nothing that
 * follows on the connection can be trusted. */
static void refuse(const struct visit *visit, const struct asked_error *error)
{
    visit->gateway->counters.refused++;
    visit->request->flags &= ~EVHTTP_PROXY_REQUEST; /* It would not say so. */
    client_close_after(visit->client);
    reply_error(visit->request, visit->dialect, error);
}

static bool well_formed(const struct visit *visit, struct asked_error *error)
{
    const struct evhttp_request *request = visit->request;
    bool bodyless =
        request->type != EVHTTP_REQ_GET && request->type != EVHTTP_REQ_POST &&
        request->type != EVHTTP_REQ_PUT && request->type != EVHTTP_REQ_PATCH &&
        request->type != EVHTTP_REQ_DELETE &&
        request->type != EVHTTP_REQ_OPTIONS;
    if (request->headers_size > visit->gateway->config->limits.header_bytes) {
        error->status = 431;
        snprintf(error->text, sizeof error->text, "The headers are too large.");
        return false;
    }
    if (client_sent_nul(visit->client)) {
        error->status = 400;
        snprintf(error->text, sizeof error->text, "A request has no NUL.");
        return false;
    }
    return guard_request(visit->target, bodyless, request->input_headers,
                         error);
}

static void answer_health(const struct visit *visit)
{
    if (visit->gateway->draining)
        reply_json(visit->request, 503, "{\"status\":\"draining\"}");
    else
        reply_json(visit->request, 200, "{\"status\":\"ok\"}");
}

static void answer_model(const struct visit *visit)
{
    char name[3 * LBROUTE_NAME_MAX + 1];
    static const char PATH[] = "/v1/models/";
    snprintf(name, sizeof name, "%.*s",
             (int)(visit->path_len - (sizeof PATH - 1)),
             visit->target + sizeof PATH - 1);
    models_show(visit->gateway, visit->dialect, name, visit->request);
}

/* What is looked up by GET; false: something else. */
static bool look_up(const struct visit *visit)
{
    bool health = is_path(visit, "/health");
    bool models = is_path(visit, "/v1/models");
    if (!health && !models && !is_below(visit, "/v1/models/"))
        return false;
    if (visit->request->type != EVHTTP_REQ_GET &&
        visit->request->type != EVHTTP_REQ_HEAD)
        refuse_method(visit, "GET, HEAD");
    else if (health)
        answer_health(visit);
    else if (models)
        models_list(visit->gateway, visit->dialect, visit->request);
    else
        answer_model(visit);
    return true;
}

static void dispatch(struct visit *visit)
{
    enum asked_kind kind = ASKED_OTHER;
    if (look_up(visit))
        return;
    if (!asked_path(visit->target, &visit->dialect, &kind))
        answer(visit, 404, "There is nothing at this path.");
    else if (visit->request->type != EVHTTP_REQ_POST)
        refuse_method(visit, "POST");
    else if (visit->gateway->draining)
        answer(visit, 503, "The gateway is shutting down.");
    else
        exchange_begin(visit->gateway, visit->request, visit->dialect, kind);
}

/* Chunked requests are read leniently by libevent, so that the connection ends
 * with each. */
static bool ends_connection(const struct visit *visit)
{
    return visit->gateway->draining || visit->request->chunked;
}

static enum dialect dialect_of(const struct evhttp_request *request)
{
    return evhttp_find_header(request->input_headers, "anthropic-version")
               ? DIALECT_ANTHROPIC
               : DIALECT_OPENAI;
}

void routes_take(struct evhttp_request *request, void *context)
{
    struct gateway *gateway = context;
    struct asked_error error = {0};
    struct visit visit = {
        .gateway = gateway,
        .request = request,
        .client = client_begin(listener_clients(gateway->listener), request),
        .target = evhttp_request_get_uri(request),
        .dialect = dialect_of(request),
    };
    gateway->counters.requests++;
    if (!visit.client) {
        evhttp_send_error(request, HTTP_SERVUNAVAIL, NULL);
        return;
    }
    visit.path_len = strcspn(visit.target, "?");
    if (!well_formed(&visit, &error)) {
        refuse(&visit, &error);
        return;
    }
    if (ends_connection(&visit))
        client_close_after(visit.client);
    dispatch(&visit);
}
