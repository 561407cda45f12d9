/* SPDX-License-Identifier: MIT */
#include "admin.h"

#include "admin_guard.h"
#include "admin_parts.h"
#include "config.h"
#include "dashboard.h"
#include "gateway.h"
#include "guard.h"
#include "listener.h"
#include "listener_tls.h"
#include "log.h"
#include "metrics_page.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <openssl/ssl.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { BODY_MAX = 1 << 20, HEADERS_MAX = 32 << 10, TIMEOUT_S = 60 };

struct admin {
    struct gateway *gateway;
    struct evhttp *http;
    struct ssl_ctx_st *tls;
    char *address;
    uint16_t port;
};

/* What stands at a path: "/api/pools/" is followed by a name. */
struct resource {
    const char *path;
    admin_handler *get, *post;
};

static const struct resource resources[] = {
    {"/api/status", admin_get_status, NULL},
    {"/api/pools", admin_get_pools, NULL},
    {"/api/pools/", NULL, admin_post_pool},
    {"/api/parameters", admin_get_parameters, NULL},
    {"/api/targets", admin_get_targets, NULL},
    {"/api/targets/", NULL, admin_post_target},
    {"/api/clients", admin_get_clients, NULL},
    {"/api/decisions", admin_get_decisions, NULL},
    {"/api/decisions/", admin_get_decision, NULL},
    {"/api/explain", NULL, admin_post_explain},
    {"/api/adaptive", NULL, admin_post_adaptive},
    {"/api/reload", NULL, admin_post_reload},
};

static const char *reason_phrase(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 415:
        return "Unsupported Media Type";
    case 503:
        return "Service Unavailable";
    default:
        return status < 500 ? "Refused" : "Internal Server Error";
    }
}

/* Sends what is in the request's output buffer. */
static void send_answer(struct evhttp_request *request, int status,
                        const char *type)
{
    static const char *const fixed[][2] = {
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"X-Frame-Options", "DENY"}};
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);

    evhttp_add_header(headers, "Content-Type", type);
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
        evhttp_add_header(headers, fixed[i][0], fixed[i][1]);
    evhttp_send_reply(request, status, reason_phrase(status), NULL);
}

static void free_text(const void *data, size_t len, void *text)
{
    (void)data;
    (void)len;
    free(text);
}

/* Takes the value over; NULL: there was no memory for it. */
static void send_json(struct evhttp_request *request, int status, json_t *value)
{
    struct evbuffer *out = evhttp_request_get_output_buffer(request);
    char *text = NULL;

    if (value != NULL)
        text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(value);
    if (text == NULL) {
        status = 500;
        evbuffer_add_printf(out,
                            "{\"error\":{\"message\":\"Out of memory.\"}}");
    } else if (evbuffer_add_reference(out, text, strlen(text), free_text,
                                      text) != 0) {
        free(text);
        status = 500;
    }
    send_answer(request, status, "application/json");
}

static json_t *error_value(const char *text)
{
    return json_pack("{s:{s:o}}", "error", "message",
                     json_string_nocheck(text));
}

static void refuse(struct evhttp_request *request, int status, const char *text)
{
    send_json(request, status, error_value(text));
}

json_t *admin_refuse(struct admin_call *call, int status, const char *format,
                     ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    call->status = status;
    return error_value(text);
}

const char *admin_unknown_key(const struct admin_call *call,
                              const char *const *known)
{
    const char *key;
    json_t *value;

    json_object_foreach(call->body, key, value)
    {
        size_t i = 0;

        while (known[i] != NULL && strcmp(known[i], key) != 0)
            i++;
        if (known[i] == NULL)
            return key;
    }
    return NULL;
}

uint64_t admin_query_number(const struct admin_call *call, const char *key,
                            uint64_t otherwise)
{
    const char *text = evhttp_find_header(call->query, key);
    uint64_t number;
    char *end;

    if (text == NULL || *text < '0' || *text > '9')
        return otherwise;
    number = strtoull(text, &end, 10);
    return *end == '\0' ? number : otherwise;
}

