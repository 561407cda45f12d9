/* SPDX-License-Identifier: MIT */
#include "reply.h"
#include "gateway.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *openai_type(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 429:
        return "rate_limit_error";
    default:
        return status >= 500 ? "server_error" : "invalid_request_error";
    }
}

static const char *anthropic_type(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 413:
        return "request_too_large";
    case 429:
        return "rate_limit_error";
    case 503:
        return "overloaded_error";
    case 504:
        return "timeout_error";
    default:
        return status >= 500 ? "api_error" : "invalid_request_error";
    }
}

static const char *openai_code(const struct asked_error *error)
{
    switch (error->status) {
    case 404:
        return strcmp(error->param, "model") == 0 ? "model_not_found" : NULL;
    case 429:
        return "rate_limit_exceeded";
    case 503:
        return "overloaded";
    default:
        return NULL;
    }
}

static json_t *error_json(enum dialect dialect, const struct asked_error *error)
{
    if (dialect == DIALECT_ANTHROPIC)
        return json_pack("{s:s, s:{s:s, s:s}}", "type", "error", "error",
                         "type", anthropic_type(error->status), "message",
                         error->text);
    return json_pack("{s:{s:s, s:s, s:s?, s:s?}}", "error", "message",
                     error->text, "type", openai_type(error->status), "param",
                     *error->param ? error->param : NULL, "code",
                     openai_code(error));
}

void reply_error(struct evhttp_request *request, enum dialect dialect,
                 const struct asked_error *error)
{
    json_t *json = error_json(dialect, error);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    reply_json(request, error->status, text ? text : "{}");
    free(text);
}

/* libevent sends the body of an answer to HEAD if it is given one. */
void reply_json(struct evhttp_request *request, int status, const char *text)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    bool head = evhttp_request_get_command(request) == EVHTTP_REQ_HEAD;
    struct evbuffer *body = evbuffer_new();
    size_t len = strlen(text);
    char length[32];
    evhttp_add_header(headers, "Content-Type", "application/json");
    snprintf(length, sizeof length, "%zu", len);
    evhttp_add_header(headers, "Content-Length", length);
    if (body && !head)
        evbuffer_add(body, text, len);
    evhttp_send_reply(request, status, NULL, body);
    if (body)
        evbuffer_free(body);
}

static void add_retry_after(const lbroute_decision *decision,
                            struct evkeyvalq *headers)
{
    char seconds[32];
    int64_t wait = decision->wait_ns / 1000000000;
    if (decision->wait_ns % 1000000000 || !wait)
        wait++;
    snprintf(seconds, sizeof seconds, "%" PRId64, wait);
    evhttp_add_header(headers, "Retry-After", seconds);
}

void reply_decision_headers(struct gateway *gateway,
                            const lbroute_decision *decision, int result,
                            struct evkeyvalq *headers)
{
    char name[LBROUTE_NAME_MAX + 32], value[1024];
    size_t name_len = 0, value_len = 0;
    int got = LBROUTE_OK;
    for (size_t i = 0; got != LBROUTE_ERR_NOT_FOUND; i++) {
        got = lbroute_decision_header(gateway->router, decision, i, name,
                                      sizeof name, &name_len, value,
                                      sizeof value, &value_len);
        if (got == LBROUTE_OK)
            evhttp_add_header(headers, name, value);
    }
    if (result == LBROUTE_ERR_SATURATED && decision->wait_ns >= 0)
        add_retry_after(decision, headers);
}

static void say(struct asked_error *error, int status, const char *param,
                const char *text)
{
    error->status = status;
    snprintf(error->text, sizeof error->text, "%s", text);
    snprintf(error->param, sizeof error->param, "%s", param);
}

static void say_saturated(int reason, struct asked_error *error)
{
    switch (reason) {
    case LBROUTE_REASON_QUEUE_TIMEOUT:
        say(error, 503, "", "The request waited too long for an engine.");
        break;
    case LBROUTE_REASON_DEADLINE:
        say(error, 503, "", "No engine is free before the deadline.");
        break;
    case LBROUTE_REASON_QUEUE_FULL:
        say(error, 429, "", "All engines are busy, and the queue is full.");
        break;
    default:
        say(error, 429, "", "All engines are busy.");
    }
}

static void say_no_target(int reason, struct asked_error *error)
{
    switch (reason) {
    case LBROUTE_REASON_TOO_LARGE:
        say(error, 400, "messages",
            "The input is longer than any engine "
            "accepts.");
        break;
    case LBROUTE_REASON_TIER:
        say(error, 400, "", "No engine is of the tier that is asked for.");
        break;
    case LBROUTE_REASON_MODEL:
        say(error, 404, "model", "The model does not exist here.");
        break;
    default:
        say(error, 503, "", "No engine is available.");
    }
}

void reply_rejection(const lbroute_decision *decision, int result,
                     struct asked_error *error)
{
    if (result == LBROUTE_ERR_SATURATED)
        say_saturated(decision->reason, error);
    else if (result == LBROUTE_ERR_NO_TARGET)
        say_no_target(decision->reason, error);
    else
        say(error, 503, "", "The gateway has no room for the request.");
}

void reply_bad_gateway(int status, struct asked_error *error)
{
    switch (status) {
    case 429:
        say(error, 429, "", "The engines are busy.");
        break;
    case 503:
        say(error, 503, "", "No engine is available.");
        break;
    case 504:
        say(error, 504, "", "The engines did not answer in time.");
        break;
    default:
        say(error, 502, "",
            "The engines gave no answer that could be "
            "passed on.");
    }
}
