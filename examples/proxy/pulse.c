/* SPDX-License-Identifier: MIT */
#include "pulse.h"
#include "client.h"
#include "exchange.h"
#include "gateway.h"
#include "listener.h"

#include <event2/event.h>
#include <stdlib.h>

struct pulse {
    struct event *serve; /* Made active by hand, and when the time is up. */
    struct event *second;
};

static void serve(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    exchanges_serve_waiting(context);
}

static void second(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    struct gateway *gateway = context;
    uint64_t now = gateway_now();
    lbroute_tick(gateway->router, now);
    pulse_serve(gateway);
    if (!gateway->listener)
        return;
    clients_sweep(listener_clients(gateway->listener), now);
    listener_look(gateway->listener);
}

struct pulse *pulse_new(struct gateway *gateway)
{
    struct pulse *pulse = calloc(1, sizeof *pulse);
    const struct timeval each = {1, 0};
    if (!pulse)
        return NULL;
    pulse->serve = event_new(gateway->base, -1, 0, serve, gateway);
    pulse->second = event_new(gateway->base, -1, EV_PERSIST, second, gateway);
    if (!pulse->serve || !pulse->second ||
        event_add(pulse->second, &each) != 0) {
        pulse_free(pulse);
        return NULL;
    }
    return pulse;
}

void pulse_free(struct pulse *pulse)
{
    if (!pulse)
        return;
    if (pulse->serve)
        event_free(pulse->serve);
    if (pulse->second)
        event_free(pulse->second);
    free(pulse);
}

void pulse_serve(struct gateway *gateway)
{
    if (gateway->waiting)
        event_active(gateway->pulse->serve, EV_TIMEOUT, 0);
}

/* Not more often than every millisecond, whatever the router says: it names a
 * time that is over when memory or tickets keep it from going on. */
void pulse_arm(struct gateway *gateway)
{
    uint64_t at = lbroute_next_deadline(gateway->router), now = gateway_now();
    if (!gateway->waiting || at == UINT64_MAX)
        return;
    uint64_t left = at > now ? (at - now) / 1000u + 1 : 0;
    if (left < 1000)
        left = 1000;
    const struct timeval wait = {(time_t)(left / 1000000u),
                                 (suseconds_t)(left % 1000000u)};
    event_add(gateway->pulse->serve, &wait);
}