static void refuse_method(struct evhttp_request *request, const char *allowed)
{
    evhttp_add_header(evhttp_request_get_output_headers(request), "Allow",
                      allowed);
    refuse(request, 405, "This resource has no such method.");
}

static bool is_get(const struct evhttp_request *request)
{
    enum evhttp_cmd_type method = evhttp_request_get_command(request);

    return method == EVHTTP_REQ_GET || method == EVHTTP_REQ_HEAD;
}

/* NULL with an answer sent: the body is no JSON object. */
static json_t *read_body(struct evhttp_request *request)
{
    struct evbuffer *in = evhttp_request_get_input_buffer(request);
    size_t length = evbuffer_get_length(in);
    const char *bytes = (const char *)evbuffer_pullup(in, -1);
    json_t *body;

    if (!admin_guard_type(evhttp_find_header(
            evhttp_request_get_input_headers(request), "Content-Type"))) {
        refuse(request, 415, "Content-Type must be application/json.");
        return NULL;
    }
    body = json_loadb(bytes ? bytes : "", length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(body)) {
        json_decref(body);
        refuse(request, 400, "The body must be a JSON object.");
        return NULL;
    }
    return body;
}

static void run(struct evhttp_request *request, admin_handler *handler,
                struct admin_call *call)
{
    struct evkeyvalq query;
    const char *text =
        evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request));
    json_t *answer;

    TAILQ_INIT(&query);
    if (text != NULL)
        evhttp_parse_query_str(text, &query);
    call->query = &query;
    answer = handler(call);
    evhttp_clear_headers(&query);
    send_json(request, call->status, answer);
}

/* Calls with the name that follows in the path. One with a zero byte in it is
 * nobody's, and must not pass for its beginning. */
static void call_by_name(struct evhttp_request *request, admin_handler *handler,
                         struct admin_call *call, const char *rest)
{
    size_t size = 0;
    char *name = evhttp_uridecode(rest, 0, &size);

    call->name = name;
    if (name == NULL)
        send_json(request, 500, NULL);
    else if (strlen(name) != size)
        refuse(request, 404, "No name holds a zero byte.");
    else
        run(request, handler, call);
    free(name);
}

static void serve_resource(struct admin *admin, struct evhttp_request *request,
                           const struct resource *resource, const char *rest)
{
    bool get = is_get(request);
    bool post = evhttp_request_get_command(request) == EVHTTP_REQ_POST;
    admin_handler *handler = get ? resource->get : post ? resource->post : NULL;
    struct admin_call call = {
        .gateway = admin->gateway, .now = gateway_now(), .status = 200};

    if (handler == NULL) {
        refuse_method(request, resource->get ? "GET, HEAD" : "POST");
        return;
    }
    if (post) {
        call.body = read_body(request);
        if (call.body == NULL)
            return;
    }
    call_by_name(request, handler, &call, rest);
    json_decref(call.body);
}

static bool serve_api(struct admin *admin, struct evhttp_request *request,
                      const char *path)
{
    for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++) {
        const struct resource *resource = &resources[i];
        size_t length = strlen(resource->path);
        bool named = resource->path[length - 1] == '/';

        if (strncmp(path, resource->path, length) != 0 ||
            (path[length] != '\0') != named)
            continue;
        serve_resource(admin, request, resource, path + length);
        return true;
    }
    return false;
}

static void serve_page(struct admin *admin, struct evhttp_request *request)
{
    (void)admin;
    evhttp_add_header(evhttp_request_get_output_headers(request),
                      "Content-Security-Policy", dashboard_policy);
    evbuffer_add_reference(evhttp_request_get_output_buffer(request),
                           dashboard_page, dashboard_size, NULL, NULL);
    send_answer(request, 200, "text/html; charset=utf-8");
}

static void serve_metrics(struct admin *admin, struct evhttp_request *request)
{
    if (metrics_page_write(admin->gateway, gateway_now(),
                           evhttp_request_get_output_buffer(request)))
        send_answer(request, 200, "text/plain; version=0.0.4; charset=utf-8");
    else
        send_json(request, 500, NULL);
}

