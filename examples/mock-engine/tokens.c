/* SPDX-License-Identifier: MIT */
#include "tokens.h"

uint32_t token_of(const char *bytes, size_t length)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return hash % TOKEN_VOCABULARY;
}

size_t tokens_count(size_t length)
{
    return length / TOKEN_BYTES + (length % TOKEN_BYTES != 0);
}

void tokens_write(const char *text, size_t length, uint32_t *tokens)
{
    while (length > 0) {
        size_t bytes = length < TOKEN_BYTES ? length : TOKEN_BYTES;

        *tokens++ = token_of(text, bytes);
        text += bytes;
        length -= bytes;
    }
}
