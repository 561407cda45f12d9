/* SPDX-License-Identifier: MIT */
/*
 * The connections of clients. libevent's server knows them from their first
 * byte on but tells of a connection only with its first complete request, so
 * that each is registered when its bufferevent is made, and found again by its
 * socket.
 *
 *     accept ──▶ reading ──▶ busy ──▶ reading ──▶ … ──▶ closed ─▶ lingering
 *                  request ready │ ▲ answer flushed        (reads on, so that
 *                                ▼ │                        the answer is not
 *                              exchange                     lost) ──▶ gone
 *
 * A reference to the bufferevent is held, which keeps the socket open, and its
 * number taken, until this is done with it.
 */
#ifndef LBROUTE_PROXY_CLIENT_H
#define LBROUTE_PROXY_CLIENT_H

#include "config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bufferevent;
struct client;
struct clients;
struct event_base;
struct evhttp_request;
struct exchange;
struct gateway;
struct ssl_ctx_st;

struct clients *clients_new(struct gateway *gateway,
                            const struct config *config);

/** When libevent's server is gone already. */
void clients_free(struct clients *clients);

/** Other bounds, for connections old and new. */
void clients_apply(struct clients *clients, const struct config *config);

/** New connections speak TLS with it; NULL: plain. Not owned. */
void clients_set_tls(struct clients *clients, struct ssl_ctx_st *context);

/** For evhttp_set_bevcb(), with the clients as its argument. */
struct bufferevent *clients_connect(struct event_base *base, void *clients);

/** Whether there is room for further connections. */
bool clients_have_room(const struct clients *clients);

/** Requests whose answer is not yet sent in full. */
uint32_t clients_busy(const struct clients *clients);

/** Once a second: closes who is too slow, and lets go of who is gone. */
void clients_sweep(struct clients *clients, uint64_t now);

/** Closes connections on which nothing is under way. */
void clients_close_idle(struct clients *clients);

/** A request is complete: its connection is watched for the end of the client
 * from here on. NULL: unknown. */
struct client *client_begin(struct clients *clients,
                            struct evhttp_request *request);

/** The client of a request that has begun. */
struct client *client_find(struct clients *clients,
                           struct evhttp_request *request);

/** Whether a NUL was in what it sent, this request or what it sent ahead. */
bool client_sent_nul(const struct client *client);

/** Whom to tell that the client is gone, exchange_client_gone(); NULL:
 * nobody. */
void client_attach(struct client *client, struct exchange *exchange);

/** Its connection closes with this answer. */
void client_close_after(struct client *client);

/** Closes it after what was sent so far, without an end of the answer. `reset`:
 * where the end of the connection would pass for the end of the answer. */
void client_break(struct client *client, bool reset);

/** Bytes that it has not taken yet. */
size_t client_backlog(const struct client *client);

/** Its write callback comes when no more than that is left; 0 again before the
 * answer ends. */
void client_set_low_water(struct client *client, size_t bytes);

#endif