static void serve_health(struct admin *admin, struct evhttp_request *request)
{
    bool draining = admin->gateway->draining;

    send_json(request, draining ? 503 : 200,
              json_pack("{s:s}", "status", draining ? "draining" : "ok"));
}

static const struct {
    const char *path;
    void (*serve)(struct admin *admin, struct evhttp_request *request);
} pages[] = {
    {"/", serve_page},
    {"/metrics", serve_metrics},
    {"/health", serve_health},
};

static bool serve_pages(struct admin *admin, struct evhttp_request *request,
                        const char *path)
{
    for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
        if (strcmp(path, pages[i].path) != 0)
            continue;
        if (is_get(request))
            pages[i].serve(admin, request);
        else
            refuse_method(request, "GET, HEAD");
        return true;
    }
    return false;
}

/* Whoever follows a link to the page may come from anywhere; whatever reads or
 * changes something must come from the page, or from no page. */
static bool is_welcome(struct admin *admin, struct evhttp_request *request,
                       const char *path)
{
    struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
    bool bodyless = evhttp_request_get_command(request) == EVHTTP_REQ_HEAD;
    struct asked_error error;

    if (!guard_request(evhttp_request_get_uri(request), bodyless, headers,
                       &error))
        refuse(request, error.status, error.text);
    else if (!admin_guard_host(evhttp_find_header(headers, "Host"),
                               admin->address))
        refuse(request, 403, "The Host header is no name of this port.");
    else if (strcmp(path, "/") != 0 && !admin_guard_origin(headers))
        refuse(request, 403, "Requests of other pages are not answered.");
    else
        return true;
    return false;
}

static void serve(struct evhttp_request *request, void *context)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
    struct admin *admin = context;

    if (path == NULL)
        path = "";
    if (!is_welcome(admin, request, path) ||
        serve_pages(admin, request, path) || serve_api(admin, request, path))
        return;
    refuse(request, 404, "There is no such resource.");
}

static struct bufferevent *connect_one(struct event_base *base, void *context)
{
    const struct admin *admin = context;

    return listener_tls_accept(base, admin->tls);
}

static void configure(struct admin *admin)
{
    evhttp_set_max_body_size(admin->http, BODY_MAX);
    evhttp_set_max_headers_size(admin->http, HEADERS_MAX);
    evhttp_set_timeout(admin->http, TIMEOUT_S);
    /* All of them, so that wrong ones are told which are right. */
    evhttp_set_allowed_methods(
        admin->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
                         EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |
                         EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH);
    evhttp_set_gencb(admin->http, serve, admin);
    evhttp_set_bevcb(admin->http, connect_one, admin);
}

struct admin *admin_create(struct gateway *gateway,
                           const struct config_listen *listen, char *error,
                           size_t error_size)
{
    struct admin *admin = calloc(1, sizeof(*admin));
    size_t length = strlen(listen->address) + 1;

    if (admin != NULL)
        admin->address = malloc(length);
    if (admin == NULL || admin->address == NULL) {
        snprintf(error, error_size, "out of memory");
        free(admin);
        return NULL;
    }
    memcpy(admin->address, listen->address, length);
    admin->gateway = gateway;
    admin->http =
        listener_open(gateway->base, listen, &admin->port, error, error_size);
    if (admin->http == NULL ||
        !listener_tls_read(&admin->tls, listen, error, error_size)) {
        admin_destroy(admin);
        return NULL;
    }
    configure(admin);
    return admin;
}

void admin_apply(struct admin *admin, const struct config_listen *listen)
{
    char error[256] = "";

    if (!listener_tls_read(&admin->tls, listen, error, sizeof(error)))
        log_line("%s", error);
}

void admin_destroy(struct admin *admin)
{
    if (admin == NULL)
        return;
    if (admin->http != NULL)
        evhttp_free(admin->http);
    SSL_CTX_free(admin->tls);
    free(admin->address);
    free(admin);
}

uint16_t admin_port(const struct admin *admin)
{
    return admin->port;
}
