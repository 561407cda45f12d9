/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for a tokenizer: four bytes of text are one token.
 *
 *     "Good morning"  ──▶  "Good" " mor" "ning"  ──▶  3 numbers below 131,072
 *
 * The number of a token is the 32-bit FNV-1a hash of its bytes modulo the size
 * of the vocabulary. The last token of a text may be shorter.
 */
#ifndef LBROUTE_MOCK_TOKENS_H
#define LBROUTE_MOCK_TOKENS_H

#include <stddef.h>
#include <stdint.h>

enum { TOKEN_BYTES = 4, TOKEN_VOCABULARY = 131072 };

/** Number of the token with these bytes, any number of them. */
uint32_t token_of(const char *bytes, size_t length);

/** How many tokens a text is. */
size_t tokens_count(size_t length);

/** Writes the tokens of a text. */
void tokens_write(const char *text, size_t length, uint32_t *tokens);

#endif
