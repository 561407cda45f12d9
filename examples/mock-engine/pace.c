/* SPDX-License-Identifier: MIT */
#include "pace.h"

#include "clocks.h"
#include "replay/grow.h"

#include <stdlib.h>

/* Steps without a look at anything else, and the lag that is made up for. */
enum { STEPS_IN_A_ROW = 256, MAX_LAG_NS = 100000000 };

struct pace {
    struct engine *engine;
    struct pace_options options;
    struct event *timer;
    bool stepping;
    uint64_t due; /* End of the step under way. */
};

static void start_step(struct pace *pace, uint64_t from)
{
    double ms;

    pace->stepping = engine_start_step(pace->engine, &ms);
    if (pace->stepping)
        pace->due = from + (uint64_t)(ms * 1e6 / pace->options.speed);
}

static void finish_step(struct pace *pace)
{
    engine_finish_step(pace->engine, pace->options.listener,
                       pace->options.context);
    pace->stepping = false;
    pace->options.after_step(pace->options.context);
}

static void set_timer(struct pace *pace, uint64_t now)
{
    uint64_t us = pace->due > now ? (pace->due - now) / 1000 : 0;
    struct timeval wait;

    if (!pace->stepping)
        return;
    wait.tv_sec = (time_t)(us / 1000000);
    wait.tv_usec = (suseconds_t)(us % 1000000);
    event_add(pace->timer, &wait);
}

/* Timers have some µs of play: what is due within one is due. */
static void on_timer(evutil_socket_t fd, short what, void *context)
{
    struct pace *pace = context;
    uint64_t now = clock_steady() + 1000;

    (void)fd;
    (void)what;
    if (now > pace->due + MAX_LAG_NS)
        pace->due = now;
    for (int i = 0; i < STEPS_IN_A_ROW && pace->stepping && pace->due <= now;
         i++) {
        finish_step(pace);
        start_step(pace, pace->due);
    }
    set_timer(pace, now);
}

struct pace *pace_create(struct event_base *base, struct engine *engine,
                         const struct pace_options *options)
{
    struct pace *pace = grow_zeroed(1, sizeof *pace);

    pace->engine = engine;
    pace->options = *options;
    pace->timer = evtimer_new(base, on_timer, pace);
    return pace;
}

void pace_destroy(struct pace *pace)
{
    if (pace == NULL)
        return;
    event_free(pace->timer);
    engine_destroy(pace->engine);
    free(pace);
}

const struct engine *pace_engine(const struct pace *pace)
{
    return pace->engine;
}

void pace_submit(struct pace *pace, struct engine_request *request)
{
    uint64_t now;

    engine_submit(pace->engine, request);
    if (pace->stepping)
        return;
    now = clock_steady();
    start_step(pace, now);
    set_timer(pace, now);
}

void pace_cancel(struct pace *pace, struct engine_request *request)
{
    engine_cancel(pace->engine, request);
}
