/* SPDX-License-Identifier: MIT */
/*
 * TLS towards engines: the chain and the host name are always verified.
 */
#ifndef LBROUTE_PROXY_UPSTREAM_TLS_H
#define LBROUTE_PROXY_UPSTREAM_TLS_H

#include <stdbool.h>
#include <stddef.h>

struct bufferevent;
struct event_base;
struct ssl_ctx_st;

/** A context that trusts `ca_file`, or the system if that is empty; NULL with a
 * message. Free it with SSL_CTX_free(). */
struct ssl_ctx_st *upstream_tls_context(const char *ca_file, char *error,
                                        size_t error_size);

/** A connection to be that accepts only a certificate for `host`, a name or an
 * address; NULL: out of memory. */
struct bufferevent *upstream_tls_new(struct event_base *base,
                                     struct ssl_ctx_st *context,
                                     const char *host);

/** Whether the handshake is over. */
bool upstream_tls_ready(struct bufferevent *bufev);

#endif
