/* SPDX-License-Identifier: MIT */
#include "listener.h"
#include "client.h"
#include "config.h"
#include "gateway.h"
#include "listener_tls.h"
#include "log.h"
#include "routes.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { BACKLOG = 1024 };

struct listener {
    struct gateway *gateway;
    struct evhttp *http;
    struct evhttp_bound_socket *bound; /* NULL: stopped. */
    struct clients *clients;
    struct ssl_ctx_st *tls;
    uint16_t port;
};

static struct evutil_addrinfo *look_up(const struct config_listen *listen,
                                       char *error, size_t error_size)
{
    struct evutil_addrinfo hints = {0}, *found = NULL;
    char port[8];
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = EVUTIL_AI_PASSIVE;
    snprintf(port, sizeof port, "%u", (unsigned)listen->port);
    const char *host = *listen->address ? listen->address : NULL;
    int failed = evutil_getaddrinfo(host, port, &hints, &found);
    if (failed)
        snprintf(error, error_size, "cannot listen on %s: %s", listen->address,
                 evutil_gai_strerror(failed));
    return failed ? NULL : found;
}

static uint16_t port_of(evutil_socket_t fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6
                     ? ((struct sockaddr_in6 *)&address)->sin6_port
                     : ((struct sockaddr_in *)&address)->sin_port);
}

/* Accepted sockets take over the options of the one that listens. */
static void set_options(evutil_socket_t fd)
{
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

static struct evconnlistener *bind_to(struct event_base *base,
                                      const struct config_listen *listen,
                                      char *error, size_t error_size)
{
    struct evutil_addrinfo *found = look_up(listen, error, error_size);
    if (!found)
        return NULL;
    struct evconnlistener *socket = evconnlistener_new_bind(
        base, NULL, NULL,
        LEV_OPT_REUSEABLE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE,
        BACKLOG, found->ai_addr, (int)found->ai_addrlen);
    if (!socket)
        snprintf(error, error_size, "cannot listen on %s port %u: %s",
                 listen->address, (unsigned)listen->port, strerror(errno));
    else
        set_options(evconnlistener_get_fd(socket));
    evutil_freeaddrinfo(found);
    return socket;
}

static struct evhttp *serve(struct event_base *base,
                            const struct config_listen *listen,
                            struct evhttp_bound_socket **bound, char *error,
                            size_t error_size)
{
    struct evconnlistener *socket = bind_to(base, listen, error, error_size);
    if (!socket)
        return NULL;
    struct evhttp *http = evhttp_new(base);
    *bound = http ? evhttp_bind_listener(http, socket) : NULL;
    if (*bound)
        return http;
    snprintf(error, error_size, "out of memory");
    if (http)
        evhttp_free(http);
    evconnlistener_free(socket);
    return NULL;
}

static struct evconnlistener *socket_of(const struct listener *listener)
{
    return evhttp_bound_socket_get_listener(listener->bound);
}

struct evhttp *listener_open(struct event_base *base,
                             const struct config_listen *listen, uint16_t *port,
                             char *error, size_t error_size)
{
    struct evhttp_bound_socket *bound = NULL;
    struct evhttp *http = serve(base, listen, &bound, error, error_size);
    if (http)
        *port = port_of(evhttp_bound_socket_get_fd(bound));
    return http;
}

/* Most of all when no descriptor is left: libevent would call again at once,
 * for ever. listener_look() tries again. */
static void accept_failed(struct evconnlistener *socket, void *http)
{
    (void)http;
    log_line("cannot accept connections: %s", strerror(errno));
    evconnlistener_disable(socket);
}

/* Everything but CONNECT and TRACE reaches routes_take(), methods that libevent
 * does not know included, so that all get an answer of the same form. */
static void set_up(struct listener *listener)
{
    const ev_uint16_t none = EVHTTP_REQ_CONNECT | EVHTTP_REQ_TRACE;
    evhttp_set_allowed_methods(listener->http, (ev_uint16_t)~none);
    evhttp_set_gencb(listener->http, routes_take, listener->gateway);
    evhttp_set_bevcb(listener->http, clients_connect, listener->clients);
    evhttp_set_default_content_type(listener->http, NULL);
    evconnlistener_set_error_cb(socket_of(listener), accept_failed);
}

struct listener *listener_create(struct gateway *gateway,
                                 const struct config *config, char *error,
                                 size_t error_size)
{
    struct listener *listener = calloc(1, sizeof *listener);
    if (!listener) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    listener->gateway = gateway;
    listener->clients = clients_new(gateway, config);
    if (listener->clients)
        listener->http = serve(gateway->base, &config->listen, &listener->bound,
                               error, error_size);
    if (!listener->http) {
        listener_destroy(listener);
        return NULL;
    }
    listener->port = port_of(evhttp_bound_socket_get_fd(listener->bound));
    set_up(listener);
    listener_apply(listener, config);
    if (*config->listen.certificate && !listener->tls) {
        snprintf(error, error_size, "cannot use the certificate");
        listener_destroy(listener);
        return NULL;
    }
    return listener;
}

/* A certificate that was renewed is taken over; one that cannot be read leaves
 * the old one in force. */
static void apply_tls(struct listener *listener,
                      const struct config_listen *listen)
{
    char error[256] = "";
    if (!listener_tls_read(&listener->tls, listen, error, sizeof error))
        log_line("%s", error);
    clients_set_tls(listener->clients, listener->tls);
}

/* libevent's own bound on headers is twice as wide, so that most of what is too
 * large gets the status that says so. */
void listener_apply(struct listener *listener, const struct config *config)
{
    const struct config_limits *limits = &config->limits;
    evhttp_set_max_headers_size(listener->http,
                                (ev_ssize_t)(2 * limits->header_bytes));
    evhttp_set_max_body_size(listener->http, (ev_ssize_t)limits->body_bytes);
    clients_apply(listener->clients, config);
    apply_tls(listener, &config->listen);
}

void listener_look(struct listener *listener)
{
    if (!listener->bound)
        return;
    if (clients_have_room(listener->clients))
        evconnlistener_enable(socket_of(listener));
    else
        evconnlistener_disable(socket_of(listener));
}

void listener_stop(struct listener *listener)
{
    if (listener->bound)
        evhttp_del_accept_socket(listener->http, listener->bound);
    listener->bound = NULL;
}

void listener_destroy(struct listener *listener)
{
    if (!listener)
        return;
    if (listener->http)
        evhttp_free(listener->http);
    clients_free(listener->clients);
    SSL_CTX_free(listener->tls);
    free(listener);
}

struct clients *listener_clients(const struct listener *listener)
{
    return listener->clients;
}

uint16_t listener_port(const struct listener *listener)
{
    return listener->port;
}
