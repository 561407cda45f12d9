/* SPDX-License-Identifier: MIT */
/*
 * What goes wrong with a request before anybody looks at it.
 *
 *     request ──▶ closed │ hung │ garbage │ delayed ──▶ error │ served
 */
#ifndef LBROUTE_MOCK_GATE_H
#define LBROUTE_MOCK_GATE_H

#include "mock.h"

/** Serves a request. */
typedef void (*gate_handler)(struct mock *mock, struct evhttp_request *request,
                             const struct fault_plan *plan, const void *data);

/** Lets the request suffer what is planned for its scope, and has what is left
 * of it served. `data` must stay. */
void gate_pass(struct mock *mock, struct evhttp_request *request,
               enum fault_scope scope, gate_handler handler, const void *data);

/** Forgets all requests that are held back. */
void gate_drop_all(struct mock *mock);

#endif
