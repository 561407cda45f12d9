/* SPDX-License-Identifier: MIT */
/*
 * The admin port over a stage with random traffic, for the tests in Python and
 * to look at the page: ends with SIGTERM, or when its standard input does.
 *
 * usage: admin_fixture [TARGETS [RATE]]
 */
#include "admin.h"
#include "admin_stage.h"

#include <event2/event.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEP_MS = 20 };

static void on_time(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    stage_step(context, STEP_MS / 1e3);
}

static void on_end(evutil_socket_t fd, short what, void *base)
{
    char bytes[64];

    if ((what & EV_READ) && read(fd, bytes, sizeof(bytes)) > 0)
        return;
    event_base_loopexit(base, NULL);
}

static void run(struct stage *stage)
{
    const struct timeval step = {0, STEP_MS * 1000};
    struct event_base *base = stage->gateway.base;
    struct event *events[] = {
        event_new(base, -1, EV_PERSIST, on_time, stage),
        event_new(base, STDIN_FILENO, EV_READ | EV_PERSIST, on_end, base),
        event_new(base, SIGTERM, EV_SIGNAL | EV_PERSIST, on_end, base)};

    event_add(events[0], &step);
    event_add(events[1], NULL);
    event_add(events[2], NULL);
    event_base_dispatch(base);
    for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
        event_free(events[i]);
}

int main(int argc, char **argv)
{
    static struct stage stage;
    char address[] = "127.0.0.1", none[] = "", error[256];
    const struct config_listen listen = {
        .address = address, .certificate = none, .key = none};

    stage_open(&stage, argc > 1 ? (unsigned)atoi(argv[1]) : 5,
               argc > 2 ? atof(argv[2]) : 20.0);
    stage.gateway.base = event_base_new();
    stage.gateway.admin =
        admin_create(&stage.gateway, &listen, error, sizeof(error));
    if (stage.gateway.admin == NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    printf("listening on 127.0.0.1:%u\n",
           (unsigned)admin_port(stage.gateway.admin));
    fflush(stdout);
    run(&stage);
    admin_destroy(stage.gateway.admin);
    event_base_free(stage.gateway.base);
    stage_close(&stage);
    return 0;
}
