/* SPDX-License-Identifier: MIT */
/*
 * The page, dashboard.html, as embed_page.py puts it into the program.
 */
#ifndef LBROUTE_PROXY_DASHBOARD_H
#define LBROUTE_PROXY_DASHBOARD_H

#include <stddef.h>

extern const unsigned char dashboard_page[];
extern const size_t dashboard_size;

/** Its Content-Security-Policy: nothing but its own script and style, by their
 * hashes, and requests to where it came from. */
extern const char dashboard_policy[];

#endif
