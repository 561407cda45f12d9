/* SPDX-License-Identifier: MIT */
/*
 * Answers that the gateway makes itself.
 */
#ifndef LBROUTE_PROXY_REPLY_H
#define LBROUTE_PROXY_REPLY_H

#include "asked.h"

#include <lbroute/lbroute.h>

struct evhttp_request;
struct evkeyvalq;
struct gateway;

/** An error in the form that clients of the dialect understand. */
void reply_error(struct evhttp_request *request, enum dialect dialect,
                 const struct asked_error *error);

/** A JSON text; `body` is copied. */
void reply_json(struct evhttp_request *request, int status, const char *body);

/** Adds the decision's headers, and Retry-After where it was turned away with
 * an estimate. */
void reply_decision_headers(struct gateway *gateway,
                            const lbroute_decision *decision, int result,
                            struct evkeyvalq *headers);

/** What a client is told of a pick that found nobody. */
void reply_rejection(const lbroute_decision *decision, int result,
                     struct asked_error *error);

/** What a client is told when the engines failed and nobody is left. */
void reply_bad_gateway(int status, struct asked_error *error);

#endif
