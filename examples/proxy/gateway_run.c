/* SPDX-License-Identifier: MIT */
#include "admin.h"
#include "client.h"
#include "config.h"
#include "exchange.h"
#include "gateway.h"
#include "listener.h"
#include "log.h"
#include "sharing.h"
#include "state_keep.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * How a gateway ends:
 *
 *     SIGTERM ──▶ draining ──▶ all answered ──────────────────▶ the loop ends
 *                    └─ time is over, or another signal ──▶       ▲     │
 *                       errors to those who still wait ──▶ flushed┘     ▼
 *                                                                 state is
 * saved
 */
struct run {
    struct gateway *gateway;
    struct event *term, *interrupt, *hangup, *poll;
    uint64_t until;
    bool aborted;
};

/* For the errors of those that are broken off to reach their clients. */
static const uint64_t FLUSH_NS = 1000000000;

static void abort_all(struct run *run)
{
    struct gateway *gateway = run->gateway;
    if (gateway->open_exchanges)
        log_line("%u requests are broken off", gateway->open_exchanges);
    run->aborted = true;
    run->until = gateway_now() + FLUSH_NS;
    exchanges_abort(gateway);
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
    bool late = gateway_now() >= run->until;
    clients_close_idle(clients);
    if (late && !run->aborted)
        abort_all(run);
    else if (late || (!gateway->open_exchanges && !clients_busy(clients)))
        event_base_loopbreak(gateway->base);
}

static void drain(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    struct run *run = context;
    struct gateway *gateway = run->gateway;
    const struct timeval each = {0, 50000};
    if (gateway->draining) {
        abort_all(run);
        return;
    }
    double limit = gateway->config->timeouts.drain;
    log_line("draining, %u requests are under way", gateway->open_exchanges);
    gateway->draining = true;
    run->until = gateway_now() + (uint64_t)(limit * 1e9);
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

/* Once signals do what they should: whoever waits for these lines may send
 * some. */
static void announce(const struct gateway *gateway)
{
    const struct config *config = gateway->config;
    if (gateway->admin)
        printf("admin listening on %s:%u\n", config->admin.address,
               (unsigned)admin_port(gateway->admin));
    printf("listening on %s:%u\n", config->listen.address,
           (unsigned)listener_port(gateway->listener));
    fflush(stdout);
}

int gateway_run(struct gateway *gateway)
{
    struct run run = {.gateway = gateway};
    int status = EXIT_FAILURE;
    if (add_signals(&run)) {
        announce(gateway);
        if (event_base_dispatch(gateway->base) >= 0)
            status = EXIT_SUCCESS;
        sharing_finish(gateway);
        state_keep_save(gateway);
    }
    free_signals(&run);
    return status;
}
