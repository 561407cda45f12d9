/* SPDX-License-Identifier: MIT */
#include "client_parts.h"
#include "gateway.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>

enum { LINGER_SECONDS = 2 };

static void discard(struct bufferevent *bufev, void *context);
static void lingered(struct bufferevent *bufev, short what, void *context);

/* libevent has let go of the bufferevent; its other reference is held here. */
static void linger(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    struct client *client = context;
    const struct timeval limit = {LINGER_SECONDS, 0};
    bufferevent_setcb(client->bufev, discard, NULL, lingered, client);
    bufferevent_setwatermark(client->bufev, EV_READ, 0, 0);
    bufferevent_set_timeouts(client->bufev, &limit, NULL);
    bufferevent_enable(client->bufev, EV_READ);
}

static void discard(struct bufferevent *bufev, void *context)
{
    struct client *client = context;
    struct evbuffer *input = bufferevent_get_input(bufev);
    evbuffer_drain(input, evbuffer_get_length(input));
    if (gateway_now() - client->since > LINGER_SECONDS * UINT64_C(1000000000))
        lingered(bufev, BEV_EVENT_TIMEOUT, context);
}

static void lingered(struct bufferevent *bufev, short what, void *context)
{
    (void)what;
    bufferevent_setcb(bufev, NULL, NULL, NULL, NULL);
    client_free(context);
}

void client_linger_init(struct client *client)
{
    evtimer_assign(&client->linger, client->all->gateway->base, linger, client);
}

void client_linger(struct client *client)
{
    client->lingering = true;
    client->connection = NULL;
    client->since = gateway_now();
    event_active(&client->linger, EV_TIMEOUT, 0);
}
