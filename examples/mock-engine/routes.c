/* SPDX-License-Identifier: MIT */
#include "routes.h"

#include "gate.h"
#include "job.h"
#include "pages.h"
#include "record.h"
#include "reply.h"

#include <stdio.h>
#include <string.h>

/* FAULTS_ALL: only faults of all requests are suffered; none: never any. */
enum { NO_FAULTS = 0 };

struct route {
    const char *path;
    enum evhttp_cmd_type method;
    int scope;
    gate_handler handler;
    const struct dialect *dialect;
};

static void answer(struct mock *mock, struct evhttp_request *request,
                   const struct fault_plan *plan, const void *dialect)
{
    job_start(mock, request, dialect, plan);
}

static const struct route routes[] = {
    {"/v1/chat/completions", EVHTTP_REQ_POST, FAULTS_GENERATE, answer,
     &dialect_chat},
    {"/v1/completions", EVHTTP_REQ_POST, FAULTS_GENERATE, answer,
     &dialect_completion},
    {"/v1/responses", EVHTTP_REQ_POST, FAULTS_GENERATE, answer,
     &dialect_response},
    {"/v1/messages", EVHTTP_REQ_POST, FAULTS_GENERATE, answer,
     &dialect_message},
    {"/v1/embeddings", EVHTTP_REQ_POST, FAULTS_GENERATE, page_embeddings, NULL},
    {"/v1/messages/count_tokens", EVHTTP_REQ_POST, FAULTS_GENERATE,
     page_count_tokens, NULL},
    {"/tokenize", EVHTTP_REQ_POST, FAULTS_ALL, page_tokenize, NULL},
    {"/v1/load_lora_adapter", EVHTTP_REQ_POST, FAULTS_ALL, page_load_adapter,
     NULL},
    {"/v1/unload_lora_adapter", EVHTTP_REQ_POST, FAULTS_ALL,
     page_unload_adapter, NULL},
    {"/metrics", EVHTTP_REQ_GET, FAULTS_METRICS, page_metrics, NULL},
    {"/v1/models", EVHTTP_REQ_GET, FAULTS_ALL, page_models, NULL},
    {"/health", EVHTTP_REQ_GET, FAULTS_ALL, page_health, NULL},
    {"/version", EVHTTP_REQ_GET, FAULTS_ALL, page_version, NULL},
    {"/mock/state", EVHTTP_REQ_GET, NO_FAULTS, page_state, NULL},
    {"/mock/faults", EVHTTP_REQ_GET, NO_FAULTS, page_get_faults, NULL},
    {"/mock/faults", EVHTTP_REQ_POST, NO_FAULTS, page_set_faults, NULL},
};

static void refuse_with(struct evhttp_request *request, int status,
                        const char *type, const char *text)
{
    const char *uri = evhttp_request_get_uri(request);
    struct refusal refusal;

    refuse(&refusal, status, type, NULL, "%s", text);
    reply_refusal(request, uri != NULL && strncmp(uri, "/v1/messages", 12) == 0,
                  &refusal);
}

/* The route of a request, or NULL once it has been refused. */
static const struct route *find_route(struct evhttp_request *request)
{
    const char *path = evhttp_request_get_uri(request);
    size_t length = strcspn(path, "?");
    bool known = false;

    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (strlen(routes[i].path) != length ||
            memcmp(routes[i].path, path, length) != 0)
            continue;
        if (routes[i].method == evhttp_request_get_command(request))
            return &routes[i];
        known = true;
    }
    if (evhttp_request_get_command(request) == EVHTTP_REQ_HEAD)
        evhttp_send_reply(request, known ? 405 : 404, NULL, NULL);
    else if (known)
        refuse_with(request, 405, "MethodNotAllowedError",
                    "Method Not Allowed");
    else
        refuse_with(request, 404, "NotFoundError", "Not Found");
    return NULL;
}

/* As a bearer, or in Anthropic's header; only /v1 asks for a key. */
static bool has_key(const struct mock *mock, struct evhttp_request *request)
{
    struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
    const char *bearer = evhttp_find_header(headers, "Authorization");
    const char *key = evhttp_find_header(headers, "x-api-key");

    if (mock->options.api_key == NULL ||
        strncmp(evhttp_request_get_uri(request), "/v1", 3) != 0)
        return true;
    if (bearer != NULL && strncmp(bearer, "Bearer ", 7) == 0)
        key = bearer + 7;
    return key != NULL && strcmp(key, mock->options.api_key) == 0;
}

static void note_latest(struct mock *mock, struct evhttp_request *request)
{
    json_decref(mock->latest);
    mock->latest = record_request(request);
}

static void pass(struct mock *mock, struct evhttp_request *request,
                 const struct route *route)
{
    if (route->scope == NO_FAULTS) {
        route->handler(mock, request, &fault_none, route->dialect);
        return;
    }
    if (route->scope == FAULTS_GENERATE)
        note_latest(mock, request);
    if (has_key(mock, request))
        gate_pass(mock, request, (enum fault_scope)route->scope, route->handler,
                  route->dialect);
    else
        refuse_with(request, 401, "AuthenticationError", "Unauthorized");
}

/* What is no HTTP has no address. */
void routes_serve(struct evhttp_request *request, void *mock)
{
    const struct route *route;

    if (evhttp_request_get_uri(request) == NULL) {
        refuse_with(request, 400, "BadRequestError", "Bad Request");
        return;
    }
    route = find_route(request);
    if (route != NULL)
        pass(mock, request, route);
}

void routes_control(struct evhttp_request *request, void *mock)
{
    const struct route *route;

    if (evhttp_request_get_uri(request) == NULL) {
        refuse_with(request, 400, "BadRequestError", "Bad Request");
        return;
    }
    route = find_route(request);
    if (route != NULL && route->scope == NO_FAULTS)
        pass(mock, request, route);
    else if (route != NULL)
        refuse_with(request, 404, "NotFoundError", "Not Found");
}
