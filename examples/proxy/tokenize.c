/* SPDX-License-Identifier: MIT */
#include "tokenize.h"

#include "asked_json.h"
#include "config.h"
#include "exchange_parts.h"
#include "fleet.h"
#include "gateway.h"
#include "json_read.h"
#include "log.h"
#include "upstream.h"

#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdint.h>
#include <string.h>

/* A pick by text now is better than one by ids too late. */
static const double PATIENCE_S = 2.0;

/* Of a client's deadline: with less left nobody is asked. */
static const double LEAST_LEFT_S = 0.05;

/* Who did not tell is left alone for so long: a target that hangs must not cost
 * each request in turn that patience. */
static const double LEAVE_ALONE_S = 30.0;

/* Of an answer: a template may add to the prompt, and each of its bytes may be
 * an id of some digits. */
enum { ANSWER_LEAST = 1 << 20, ANSWER_TIMES = 16 };

static void heard_head(void *context, int status, struct evkeyvalq *headers);
static void heard_body(void *context, struct evbuffer *bytes);
static void heard_end(void *context);
static void heard_failure(void *context, enum upstream_failure failure);

static const struct upstream_listener LISTENER = {heard_head, heard_body,
                                                  heard_end, heard_failure};

static bool is_text_prompt(const struct asked *asked)
{
    return asked->dialect == DIALECT_OPENAI && asked->prompt_len > 0 &&
           !asked->tokens &&
           (asked->kind == ASKED_CHAT || asked->kind == ASKED_COMPLETION);
}

/* By the operator. Nothing goes to a target that may be about to end. */
static bool is_drained(const struct backend *backend)
{
    lbroute_target_info info;
    lbroute_target_info_init(&info, sizeof info);
    return lbroute_target_get_info(backend->gateway->router, backend->target,
                                   &info) != LBROUTE_OK ||
           info.draining;
}

static bool serves(const struct config_target *settings,
                   const struct exchange *exchange)
{
    const lbroute_request *wanted = &exchange->wanted;
    if (wanted->pool)
        return strcmp(settings->pool,
                      exchange->gateway->config->default_pool) == 0;
    return strlen(settings->model) == wanted->model_len &&
           memcmp(settings->model, wanted->model, wanted->model_len) == 0;
}

/* Whether a backend could serve the request, and tells ids. */
static bool suits(const struct exchange *exchange,
                  const struct backend *backend)
{
    const struct config_target *settings = backend->settings;
    return settings && *settings->tokenize_path && backend->target &&
           exchange->began >= backend->tokenize_after &&
           serves(settings, exchange) && !is_drained(backend);
}

/* In turn, so that no engine tokenizes for all. */
static struct backend *find_backend(struct exchange *exchange)
{
    struct fleet *fleet = exchange->gateway->fleet;
    struct backend *first = NULL;
    size_t suitable = 0;
    if (!fleet->tokenizes)
        return NULL;
    size_t skip = fleet->tokenize_turn++;
    for (struct backend *b = fleet->backends; b; b = b->next)
        suitable += suits(exchange, b);
    if (!suitable)
        return NULL;
    skip %= suitable;
    for (first = fleet->backends; !suits(exchange, first) || skip--;)
        first = first->next;
    return first;
}

static bool add_headers(const struct backend *backend, struct evkeyvalq *out,
                        struct evkeyvalq *in)
{
    const char *client = evhttp_find_header(in, "Authorization");
    if (evhttp_add_header(out, "Content-Type", "application/json") != 0)
        return false;
    if (backend->api_key || !client)
        return backend_add_key(backend, out);
    return evhttp_add_header(out, "Authorization", client) == 0;
}

/* How long to wait, seconds; 0: not at all. A client's deadline is for the
 * answer, too. */
static double patience(const struct exchange *exchange)
{
    const lbroute_request *wanted = &exchange->wanted;
    if (!wanted->deadline)
        return PATIENCE_S;
    double left = (double)(wanted->deadline - exchange->began) * 1e-9;
    if (left < LEAST_LEFT_S)
        return 0;
    return left / 2 < PATIENCE_S ? left / 2 : PATIENCE_S;
}

static struct upstream_call *call(struct exchange *exchange,
                                  struct backend *backend)
{
    struct evkeyvalq headers;
    TAILQ_INIT(&headers);
    struct upstream_request request = {
        .method = "POST",
        .path = backend->settings->tokenize_path,
        .headers = &headers,
        .body = evhttp_request_get_input_buffer(exchange->request),
        .connect_timeout = PATIENCE_S,
        .first_byte_timeout = PATIENCE_S,
        .idle_timeout = PATIENCE_S,
        .total_timeout = patience(exchange),
    };
    struct upstream_call *made = NULL;
    if (add_headers(backend, &headers,
                    evhttp_request_get_input_headers(exchange->request)))
        made =
            upstream_send(backend->connections, &request, &LISTENER, exchange);
    evhttp_clear_headers(&headers);
    return made;
}

