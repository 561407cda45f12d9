/* SPDX-License-Identifier: MIT */
/*
 * The engine model in real time: a step begins, a timer lets its duration pass,
 * and it ends.
 *
 *     submit ──▶ start ──(ms / speed)──▶ finish ──▶ told ──▶ start …
 *
 * Steps follow each other without a gap as long as there is work, however late
 * the timer is; after a long halt of the process what was missed is left out.
 */
#ifndef LBROUTE_MOCK_PACE_H
#define LBROUTE_MOCK_PACE_H

#include "replay/engine.h"

#include <event2/event.h>

struct pace;

struct pace_options {
    double speed; /**< Times as fast as the engine would be. */
    engine_listener listener;
    void (*after_step)(void *context); /**< Once all was told of a step. */
    void *context;
};

/** Starts with an idle engine, which it takes over. */
struct pace *pace_create(struct event_base *base, struct engine *engine,
                         const struct pace_options *options);

void pace_destroy(struct pace *pace);

const struct engine *pace_engine(const struct pace *pace);

/** Queues a request that fits. */
void pace_submit(struct pace *pace, struct engine_request *request);

/** Takes a request out that is not done. */
void pace_cancel(struct pace *pace, struct engine_request *request);

#endif
