/* SPDX-License-Identifier: MIT */
#include "header.h"

#include <event2/util.h>
#include <string.h>

bool header_same(const char *a, const char *b)
{
    return evutil_ascii_strcasecmp(a, b) == 0;
}

static bool is_token_char(unsigned char c)
{
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
        (c >= 'a' && c <= 'z'))
        return true;
    return c && strchr("!#$%&'*+-.^_`|~", c);
}

bool header_is_token(const char *text)
{
    const char *at = text;
    while (is_token_char((unsigned char)*at))
        at++;
    return at != text && !*at;
}
