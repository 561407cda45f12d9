/* SPDX-License-Identifier: MIT */
#include "mock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void on_end(evutil_socket_t number, short what, void *base)
{
    (void)number;
    (void)what;
    event_base_loopbreak(base);
}

static void say_kv(const struct kv_publisher *publisher)
{
    if (publisher == NULL)
        return;
    printf("kv events on %s\n", kv_publisher_events(publisher));
    printf("kv replay on %s\n", kv_publisher_replay(publisher));
}

/* Serves until a signal comes. */
static void run(struct mock *mock)
{
    struct event *term = evsignal_new(mock->base, SIGTERM, on_end, mock->base);
    struct event *interrupt =
        evsignal_new(mock->base, SIGINT, on_end, mock->base);

    event_add(term, NULL);
    event_add(interrupt, NULL);
    say_kv(mock->journal.publisher);
    puts("ready");
    fflush(stdout);
    event_base_dispatch(mock->base);
    event_free(term);
    event_free(interrupt);
}

static int serve(const struct options *options)
{
    struct mock mock;
    bool good = mock_init(&mock, options);

    if (good)
        run(&mock);
    mock_release(&mock);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct options options;
    enum options_result result = options_read(&options, argc, argv);

    signal(SIGPIPE, SIG_IGN);
    if (result == OPTIONS_RUN)
        return serve(&options);
    options_release(&options);
    return result == OPTIONS_DONE ? EXIT_SUCCESS : EXIT_FAILURE;
}
