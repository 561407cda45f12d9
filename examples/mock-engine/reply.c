/* SPDX-License-Identifier: MIT */
#include "reply.h"

#include <stdlib.h>

void reply_body(struct evhttp_request *request, int status, const char *type,
                struct evbuffer *body)
{
    evhttp_add_header(evhttp_request_get_output_headers(request),
                      "Content-Type", type);
    evhttp_send_reply(request, status, NULL, body);
}

void reply_text(struct evhttp_request *request, int status, const char *type,
                const char *text)
{
    struct evbuffer *body = evbuffer_new();

    evbuffer_add_printf(body, "%s", text);
    reply_body(request, status, type, body);
    evbuffer_free(body);
}

void reply_json(struct evhttp_request *request, int status, json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);

    reply_text(request, status, "application/json",
               text != NULL ? text : "null");
    free(text);
    json_decref(value);
}

/* The kinds of errors of Anthropic's API. */
static const char *anthropic_type(int status)
{
    switch (status) {
    case 400:
        return "invalid_request_error";
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
    case 529:
        return "overloaded_error";
    default:
        return "api_error";
    }
}

void reply_refusal(struct evhttp_request *request, bool anthropic,
                   const struct refusal *refusal)
{
    json_t *error;

    if (anthropic)
        error = json_pack("{s:s,s:{s:s,s:s}}", "type", "error", "error", "type",
                          anthropic_type(refusal->status), "message",
                          refusal->text);
    else
        error = json_pack("{s:{s:s,s:s,s:s?,s:i}}", "error", "message",
                          refusal->text, "type", refusal->type, "param",
                          refusal->param, "code", refusal->status);
    reply_json(request, refusal->status, error);
}

json_t *reply_read(struct evhttp_request *request, struct refusal *refusal)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    size_t length = evbuffer_get_length(body);
    const char *text = (const char *)evbuffer_pullup(body, -1);
    json_error_t error;
    json_t *value;

    if (length == 0) {
        refuse_field(refusal, NULL, "the body is empty");
        return NULL;
    }
    value = json_loadb(text, length, JSON_ALLOW_NUL, &error);
    if (value == NULL)
        refuse_field(refusal, NULL, "JSON decode error: %s", error.text);
    else if (!json_is_object(value))
        refuse_field(refusal, NULL, "the body is not a JSON object");
    if (json_is_object(value))
        return value;
    json_decref(value);
    return NULL;
}
