/* SPDX-License-Identifier: MIT */
#include "tls_files.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>

bool tls_use_files(struct ssl_ctx_st *context, const char *certificate,
                   const char *key, char *error, size_t error_size)
{
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1)
        snprintf(error, error_size, "cannot read the certificate %s",
                 certificate);
    else if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
        snprintf(error, error_size, "cannot read the key %s", key);
    else if (SSL_CTX_check_private_key(context) != 1)
        snprintf(error, error_size, "the key %s does not belong to %s", key,
                 certificate);
    else
        return true;
    ERR_clear_error();
    return false;
}
