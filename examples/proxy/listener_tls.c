/* SPDX-License-Identifier: MIT */
#include "listener_tls.h"
#include "config.h"
#include "tls_files.h"

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/ssl.h>
#include <stdio.h>

static SSL_CTX *new_context(const struct config_listen *listen, char *error,
                            size_t error_size)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context) {
        snprintf(error, error_size, "TLS: out of memory");
        return NULL;
    }
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    if (tls_use_files(context, listen->certificate, listen->key, error,
                      error_size))
        return context;
    SSL_CTX_free(context);
    return NULL;
}

bool listener_tls_read(struct ssl_ctx_st **context,
                       const struct config_listen *listen, char *error,
                       size_t error_size)
{
    if (!*listen->certificate)
        return true;
    SSL_CTX *fresh = new_context(listen, error, error_size);
    if (!fresh)
        return false;
    SSL_CTX_free(*context);
    *context = fresh;
    return true;
}

struct bufferevent *listener_tls_accept(struct event_base *base,
                                        struct ssl_ctx_st *context)
{
    if (!context)
        return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    SSL *ssl = SSL_new(context);
    if (!ssl)
        return NULL;
    struct bufferevent *bufev = bufferevent_openssl_socket_new(
        base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
    if (!bufev)
        SSL_free(ssl);
    return bufev;
}
