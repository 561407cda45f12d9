/* SPDX-License-Identifier: MIT */
#include "listener_tls.h"
#include "config.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>

static bool use_files(SSL_CTX *context, const struct config_listen *listen,
                      char *error, size_t error_size)
{
    if (SSL_CTX_use_certificate_chain_file(context, listen->certificate) != 1)
        snprintf(error, error_size, "cannot read the certificate %s",
                 listen->certificate);
    else if (SSL_CTX_use_PrivateKey_file(context, listen->key,
                                         SSL_FILETYPE_PEM) != 1)
        snprintf(error, error_size, "cannot read the key %s", listen->key);
    else if (SSL_CTX_check_private_key(context) != 1)
        snprintf(error, error_size, "the key %s does not belong to %s",
                 listen->key, listen->certificate);
    else
        return true;
    ERR_clear_error();
    return false;
}

struct ssl_ctx_st *listener_tls_context(const struct config_listen *listen,
                                        char *error, size_t error_size)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context) {
        snprintf(error, error_size, "TLS: out of memory");
        return NULL;
    }
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    if (use_files(context, listen, error, error_size))
        return context;
    SSL_CTX_free(context);
    return NULL;
}
