/* SPDX-License-Identifier: MIT */
/*
 * Keeps foreign web pages away from the operator's port: a browser on the same
 * machine runs them, and the port has no password.
 *
 *     a page that posts a form        Content-Type is not JSON      refused
 *     a page that fetches             Origin, Sec-Fetch-Site        refused
 *     a name that was bound anew to   Host is not a name of this    refused
 *     the loopback address            port
 */
#ifndef LBROUTE_PROXY_ADMIN_GUARD_H
#define LBROUTE_PROXY_ADMIN_GUARD_H

#include <stdbool.h>

struct evkeyvalq;

/** Whether a Host header names this port: localhost, a loopback address, the
 * address that is listened on, or any address if that is all of them. The
 * port number does not matter: tunnels change it, and a name that was bound
 * anew stays a wrong name. */
bool admin_guard_host(const char *host, const char *address);

/** Whether a Content-Type is JSON's. */
bool admin_guard_type(const char *type);

/** Whether Origin and Sec-Fetch-Site, where there are any, say that the request
 * comes from a page of this port or from no page. */
bool admin_guard_origin(const struct evkeyvalq *headers);

#endif
