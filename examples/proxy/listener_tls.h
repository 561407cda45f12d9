/* SPDX-License-Identifier: MIT */
#ifndef LBROUTE_PROXY_LISTENER_TLS_H
#define LBROUTE_PROXY_LISTENER_TLS_H

#include <stddef.h>

struct config_listen;
struct ssl_ctx_st;

/** A context with the certificate and the key of a listening address; NULL with
 * a message. Free it with SSL_CTX_free(). */
struct ssl_ctx_st *listener_tls_context(const struct config_listen *listen,
                                        char *error, size_t error_size);

#endif
