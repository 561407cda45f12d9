/* SPDX-License-Identifier: MIT */
/* Reads requests for the tests, which compare what came out. */
#ifndef TESTS_GATEWAY_READING_H
#define TESTS_GATEWAY_READING_H

#include "asked.h"

/** Reads a body that must be good. */
struct asked read_good(const char *path, const char *body);

/** Reads a body of bytes that must be refused with 400, for that field, without
 * a word of it in the error; returns the error. */
struct asked_error read_bad(const char *path, const void *body, size_t len,
                            const char *param);

/** Both bodies make the same prompt, which is not empty. */
void assert_same_prompt(const char *path, const char *a, const char *b);

void assert_other_prompt(const char *path, const char *a, const char *b);

/** The prompt of `longer` begins with that of `shorter`, and goes on. */
void assert_grows(const char *path, const char *shorter, const char *longer);

/** Where in the prompt a text stands, from an offset on; it must. */
size_t find_in_prompt(const struct asked *asked, size_t from, const char *text);

#endif
