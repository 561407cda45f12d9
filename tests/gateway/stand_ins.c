/* SPDX-License-Identifier: MIT */
#include "stand_ins.h"

#include "admin_stage.h"
#include "asked.h"
#include "exchange.h"
#include "listener.h"
#include "reply.h"

#include <event2/http.h>
#include <event2/listener.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

struct stage *stand_ins_stage;

uint64_t gateway_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) +
           (uint64_t)time.tv_nsec;
}

/* Every other time it goes wrong. */
bool gateway_reload(struct gateway *gateway, char *error, size_t error_size)
{
    static bool good;

    good = !good;
    if (good)
        gateway->counters.reloads++;
    else
        gateway->counters.reload_failures++;
    snprintf(error, error_size, "proxy.yaml:3:5: no such key");
    return good;
}

void exchanges_serve_waiting(struct gateway *gateway)
{
    (void)gateway;
    stage_serve_waiting(stand_ins_stage);
}

/* The pool whose targets serve the model. */
static lbroute_pool find_pool(lbroute_router *router, const char *model)
{
    lbroute_target_info info;
    lbroute_target target = 0;

    lbroute_target_info_init(&info, sizeof(info));
    while (lbroute_target_next(router, 0, target, &target) == LBROUTE_OK)
        if (lbroute_target_get_info(router, target, &info) == LBROUTE_OK &&
            strcmp(info.model, model) == 0)
            return info.pool;
    return 0;
}

bool exchange_describe(struct gateway *gateway, const struct asked *asked,
                       struct evkeyvalq *headers, uint64_t now,
                       struct exchange_identity *identity,
                       lbroute_request *request, struct asked_error *error)
{
    const char *session = evhttp_find_header(headers, "x-session-id");

    (void)now;
    identity->client = 0;
    lbroute_request_init(request, sizeof(*request));
    request->pool = find_pool(gateway->router, asked->model);
    request->prompt = asked->prompt;
    request->prompt_len = asked->prompt_len;
    if (session != NULL) {
        request->session = session;
        request->session_len = strlen(session);
    }
    error->status = 404;
    snprintf(error->text, sizeof(error->text), "Nobody serves this model.");
    snprintf(error->param, sizeof(error->param), "model");
    return request->pool != 0;
}

void reply_decision_headers(struct gateway *gateway,
                            const lbroute_decision *decision, int result,
                            struct evkeyvalq *headers)
{
    char name[300], value[1200];
    size_t length;

    (void)result;
    for (size_t i = 0;
         lbroute_decision_header(gateway->router, decision, i, name,
                                 sizeof(name), &length, value, sizeof(value),
                                 &length) == LBROUTE_OK;
         i++)
        evhttp_add_header(headers, name, value);
}

static uint16_t bound_port(struct evhttp_bound_socket *bound)
{
    struct sockaddr_in address;
    socklen_t length = sizeof(address);

    memset(&address, 0, sizeof(address));
    getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address,
                &length);
    return ntohs(address.sin_port);
}

struct evhttp *listener_open(struct event_base *base,
                             const struct config_listen *listen, uint16_t *port,
                             char *error, size_t error_size)
{
    struct evhttp *http = evhttp_new(base);
    struct evhttp_bound_socket *bound =
        evhttp_bind_socket_with_handle(http, listen->address, listen->port);

    if (bound == NULL) {
        snprintf(error, error_size, "cannot listen");
        evhttp_free(http);
        return NULL;
    }
    *port = bound_port(bound);
    return http;
}
