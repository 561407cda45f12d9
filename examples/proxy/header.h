/* SPDX-License-Identifier: MIT */
/* Names and values of HTTP headers, whoever reads them. */
#ifndef LBROUTE_PROXY_HEADER_H
#define LBROUTE_PROXY_HEADER_H

#include <stdbool.h>

/** Whether two names, or values of a fixed set, are the same: their case does
 * not count, in ASCII and whatever the locale. */
bool header_same(const char *a, const char *b);

/** Whether a text is a token, as each name of a header is (RFC 9110, section
 * 5.6.2). */
bool header_is_token(const char *text);

#endif
