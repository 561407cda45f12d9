/* SPDX-License-Identifier: MIT */
/*
 * What the mock engine answers: words that follow from the prompt alone, so
 * that a client can check every byte. In Python, where `prompt` is the text
 * that prompt.h describes:
 *
 *     def answer(prompt, tokens):
 *         state = zlib.crc32(prompt.encode())
 *         words = []
 *         for i in range(tokens):
 *             state = (state * 1664525 + 1013904223) % 2**32
 *             shifts = (8, 13, 18, 23) if i == 0 else (8, 13, 18)
 *             words.append("".join(chr(97 + (state >> s) % 26)
 *                                  for s in shifts))
 *         return " ".join(words)
 *
 * The first token is a word of four letters, every other one a blank and a word
 * of three. So the answer is cut into the same tokens when it comes back as a
 * message of the next prompt.
 */
#ifndef LBROUTE_MOCK_ANSWER_H
#define LBROUTE_MOCK_ANSWER_H

#include <stddef.h>
#include <stdint.h>

/** Writes `tokens` times TOKEN_BYTES bytes, not terminated. */
void answer_write(const char *prompt, size_t length, uint32_t tokens,
                  char *answer);

/** Writes an embedding of a text: numbers in [-1, 1) that follow from it by the
 * same sequence, (state >> 8) / 2^23 - 1 each. */
void answer_embed(const char *text, size_t length, float *vector, size_t count);

#endif
