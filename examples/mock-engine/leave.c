/* SPDX-License-Identifier: MIT */
#include "leave.h"

#include <event2/bufferevent.h>
#include <event2/event.h>

/* While a request is under way libevent does not read, and so would learn of
 * the client only by writing. Reading without its callback, which must not run
 * now, changes that; what comes stays in the buffer for the next request. */
void leave_watch(struct evhttp_request *request,
                 void (*gone)(struct evhttp_connection *, void *),
                 void *context)
{
    struct evhttp_connection *connection =
        evhttp_request_get_connection(request);
    struct bufferevent *stream = evhttp_connection_get_bufferevent(connection);
    bufferevent_data_cb on_read;
    bufferevent_data_cb on_write;
    bufferevent_event_cb on_event;
    void *own;

    evhttp_connection_set_closecb(connection, gone, context);
    bufferevent_getcb(stream, &on_read, &on_write, &on_event, &own);
    bufferevent_setcb(stream, NULL, on_write, on_event, own);
    bufferevent_enable(stream, EV_READ);
}

void leave_ignore(struct evhttp_request *request)
{
    evhttp_connection_set_closecb(evhttp_request_get_connection(request), NULL,
                                  NULL);
}

/* libevent has detached it from its connection. */
void leave_free(struct evhttp_request *request)
{
    evhttp_request_free(request);
}

void leave_close(struct evhttp_request *request)
{
    struct evhttp_connection *connection =
        evhttp_request_get_connection(request);

    leave_ignore(request);
    evhttp_connection_free(connection);
}
