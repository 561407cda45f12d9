/* SPDX-License-Identifier: MIT */
/*
 * Connections of one backend. libevent resets a connection inside its own
 * functions and looks at it afterwards, so that none is ever freed in a
 * callback: the reaper does it, an event of its own.
 */
#include "fleet.h"
#include "gateway.h"
#include "upstream_parts.h"
#include "upstream_tls.h"

#include <event2/bufferevent.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    IDLE_MAX = 512,          /* Connections kept for the next call. */
    HEADERS_MAX = 256 * 1024 /* Of an engine's answer. */
};

static void reap(evutil_socket_t fd, short what, void *context);

static char *authority_of(const struct backend *backend)
{
    size_t size = strlen(backend->host) + sizeof "[]:65535";
    char *text = malloc(size);
    bool usual = backend->port == (backend->tls ? 443 : 80);
    const char *form = strchr(backend->host, ':') ? "[%s]" : "%s";
    if (!text)
        return NULL;
    int used = snprintf(text, size, form, backend->host);
    if (!usual)
        snprintf(text + used, size - (size_t)used, ":%u",
                 (unsigned)backend->port);
    return text;
}

struct upstream_pool *upstream_pool_new(struct backend *backend)
{
    struct upstream_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->backend = backend;
    pool->authority = authority_of(backend);
    pool->reaper = event_new(backend->gateway->base, -1, 0, reap, pool);
    if (!pool->authority || !pool->reaper) {
        if (pool->reaper)
            event_free(pool->reaper);
        free(pool->authority);
        free(pool);
        return NULL;
    }
    return pool;
}

uint32_t upstream_idle(const struct upstream_pool *pool)
{
    return pool->idle_count;
}

static void unlink_idle(struct upstream_link *link)
{
    if (!link->idle)
        return;
    if (link->previous)
        link->previous->next = link->next;
    else
        link->pool->idle = link->next;
    if (link->next)
        link->next->previous = link->previous;
    link->next = link->previous = NULL;
    link->idle = false;
    link->pool->idle_count--;
}

void upstream_link_kill(struct upstream_link *link)
{
    if (link->dead)
        return;
    unlink_idle(link);
    link->dead = true;
    link->next = link->pool->dead;
    link->pool->dead = link;
    upstream_reap_later(link->pool);
}

/* The engine closed it, or libevent did after a failure. */
static void link_closed(struct evhttp_connection *connection, void *context)
{
    (void)connection;
    upstream_link_kill(context);
}

static struct evhttp_connection *connection_new(struct upstream_link *link)
{
    struct backend *backend = link->pool->backend;
    struct gateway *gateway = backend->gateway;
    struct bufferevent *bufev = NULL;
    if (backend->tls) {
        bufev =
            upstream_tls_new(gateway->base, gateway->client_tls, backend->host);
        if (!bufev)
            return NULL;
    }
    return evhttp_connection_base_bufferevent_new(
        gateway->base, gateway->dns, bufev, backend->host, backend->port);
}

static struct upstream_link *link_new(struct upstream_pool *pool)
{
    struct upstream_link *link = calloc(1, sizeof *link);
    if (!link)
        return NULL;
    link->pool = pool;
    link->connection = connection_new(link);
    if (!link->connection) {
        free(link);
        return NULL;
    }
    link->bufev = evhttp_connection_get_bufferevent(link->connection);
    evhttp_connection_set_closecb(link->connection, link_closed, link);
    evhttp_connection_set_max_headers_size(link->connection, HEADERS_MAX);
    /* Calls keep their own time: libevent has one limit for all it does. */
    const struct timeval never = {100000000, 0};
    evhttp_connection_set_timeout_tv(link->connection, &never);
    pool->links++;
    return link;
}

struct upstream_link *upstream_link_take(struct upstream_pool *pool, bool fresh)
{
    struct upstream_link *link = fresh ? NULL : pool->idle;
    if (!link)
        return link_new(pool);
    unlink_idle(link);
    return link;
}

void upstream_link_keep(struct upstream_link *link)
{
    struct upstream_pool *pool = link->pool;
    link->call = NULL;
    if (link->dead)
        return;
    if (pool->closed || pool->idle_count >= IDLE_MAX) {
        upstream_link_kill(link);
        return;
    }
    link->next = pool->idle;
    if (pool->idle)
        pool->idle->previous = link;
    pool->idle = link;
    link->idle = true;
    pool->idle_count++;
}

bool upstream_link_connected(const struct upstream_link *link)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    evutil_socket_t fd = bufferevent_getfd(link->bufev);
    if (fd < 0 || getpeername(fd, (struct sockaddr *)&peer, &size) != 0)
        return false;
    return !link->pool->backend->tls || upstream_tls_ready(link->bufev);
}

void upstream_link_tune(struct upstream_link *link)
{
    evutil_socket_t fd = bufferevent_getfd(link->bufev);
    if (link->tuned || fd < 0)
        return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    link->tuned = true;
}

void upstream_spend(struct upstream_pool *pool, struct evhttp_request *request)
{
    if (pool->spent)
        evhttp_request_free(pool->spent);
    pool->spent = request;
}

void upstream_reap_later(struct upstream_pool *pool)
{
    event_active(pool->reaper, EV_TIMEOUT, 0);
}

static void link_free(struct upstream_link *link)
{
    evhttp_connection_set_closecb(link->connection, NULL, NULL);
    evhttp_connection_free(link->connection);
    link->pool->links--;
    free(link);
}

static void reap(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    struct upstream_pool *pool = context;
    upstream_reap_calls(pool);
    while (pool->dead) {
        struct upstream_link *link = pool->dead;
        pool->dead = link->next;
        link_free(link);
    }
    if (!pool->closed || pool->links || pool->calls)
        return;
    upstream_spend(pool, NULL);
    event_free(pool->reaper);
    free(pool->authority);
    free(pool);
}

void upstream_pool_free(struct upstream_pool *pool)
{
    if (!pool)
        return;
    pool->closed = true;
    while (pool->idle)
        upstream_link_kill(pool->idle);
    upstream_reap_later(pool);
}