bool tokenize_begin(struct exchange *exchange)
{
    bool wanted = is_text_prompt(&exchange->asked) && patience(exchange) > 0;
    struct backend *backend = wanted ? find_backend(exchange) : NULL;
    if (!backend)
        return false;
    exchange->status = 0;
    exchange->call = call(exchange, backend);
    if (!exchange->call)
        return false;
    exchange->backend = backend;
    backend_hold(backend);
    return true;
}

static void drop_ids(struct exchange *exchange)
{
    if (exchange->ids)
        evbuffer_free(exchange->ids);
    exchange->ids = NULL;
}

static void take_ids(struct exchange *exchange)
{
    struct bytes ids = {0};
    size_t len = evbuffer_get_length(exchange->ids);
    const char *text =
        len ? (const char *)evbuffer_pullup(exchange->ids, -1) : "";
    json_t *answer = text ? json_read(text, len, NULL) : NULL;
    bool good = asked_tokens(json_object_get(answer, "tokens"), &ids);
    json_decref(answer);
    if (!good || ids.failed || !ids.len) {
        bytes_release(&ids);
        return;
    }
    exchange->asked.tokens = (uint32_t *)(void *)ids.data;
    exchange->asked.tokens_len = ids.len / sizeof *exchange->asked.tokens;
    exchange->wanted.tokens = exchange->asked.tokens;
    exchange->wanted.tokens_len = exchange->asked.tokens_len;
}

static uint64_t nanoseconds(double seconds)
{
    return (uint64_t)(seconds * 1e9);
}

/* An error that is the request's own says nothing of the engine. */
static bool is_own(const struct exchange *exchange)
{
    switch (exchange->status) {
    case 400:
    case 413:
    case 422:
        return true;
    case 401:
    case 403: /* A client's key must not take the ids of all others. */
        return !exchange->backend->api_key;
    default:
        return false;
    }
}

/* Requests that it failed at the same time, or in little time, are one line. */
static void complain(struct backend *backend, int status, uint64_t now)
{
    if (backend->tokenize_told &&
        now - backend->tokenize_told < nanoseconds(LEAVE_ALONE_S))
        return;
    backend->tokenize_told = now;
    if (status && status != HTTP_OK)
        log_line("target %s tells no token ids: status %d", backend->name,
                 status);
    else
        log_line("target %s tells no token ids, or not in time", backend->name);
}

static void note_failure(struct exchange *exchange, double alone_s)
{
    struct backend *backend = exchange->backend;
    uint64_t now = gateway_now(), until = now + nanoseconds(alone_s);
    exchange->gateway->counters.tokenize_failures++;
    if (is_own(exchange))
        return;
    if (backend->tokenize_after < until)
        backend->tokenize_after = until;
    complain(backend, exchange->status, now);
}

/* Without ids the backend is left alone for so long, if that is its fault. */
static void go_on(struct exchange *exchange, double alone_s)
{
    if (!exchange->asked.tokens)
        note_failure(exchange, alone_s);
    drop_ids(exchange);
    exchange_drop_call(exchange);
    exchange->status = 0;
    exchange_choose(exchange);
}

static void heard_head(void *context, int status, struct evkeyvalq *headers)
{
    struct exchange *exchange = context;
    (void)headers;
    exchange->status = status;
    if (status == HTTP_OK)
        exchange->ids = evbuffer_new();
    if (!exchange->ids)
        go_on(exchange, LEAVE_ALONE_S);
}

static size_t answer_max(const struct exchange *exchange)
{
    return ANSWER_LEAST +
           ANSWER_TIMES * evbuffer_get_length(evhttp_request_get_input_buffer(
                              exchange->request));
}

static void heard_body(void *context, struct evbuffer *bytes)
{
    struct exchange *exchange = context;
    if (evbuffer_get_length(exchange->ids) + evbuffer_get_length(bytes) >
            answer_max(exchange) ||
        evbuffer_add_buffer(exchange->ids, bytes) != 0)
        go_on(exchange, LEAVE_ALONE_S);
}

static void heard_end(void *context)
{
    struct exchange *exchange = context;
    exchange->call = NULL;
    take_ids(exchange);
    go_on(exchange, LEAVE_ALONE_S);
}

static void heard_failure(void *context, enum upstream_failure failure)
{
    struct exchange *exchange = context;
    double alone_s = LEAVE_ALONE_S;
    /* Whoever had less time is blamed less: a client's short deadline must not
     * take the ids of all others. */
    if (failure == UPSTREAM_TIMEOUT)
        alone_s *= patience(exchange) / PATIENCE_S;
    exchange->call = NULL;
    go_on(exchange, alone_s);
}
