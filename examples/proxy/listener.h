/* SPDX-License-Identifier: MIT */
/*
 * The public port: libevent's HTTP server with bounds on everything, TLS where
 * a certificate is given. Requests that are well-formed become exchanges or are
 * answered at once (GET /v1/models, GET /health).
 */
#ifndef LBROUTE_PROXY_LISTENER_H
#define LBROUTE_PROXY_LISTENER_H

#include <stddef.h>
#include <stdint.h>

struct clients;
struct config;
struct evhttp;
struct event_base;
struct config_listen;
struct gateway;
struct listener;

/** Listens; NULL with a message if it can't. */
struct listener *listener_create(struct gateway *gateway,
                                 const struct config *config, char *error,
                                 size_t error_size);

/** Takes over other bounds and time limits. */
void listener_apply(struct listener *listener, const struct config *config);

/** Accepts nobody any more; connections stay. */
void listener_stop(struct listener *listener);
void listener_destroy(struct listener *listener);
uint16_t listener_port(const struct listener *listener);

/** Its connections. */
struct clients *listener_clients(const struct listener *listener);

/** Takes new connections while there is room for them. */
void listener_look(struct listener *listener);

/** A server of libevent on an address, for the admin port; NULL with a
 * message. `port` receives the port. */
struct evhttp *listener_open(struct event_base *base,
                             const struct config_listen *listen, uint16_t *port,
                             char *error, size_t error_size);

#endif
