/* SPDX-License-Identifier: MIT */
/*
 * Which request is served by what.
 */
#ifndef LBROUTE_MOCK_ROUTES_H
#define LBROUTE_MOCK_ROUTES_H

#include "mock.h"

/** Serves a request of the engine's port; the context is the mock. */
void routes_serve(struct evhttp_request *request, void *mock);

/** Serves a request of the control port; the context is the mock. */
void routes_control(struct evhttp_request *request, void *mock);

#endif
