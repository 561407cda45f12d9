/* SPDX-License-Identifier: MIT */
#include "client.h"
#include "config.h"
#include "exchange.h"
#include "gateway.h"
#include "listener.h"
#include "log.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>

/* How a gateway ends: SIGTERM ──▶ draining ──▶ all answered, or the time is
 * over, or another SIGTERM ──▶ the loop is left. */
struct run {
    struct gateway *gateway;
    struct event *term, *interrupt, *hangup, *poll;
    uint64_t drain_until;
};

static void finish(struct run *run)
{
    struct gateway *gateway = run->gateway;
    if (gateway->open_exchanges)
        log_line("%u requests are broken off", gateway->open_exchanges);
    exchanges_abort(gateway);
    event_base_loopbreak(gateway->base);
}

/* While draining: is it over? Answers may still be on their way to slow
 * readers when their exchanges are over. */
static void poll_drain(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    struct run *run = context;
    struct gateway *gateway = run->gateway;
    struct clients *clients = listener_clients(gateway->listener);
    clients_close_idle(clients);
    if (gateway_now() >= run->drain_until ||
        (!gateway->open_exchanges && !clients_busy(clients)))
        finish(run);
}

static void drain(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    struct run *run = context;
    struct gateway *gateway = run->gateway;
    const struct timeval each = {0, 50000};
    if (gateway->draining) {
        finish(run);
        return;
    }
    double limit = gateway->config->timeouts.drain;
    log_line("draining, %u requests are under way", gateway->open_exchanges);
    gateway->draining = true;
    run->drain_until = gateway_now() + (uint64_t)(limit * 1e9);
    listener_stop(gateway->listener);
    event_add(run->poll, &each);
}

static void reload(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    struct run *run = context;
    char error[1024] = "";
    if (gateway_reload(run->gateway, error, sizeof error))
        log_line("the configuration was read anew");
    else
        log_line("the old configuration stays in force: %s", error);
}

static bool add_signals(struct run *run)
{
    struct event_base *base = run->gateway->base;
    run->term = evsignal_new(base, SIGTERM, drain, run);
    run->interrupt = evsignal_new(base, SIGINT, drain, run);
    run->hangup = evsignal_new(base, SIGHUP, reload, run);
    run->poll = event_new(base, -1, EV_PERSIST, poll_drain, run);
    return run->term && run->interrupt && run->hangup && run->poll &&
           event_add(run->term, NULL) == 0 &&
           event_add(run->interrupt, NULL) == 0 &&
           event_add(run->hangup, NULL) == 0;
}

static void free_signals(struct run *run)
{
    struct event *events[] = {run->term, run->interrupt, run->hangup,
                              run->poll};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i])
            event_free(events[i]);
}

int gateway_run(struct gateway *gateway)
{
    struct run run = {.gateway = gateway};
    int status = EXIT_FAILURE;
    if (add_signals(&run) && event_base_dispatch(gateway->base) >= 0)
        status = EXIT_SUCCESS;
    free_signals(&run);
    return status;
}
