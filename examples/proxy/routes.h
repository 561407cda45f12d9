/* SPDX-License-Identifier: MIT */
#ifndef LBROUTE_PROXY_ROUTES_H
#define LBROUTE_PROXY_ROUTES_H

struct evhttp_request;

/** Takes a request that the public port has read: refuses what is not
 * well-formed, answers what the gateway knows itself, and begins an exchange
 * for the rest. `context` is the gateway. */
void routes_take(struct evhttp_request *request, void *context);

#endif
