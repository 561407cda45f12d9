/* SPDX-License-Identifier: MIT */
#include "client_parts.h"
#include "exchange_parts.h"
#include "gateway.h"
#include "listener.h"
#include "listener_tls.h"
#include "times.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/http.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* What a client may send ahead while its request is worked on. */
enum { AHEAD_MAX = 65536 };

void clients_apply(struct clients *clients, const struct config *config)
{
    clients->limit = config->limits.connections;
    clients->read_limit = (uint64_t)(config->timeouts.client * 1e9);
    clients->write_limit = to_timeval(config->timeouts.write);
    /* libevent leaves a body in the buffer until it is complete. */
    clients->input_max =
        config->limits.header_bytes + config->limits.body_bytes + AHEAD_MAX;
}

struct clients *clients_new(struct gateway *gateway,
                            const struct config *config)
{
    struct clients *clients = calloc(1, sizeof *clients);
    if (!clients)
        return NULL;
    clients->gateway = gateway;
    clients_apply(clients, config);
    return clients;
}

void clients_set_tls(struct clients *clients, struct ssl_ctx_st *context)
{
    clients->tls = context;
}

bool clients_have_room(const struct clients *clients)
{
    return clients->count < clients->limit;
}

uint32_t clients_busy(const struct clients *clients)
{
    return clients->busy;
}

void client_free(struct client *client)
{
    struct clients *all = client->all;
    if (client->previous)
        client->previous->next = client->next;
    else
        all->first = client->next;
    if (client->next)
        client->next->previous = client->previous;
    if (client->fd >= 0)
        all->by_fd[client->fd] = NULL;
    if (all->fresh == client)
        all->fresh = NULL;
    event_del(&client->linger);
    client_look_end(client);
    bufferevent_decref(client->bufev);
    all->count--;
    free(client);
}

void clients_free(struct clients *clients)
{
    if (!clients)
        return;
    while (clients->first)
        client_free(clients->first);
    free(clients->by_fd);
    free(clients);
}

static bool grow(struct clients *clients, size_t count)
{
    if (count <= clients->fd_count)
        return true;
    size_t room = count * 2;
    struct client **by_fd =
        realloc(clients->by_fd, room * sizeof *clients->by_fd);
    if (!by_fd)
        return false;
    memset(by_fd + clients->fd_count, 0,
           (room - clients->fd_count) * sizeof *by_fd);
    clients->by_fd = by_fd;
    clients->fd_count = room;
    return true;
}

/* libevent has given the latest one its socket by now. */
static void place_fresh(struct clients *clients)
{
    struct client *client = clients->fresh;
    if (!client)
        return;
    evutil_socket_t fd = bufferevent_getfd(client->bufev);
    clients->fresh = NULL;
    if (fd < 0 || !grow(clients, (size_t)fd + 1))
        return;
    client->fd = fd;
    clients->by_fd[fd] = client;
}

static void client_link(struct clients *clients, struct client *client)
{
    client->all = clients;
    client_linger_init(client);
    client->fd = -1;
    client->since = gateway_now();
    client->next = clients->first;
    if (clients->first)
        clients->first->previous = client;
    clients->first = client;
    clients->fresh = client;
    clients->count++;
    if (!clients_have_room(clients))
        listener_look(clients->gateway->listener);
}

/* Without memory libevent makes a plain connection of its own, which finds no
 * client here and is refused. */
struct bufferevent *clients_connect(struct event_base *base, void *context)
{
    struct clients *clients = context;
    place_fresh(clients);
    struct bufferevent *bufev = listener_tls_accept(base, clients->tls);
    struct client *client = bufev ? calloc(1, sizeof *client) : NULL;
    if (!client) {
        if (bufev)
            bufferevent_free(bufev);
        return NULL;
    }
    client->bufev = bufev;
    if (!client_look_begin(client)) {
        client_look_end(client);
        bufferevent_free(bufev);
        free(client);
        return NULL;
    }
    bufferevent_incref(bufev);
    /* Reading is watched by the sweep: it allows for long requests. */
    bufferevent_set_timeouts(bufev, NULL, &clients->write_limit);
    bufferevent_setwatermark(bufev, EV_READ, 0, clients->input_max);
    client_link(clients, client);
    return bufev;
}

struct client *client_find(struct clients *clients,
                           struct evhttp_request *request)
{
    struct evhttp_connection *connection =
        evhttp_request_get_connection(request);
    struct bufferevent *bufev = evhttp_connection_get_bufferevent(connection);
    evutil_socket_t fd = bufferevent_getfd(bufev);
    place_fresh(clients);
    if (fd < 0 || (size_t)fd >= clients->fd_count || !clients->by_fd[fd] ||
        clients->by_fd[fd]->bufev != bufev)
        return NULL;
    return clients->by_fd[fd];
}

static void count_answer(struct client *client)
{
    int status = evhttp_request_get_response_code(client->request) / 100;
    struct counters *counters = &client->all->gateway->counters;
    counters->answers[status > 0 && status < COUNTER_STATUSES ? status : 0]++;
    client->all->busy--;
    client->request = NULL;
}

