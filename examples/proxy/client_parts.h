/* SPDX-License-Identifier: MIT */
/*
 * What the files about clients share:
 *
 *     client.c         which there are, and the requests they have under way
 *     client_look.c    what passes unseen by libevent's callbacks
 *     client_linger.c  their end
 */
#ifndef LBROUTE_PROXY_CLIENT_PARTS_H
#define LBROUTE_PROXY_CLIENT_PARTS_H

#include "client.h"

#include <event2/event.h>
#include <event2/event_struct.h>

struct evbuffer_cb_entry;
struct evhttp_connection;

struct client {
    struct clients *all;
    struct client *next, *previous;
    struct bufferevent *bufev;
    evutil_socket_t fd;                   /* -1: not known yet. */
    struct evhttp_connection *connection; /* NULL: libevent's only, so far. */
    struct evhttp_request *request;       /* Until its answer is flushed. */
    struct exchange *exchange;
    uint64_t since; /* Accepted, or the last answer flushed. */
    bool receiving; /* Seen with a part of a body. */
    bool lingering;
    bool nul;     /* Has sent one. */
    bool refused; /* libevent refused what it sent, by itself. */
    struct evbuffer_cb_entry *look_in, *look_out;
    struct event linger; /* Begins it, once libevent has let go. */
};

struct clients {
    struct gateway *gateway;
    struct ssl_ctx_st *tls;
    struct client *first;
    struct client **by_fd;
    size_t fd_count;
    struct client *fresh; /* Its socket comes after the bufferevent. */
    uint32_t count, limit, busy;
    uint64_t read_limit; /* ns */
    struct timeval write_limit;
    size_t input_max;
};

/* client.c */
void client_free(struct client *client);

/* client_look.c */
bool client_look_begin(struct client *client);
void client_look_end(struct client *client);

/* client_linger.c */
void client_linger_init(struct client *client);

/* libevent frees the connection: from the event loop on, what still comes is
 * read and dropped for a while, so that the client gets to read its answer. */
void client_linger(struct client *client);

#endif
