/* SPDX-License-Identifier: MIT */
#include "record.h"

#include <event2/buffer.h>
#include <event2/keyvalq_struct.h>

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_secret(const char *name)
{
    static const char *const secret[] = {"authorization", "proxy-authorization",
                                         "x-api-key", "api-key", "cookie"};

    for (size_t i = 0; i < sizeof secret / sizeof secret[0]; i++)
        if (strcmp(name, secret[i]) == 0)
            return true;
    return false;
}

static const char *method_name(enum evhttp_cmd_type type)
{
    switch (type) {
    case EVHTTP_REQ_GET:
        return "GET";
    case EVHTTP_REQ_POST:
        return "POST";
    case EVHTTP_REQ_HEAD:
        return "HEAD";
    case EVHTTP_REQ_DELETE:
        return "DELETE";
    default:
        return "other";
    }
}

static json_t *joined(const json_t *before, const char *value)
{
    if (!json_is_string(before))
        return json_string(value);
    return json_sprintf("%s, %s", json_string_value(before), value);
}

static void add_header(json_t *headers, const char *name, const char *value)
{
    char small[128];
    size_t length = 0;

    for (; name[length] != '\0' && length < sizeof small - 1; length++)
        small[length] = (char)tolower((unsigned char)name[length]);
    small[length] = '\0';
    if (is_secret(small))
        json_object_set_new(headers, small, json_true());
    else
        json_object_set_new(headers, small,
                            joined(json_object_get(headers, small), value));
}

json_t *record_request(struct evhttp_request *request)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    json_t *headers = json_object();
    const struct evkeyval *header;

    for (header = evhttp_request_get_input_headers(request)->tqh_first;
         header != NULL; header = header->next.tqe_next)
        add_header(headers, header->key, header->value);
    return json_pack("{s:s,s:s,s:I,s:o}", "method",
                     method_name(evhttp_request_get_command(request)), "path",
                     evhttp_request_get_uri(request), "body_bytes",
                     (json_int_t)evbuffer_get_length(body), "headers", headers);
}
