/* SPDX-License-Identifier: MIT */
/*
 * Who this process is, in TLS.
 */
#ifndef LBROUTE_PROXY_TLS_FILES_H
#define LBROUTE_PROXY_TLS_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct ssl_ctx_st;

/** Reads a certificate with its chain, and its private key (PEM), into a
 * context; false with a message. */
bool tls_use_files(struct ssl_ctx_st *context, const char *certificate,
                   const char *key, char *error, size_t error_size);

#endif