/* The answer is with the kernel; the request is about to be freed. */
static void answered(struct evhttp_request *request, void *context)
{
    (void)request;
    struct client *client = context;
    count_answer(client);
    client->exchange = NULL;
    client->since = gateway_now();
    client->receiving = false;
    bufferevent_setwatermark(client->bufev, EV_READ, 0, client->all->input_max);
}

/* A proper end for TLS, unless the answer was cut: then the lack of it tells
 * the client so. */
static void say_goodbye(struct client *client)
{
    SSL *ssl = bufferevent_openssl_get_ssl(client->bufev);
    if (ssl && !client->request && SSL_is_init_finished(ssl))
        SSL_shutdown(ssl);
}

/* libevent is about to free the connection, whoever closed it. */
static void closed(struct evhttp_connection *connection, void *context)
{
    (void)connection;
    struct client *client = context;
    struct exchange *exchange = client->exchange;
    bool under_way = client->request != NULL;
    say_goodbye(client);
    if (under_way)
        count_answer(client);
    client->exchange = NULL;
    if (exchange)
        exchange_client_gone(exchange);
    if (under_way)
        client_free(client);
    else
        client_linger(client);
}

/* libevent's read callback must not run while a request is worked on (it ends
 * the process), but the end of the connection has to be seen. */
static void watch(struct client *client)
{
    bufferevent_data_cb write = NULL;
    bufferevent_event_cb event = NULL;
    void *context = NULL;
    bufferevent_getcb(client->bufev, NULL, &write, &event, &context);
    bufferevent_setcb(client->bufev, NULL, write, event, context);
    bufferevent_setwatermark(client->bufev, EV_READ, 0, AHEAD_MAX);
    bufferevent_enable(client->bufev, EV_READ);
}

struct client *client_begin(struct clients *clients,
                            struct evhttp_request *request)
{
    struct client *client = client_find(clients, request);
    if (!client)
        return NULL;
    client->request = request;
    clients->busy++;
    if (!client->connection) {
        client->connection = evhttp_request_get_connection(request);
        evhttp_connection_set_closecb(client->connection, closed, client);
    }
    evhttp_request_set_on_complete_cb(request, answered, client);
    watch(client);
    return client;
}

void client_attach(struct client *client, struct exchange *exchange)
{
    client->exchange = exchange;
}

void client_close_after(struct client *client)
{
    evhttp_add_header(evhttp_request_get_output_headers(client->request),
                      "Connection", "close");
}

static void broken(struct bufferevent *bufev, short what, void *context)
{
    (void)bufev;
    (void)what;
    struct client *client = context;
    evhttp_connection_free(client->connection);
}

static void flushed(struct bufferevent *bufev, void *context)
{
    broken(bufev, 0, context);
}

/* No end of the connection, but a reset: libevent would send the end first. */
static void abort_connection(evutil_socket_t fd)
{
    const struct linger at_once = {1, 0};
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    if (connect(fd, &nowhere, sizeof nowhere) != 0)
        shutdown(fd, SHUT_RDWR);
}

void client_break(struct client *client, bool reset)
{
    if (reset)
        abort_connection(client->fd);
    if (reset || client_backlog(client) == 0) {
        evhttp_connection_free(client->connection);
        return;
    }
    bufferevent_setwatermark(client->bufev, EV_WRITE, 0, 0);
    bufferevent_setcb(client->bufev, NULL, flushed, broken, client);
}

size_t client_backlog(const struct client *client)
{
    return evbuffer_get_length(bufferevent_get_output(client->bufev));
}

void client_set_low_water(struct client *client, size_t bytes)
{
    bufferevent_setwatermark(client->bufev, EV_WRITE, bytes, 0);
}

/* Whether libevent has freed the connection without a word. */
static bool abandoned(const struct client *client)
{
    bufferevent_event_cb event = NULL;
    bufferevent_getcb(client->bufev, NULL, NULL, &event, NULL);
    return !event;
}

static void close_now(struct client *client)
{
    bufferevent_trigger_event(client->bufev,
                              BEV_EVENT_READING | BEV_EVENT_TIMEOUT, 0);
}

/* A body that is on its way gets the time of a request of its own. */
static bool too_slow(struct client *client, uint64_t now)
{
    struct evbuffer *input = bufferevent_get_input(client->bufev);
    if (!client->receiving && evbuffer_get_length(input) > 0) {
        client->receiving = true;
        client->since = now;
    }
    return now - client->since >= client->all->read_limit;
}

static void sweep_one(struct client *client, uint64_t now)
{
    if (client->lingering || client->request)
        return;
    if (abandoned(client))
        client_linger(client);
    else if (too_slow(client, now))
        close_now(client);
}

void clients_sweep(struct clients *clients, uint64_t now)
{
    place_fresh(clients);
    struct client *next = NULL;
    for (struct client *client = clients->first; client; client = next) {
        next = client->next;
        sweep_one(client, now);
    }
}

void clients_close_idle(struct clients *clients)
{
    struct client *next = NULL;
    for (struct client *client = clients->first; client; client = next) {
        next = client->next;
        if (!client->lingering && !client->request && !abandoned(client) &&
            evbuffer_get_length(bufferevent_get_input(client->bufev)) == 0)
            close_now(client);
    }
}
