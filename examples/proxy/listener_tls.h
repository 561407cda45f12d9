/* SPDX-License-Identifier: MIT */
#ifndef LBROUTE_PROXY_LISTENER_TLS_H
#define LBROUTE_PROXY_LISTENER_TLS_H

#include <stdbool.h>
#include <stddef.h>

struct bufferevent;
struct config_listen;
struct event_base;
struct ssl_ctx_st;

/** Reads certificate and key of a listening address, if it has any, into a
 * context for connections from now on; on an error, with a message, the old one
 * stays. Free it with SSL_CTX_free(). */
bool listener_tls_read(struct ssl_ctx_st **context,
                       const struct config_listen *listen, char *error,
                       size_t error_size);

/** A connection that is still to be accepted, a plain one if the context is
 * NULL; NULL: out of memory. */
struct bufferevent *listener_tls_accept(struct event_base *base,
                                        struct ssl_ctx_st *context);

#endif
