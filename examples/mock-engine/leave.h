/* SPDX-License-Identifier: MIT */
/*
 * Clients that go away while their request is under way.
 */
#ifndef LBROUTE_MOCK_LEAVE_H
#define LBROUTE_MOCK_LEAVE_H

#include <event2/http.h>

/** Calls `gone` when the client closes the connection, also while nothing is
 * written to it. leave_free() must then follow. */
void leave_watch(struct evhttp_request *request,
                 void (*gone)(struct evhttp_connection *, void *),
                 void *context);

/** Watches no more; before the request is answered. */
void leave_ignore(struct evhttp_request *request);

/** Frees the request of a client that went away. */
void leave_free(struct evhttp_request *request);

/** Closes the connection of a request, which is watched no more. */
void leave_close(struct evhttp_request *request);

#endif
