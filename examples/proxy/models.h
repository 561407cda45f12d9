/* SPDX-License-Identifier: MIT */
/*
 * GET /v1/models and /v1/models/NAME, from the configuration: engines come and
 * go, what is served stays.
 */
#ifndef LBROUTE_PROXY_MODELS_H
#define LBROUTE_PROXY_MODELS_H

#include "asked.h"

struct evhttp_request;
struct gateway;

/** Answers with the list of all models and adapters, in the form of the
 * dialect. */
void models_list(struct gateway *gateway, enum dialect dialect,
                 struct evhttp_request *request);

/** Answers with one of them, or that there is none. `name` is
 * percent-encoded. */
void models_show(struct gateway *gateway, enum dialect dialect,
                 const char *name, struct evhttp_request *request);

#endif
