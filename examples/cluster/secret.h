/* SPDX-License-Identifier: MIT */
/*
 * Texts that nobody else may read: memory that was freed may turn up in a core
 * file.
 */
#ifndef LBROUTE_CLUSTER_SECRET_H
#define LBROUTE_CLUSTER_SECRET_H

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

/** Frees a text and leaves nothing of it; NULL does nothing. */
static inline void secret_free(char *text)
{
    if (text != NULL)
        OPENSSL_cleanse(text, strlen(text));
    free(text);
}

#endif
