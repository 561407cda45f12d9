/* SPDX-License-Identifier: MIT */
#include "upstream_tls.h"

#include <arpa/inet.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>

struct ssl_ctx_st *upstream_tls_context(const char *ca_file, char *error,
                                        size_t error_size)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context) {
        snprintf(error, error_size, "TLS: out of memory");
        return NULL;
    }
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    int trusted = *ca_file
                      ? SSL_CTX_load_verify_locations(context, ca_file, NULL)
                      : SSL_CTX_set_default_verify_paths(context);
    if (trusted != 1) {
        snprintf(error, error_size, "TLS: cannot read certificates from %s",
                 *ca_file ? ca_file : "the system");
        ERR_clear_error();
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

/* An address stands in another field of a certificate than a name, and has no
 * place in the name that is asked for. */
static bool expect_host(SSL *ssl, const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, host, address) == 1 ||
        inet_pton(AF_INET6, host, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    return SSL_set1_host(ssl, host) == 1 &&
           SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct bufferevent *upstream_tls_new(struct event_base *base,
                                     struct ssl_ctx_st *context,
                                     const char *host)
{
    SSL *ssl = SSL_new(context);
    if (!ssl)
        return NULL;
    struct bufferevent *bufev = NULL;
    if (expect_host(ssl, host))
        bufev = bufferevent_openssl_socket_new(
            base, -1, ssl, BUFFEREVENT_SSL_CONNECTING, BEV_OPT_CLOSE_ON_FREE);
    if (!bufev)
        SSL_free(ssl);
    return bufev;
}

bool upstream_tls_ready(struct bufferevent *bufev)
{
    SSL *ssl = bufferevent_openssl_get_ssl(bufev);
    return ssl && SSL_is_init_finished(ssl);
}
